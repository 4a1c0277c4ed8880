# Pictures: a rule each, since each reads other files and has its own caption.

from clearsched.figures import INPUTS

# The picture of the rules needs the student whose rules it shows.
FIGURES = [
    figure
    for figure, files in INPUTS.items()
    if all(Path(file).stem in STUDENTS for file in files if file.startswith("students/"))
]

for FIGURE in FIGURES:

    rule:
        name:
            f"figures_draw_{FIGURE}"
        input:
            params="<results>/params/figures.json",
            results=expand("<results>/{file}", file=INPUTS[FIGURE]),
            code=sources("figures", "evaluation/names"),
        output:
            svg=report(
                f"<results>/figures/{FIGURE}.svg",
                caption=f"../report/{FIGURE}.rst",
                category="Figures",
                labels={"figure": FIGURE.replace("_", " ")},
            ),
            png=f"<results>/figures/{FIGURE}.png",
            csv=f"<results>/figures/{FIGURE}.csv",
        log:
            f"<logs>/figures_draw_{FIGURE}.log",
        benchmark:
            f"<benchmarks>/figures_draw_{FIGURE}.tsv"
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
