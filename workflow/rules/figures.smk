# Pictures: a rule each, since each reads other files and has its own caption.


FIGURES = {name: figures_drawn(params) for name, params in SCENARIOS.items()}
COMPARED = figures_compared(SCENARIOS.values()) if MANY else []
RESULTS = [
    *(f"results/{name}/figures/{figure}.svg" for name, figures in FIGURES.items() for figure in figures),
    *(str(Path(policy).with_suffix(".txt")) for policies in SEARCHED.values() for policy in policies),
    *in_each(*(f"students/{student}.txt" for student in STUDENTS)),
    *CARDS,
    *in_each("evaluation/comparison.txt", "evaluation/metrics.json"),
    *(f"results/figures/{figure.name}.svg" for figure in COMPARED),
]

for FIGURE, ENTRY in {name: entry for figures in FIGURES.values() for name, entry in figures.items()}.items():

    rule:
        name:
            f"figures_draw_{FIGURE}"
        input:
            params="<results>/params/figures.json",
            results=expand("<results>/{file}", file=inputs_of(ENTRY, STUDENTS)),
            code=code_of(f"figures_draw_{FIGURE}"),
        output:
            svg=report(
                f"<results>/figures/{FIGURE}.svg",
                caption=str(caption(ENTRY)),
                category="Figures",
                labels={"figure": FIGURE.replace("_", " "), **LABELS},
            ),
            png=f"<results>/figures/{FIGURE}.png",
            csv=f"<results>/figures/{FIGURE}.csv",
        log:
            f"<logs>/figures_draw_{FIGURE}.log",
        benchmark:
            f"<benchmarks>/figures_draw_{FIGURE}.tsv"
        group:
            "report"
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            figure=FIGURE,
            folder=lambda wildcards, output: Path(output.svg).parent.parent,
        message:
            "picture {params.figure}"
        shell:
            "clearsched figures draw {params.figure} --params {input.params:q} --results {params.folder:q} > {log:q} 2>&1"


rule figures:
    input:
        [file for file in RESULTS if file.endswith(".svg")],
    localrule: True


if MANY:

    rule figures_compare:
        input:
            params=in_each("params/figures.json"),
            results=in_each(*dict.fromkeys(file for figure in COMPARED for file in figure.inputs)),
            code=code_of("figures_compare"),
        output:
            svg=[
                report(
                    f"results/figures/{figure.name}.svg",
                    caption=str(caption(figure)),
                    category="Figures",
                    labels={"figure": figure.name.replace("_", " "), "scenario": "all"},
                )
                for figure in COMPARED
            ],
            png=[f"results/figures/{figure.name}.png" for figure in COMPARED],
            csv=[f"results/figures/{figure.name}.csv" for figure in COMPARED],
        log:
            "results/figures/logs/figures_compare.log",
        benchmark:
            "results/figures/benchmarks/figures_compare.tsv"
        group:
            "report"
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            folders=[f"results/{name}" for name in SCENARIOS],
            dpi=PARAMS.figures.dpi,
            folder="results/figures",
        message:
            "scenarios side by side"
        shell:
            "clearsched figures compare {params.folders:q} --out {params.folder:q} --dpi {params.dpi} > {log:q} 2>&1"
