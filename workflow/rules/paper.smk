# The papers' figures and claims: the bases are scenarios of the other rules, and experiments change their episodes.
# Asked for by name alone, `snakemake paper`; see PAPER in params.smk. Not part of the default run.

from clearsched.paper.bases import network_seeds
from clearsched.paper.experiments import EXPERIMENTS, groups_run
from clearsched.paper.kinds import PAPER_FIGURES, figures_drawn
from clearsched.paper.kinds import inputs_of as paper_inputs_of
from clearsched.paper.published import figures_claimed
from clearsched.paper.sharing import files_of as paper_files_of
from clearsched.paper.sharing import takes as paper_takes

PAPER_SCALE = PARAMS.paper.scale
PAPER_NETWORKS = network_seeds(PARAMS)
PAPER_PARAMS = f"results/{PARAMS.scenario}/params/paper.json"


def tell_what_is_left():
    """How far the published settings have come, as the run starts: whatever comes of it stops no run."""
    if PAPER_SCALE != "paper" or not workflow.is_main_process:
        return
    try:
        from clearsched.doctor import machine, paper_left

        run = {job.benchmark: workflow.dag.needrun(job) for job in workflow.dag.jobs if job.benchmark}
        cores = workflow.global_resources["_cores"].value or machine.usable_cores()
        for line in paper_left.at_start(PARAMS, Path("results"), run, cores):
            print(line, file=sys.stderr)
    except Exception as error:
        print(f"paper: how far it has come cannot be told: {one_line(in_a_line(error))}", file=sys.stderr)


# What two bases have in common is made for the first of them.
MAKERS = {"traces": "traces_build", "workloads": "traces_workloads", "heuristics": "heuristics_tune"}

for (PAPER_BASE, PAPER_STAGE), PAPER_OTHER in paper_takes(SCENARIOS).items():
    PAPER_FAMILIES = SCENARIOS[PAPER_BASE].search.families

    rule:
        name:
            f"paper_take_{PAPER_STAGE}_{PAPER_BASE}"
        input:
            [f"results/{PAPER_OTHER}/{file}" for file in paper_files_of(PAPER_STAGE, PAPER_FAMILIES)],
        output:
            [f"results/{PAPER_BASE}/{file}" for file in paper_files_of(PAPER_STAGE, PAPER_FAMILIES)],
        log:
            f"results/{PAPER_BASE}/logs/paper_take_{PAPER_STAGE}.log",
        benchmark:
            f"results/{PAPER_BASE}/benchmarks/paper_take_{PAPER_STAGE}.tsv"
        priority: 5
        localrule: True
        threads: 1
        resources:
            mem_mb=100,
            runtime=5,
        params:
            stage=PAPER_STAGE,
            other=PAPER_OTHER,
            folder=lambda wildcards, output: Path(output[0]).parent,
        message:
            "{params.stage} as those of {params.other}"
        shell:
            "cp {input:q} {params.folder:q} > {log:q} 2>&1"

    for PAPER_MAKER in (
        [MAKERS[PAPER_STAGE]] if PAPER_STAGE in MAKERS else [f"search_run_{name}" for name in PAPER_FAMILIES]
    ):
        workflow.ruleorder(f"paper_take_{PAPER_STAGE}_{PAPER_BASE}", PAPER_MAKER)


def paper_students(wildcards):
    """The students of a base: they are not the same in all."""
    return [
        f"results/{wildcards.scenario}/students/{name}.json" for name in fitted(SCENARIOS[wildcards.scenario].students)
    ]


def with_students(wildcards, input):
    """The options that name them."""
    return [part for path in input.students for part in ("--student", path)]


# A process for each group of experiments: most take less time than a process takes to start.
for PAPER_GROUP, PAPER_NAMES in groups_run(PAPER_SCALE).items():

    rule:
        name:
            f"paper_episodes_{PAPER_GROUP}"
        input:
            params="<results>/params/paper.json",
            trace="<results>/traces/trace.parquet",
            tuned="<results>/heuristics/tuned.json",
            teacher="<results>/teacher/teacher.safetensors",
            settings="<results>/teacher/teacher.json",
            searched=of_scenario(SEARCHED),
            seeds=of_scenario(SEED_WEIGHTS),
            students=paper_students if EXPERIMENTS[PAPER_NAMES[0]].students else [],
            code=code_of("paper_episodes"),
        output:
            [
                f"<results>/paper/{name}/{file}"
                for name in PAPER_NAMES
                for file in ("workloads.parquet", "jobs.parquet", "seeds.parquet")
            ],
        log:
            f"<logs>/paper_episodes_{PAPER_GROUP}.log",
        benchmark:
            f"<benchmarks>/paper_episodes_{PAPER_GROUP}.tsv"
        group:
            "paper_episodes"
        threads: 1
        resources:
            mem_mb=4000,
            runtime=120,
        params:
            group=PAPER_GROUP,
            names=PAPER_NAMES,
            students=with_students,
            searched=lambda wildcards, input: [part for path in input.searched for part in ("--searched", path)],
            seeds=lambda wildcards, input: [part for path in input.seeds for part in ("--teacher-seed", path)],
            folder=lambda wildcards, output: Path(output[0]).parent.parent,
        message:
            "policies on {params.group}"
        shell:
            "clearsched paper episodes {params.names:q} --params {input.params:q} --trace {input.trace:q}"
            " --tuned {input.tuned:q} --teacher {input.teacher:q} {params.seeds:q} {params.searched:q} {params.students:q}"
            " --out {params.folder:q} > {log:q} 2>&1"


rule paper_fidelity:
    input:
        params="<results>/params/paper.json",
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        decisions="<results>/decisions/decisions.parquet",
        students=paper_students,
        code=code_of("paper_fidelity"),
    output:
        "<results>/paper/fidelity.parquet",
    log:
        "<logs>/paper_fidelity.log",
    benchmark:
        "<benchmarks>/paper_fidelity.tsv"
    group:
        "paper_fidelity"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        students=with_students,
    message:
        "fidelity of the students"
    shell:
        "clearsched paper fidelity --params {input.params:q} --trace {input.trace:q} --workloads {input.workloads:q}"
        " --decisions {input.decisions:q} {params.students:q} --out {output:q} > {log:q} 2>&1"


rule paper_latency:
    input:
        params="<results>/params/paper.json",
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        tuned="<results>/heuristics/tuned.json",
        teacher="<results>/teacher/teacher.safetensors",
        settings="<results>/teacher/teacher.json",
        students=paper_students,
        code=code_of("paper_latency"),
    output:
        "<results>/paper/latency.parquet",
    log:
        "<logs>/paper_latency.log",
    benchmark:
        "<benchmarks>/paper_latency.tsv"
    group:
        "paper_latency"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        students=with_students,
    message:
        "times to a decision"
    shell:
        "clearsched paper latency --params {input.params:q} --trace {input.trace:q} --workloads {input.workloads:q}"
        " --tuned {input.tuned:q} --teacher {input.teacher:q} {params.students:q} --out {output:q} > {log:q} 2>&1"


rule paper_optimum:
    input:
        params="<results>/params/paper.json",
        tuned="<results>/heuristics/tuned.json",
        teacher="<results>/teacher/teacher.safetensors",
        settings="<results>/teacher/teacher.json",
        searched=of_scenario(SEARCHED),
        students=paper_students,
        code=code_of("paper_optimum"),
    output:
        "<results>/paper/optimality.parquet",
    log:
        "<logs>/paper_optimum.log",
    benchmark:
        "<benchmarks>/paper_optimum.tsv"
    group:
        "paper_optimum"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        students=with_students,
        searched=lambda wildcards, input: [part for path in input.searched for part in ("--searched", path)],
    message:
        "optima of small instances"
    shell:
        "clearsched paper optimum --params {input.params:q} --tuned {input.tuned:q} --teacher {input.teacher:q}"
        " {params.searched:q} {params.students:q} --out {output:q} > {log:q} 2>&1"


# At the scale smoke a process for all figures of the same runs: most draw faster than a process starts.
for PAPER_FIRST, PAPER_NAMES in figures_drawn(PAPER_SCALE).items():

    rule:
        name:
            f"paper_figure_{PAPER_FIRST}"
        input:
            params=PAPER_PARAMS,
            results=sorted(
                {
                    f"results/{file}"
                    for name in PAPER_NAMES
                    for file in paper_inputs_of(PAPER_FIGURES[name], PAPER_SCALE, PAPER_NETWORKS)
                }
            ),
            code=[code_of(f"paper_figure_{name}") for name in PAPER_NAMES],
        output:
            [
                report(
                    f"results/paper/{name}.svg",
                    caption="../report/paper.rst",
                    category="Papers",
                    labels={"figure": name.replace("_", " ")},
                )
                for name in PAPER_NAMES
            ],
            [f"results/paper/{name}.{kind}" for name in PAPER_NAMES for kind in ("png", "csv", "txt")],
        log:
            f"results/paper/logs/{PAPER_FIRST}.log",
        benchmark:
            f"results/paper/benchmarks/{PAPER_FIRST}.tsv"
        group:
            "paper"
        threads: 1
        resources:
            mem_mb=1000,
            runtime=10,
        params:
            figures=PAPER_NAMES,
            caption="\n\n".join(f"{PAPER_FIGURES[name].caption} Scale {PAPER_SCALE}." for name in PAPER_NAMES),
            folder=lambda wildcards, output: Path(output[0]).parent,
        message:
            "{params.figures} of the papers"
        shell:
            "clearsched paper figure {params.figures:q} --params {input.params:q} --results results"
            " --out {params.folder:q} > {log:q} 2>&1"


rule paper_claims:
    input:
        params=PAPER_PARAMS,
        figures=[f"results/paper/{figure}.{kind}" for figure in figures_claimed() for kind in ("csv", "txt")],
        code=code_of("paper_claims"),
    output:
        table=report(
            "results/paper/claims.md",
            caption="../report/claims.rst",
            category="Papers",
            labels={"figure": "claims"},
        ),
        csv="results/paper/claims.csv",
    log:
        "results/paper/logs/claims.log",
    benchmark:
        "results/paper/benchmarks/claims.tsv"
    group:
        "paper"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        folder=lambda wildcards, output: Path(output.table).parent,
    message:
        "claims of the papers"
    shell:
        "clearsched paper claims --params {input.params:q} --out {params.folder:q}" " > {log:q} 2>&1"


rule paper:
    input:
        [f"results/paper/{figure}.svg" for figure in PAPER_FIGURES],
        "results/paper/claims.md",
    localrule: True
