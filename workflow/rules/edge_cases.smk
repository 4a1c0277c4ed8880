# Every policy of the run on episodes unlike those it was made for: a rule a case. Not part of the default run.

CASES = {name: or_exit(cases_run, params) for name, params in SCENARIOS.items()}
# A case with other jobs writes them beside its episodes.
OTHER_JOBS = {case for name, cases in CASES.items() for case in cases if changes_trace(SCENARIOS[name], case)}


for CASE in dict.fromkeys(case for cases in CASES.values() for case in cases):

    rule:
        name:
            f"edge_cases_run_{CASE}"
        input:
            params="<results>/params/edge_cases.json",
            trace="<results>/traces/trace.parquet",
            tuned="<results>/heuristics/tuned.json",
            teacher="<results>/teacher/teacher.safetensors",
            settings="<results>/teacher/teacher.json",
            searched=of_scenario(SEARCHED),
            students=expand("<results>/students/{student}.json", student=STUDENTS),
            code=code_of(f"edge_cases_run_{CASE}"),
        output:
            workloads=f"<results>/edge_cases/{CASE}/workloads.parquet",
            episodes=f"<results>/edge_cases/{CASE}/episodes.parquet",
            comparison=f"<results>/edge_cases/{CASE}/comparison.parquet",
            jobs=[f"<results>/edge_cases/{CASE}/trace.parquet"] if CASE in OTHER_JOBS else [],
        log:
            f"<logs>/edge_cases_run_{CASE}.log",
        benchmark:
            f"<benchmarks>/edge_cases_run_{CASE}.tsv"
        group:
            "edge_cases"
        threads: 2
        resources:
            mem_mb=2000,
            runtime=60,
        params:
            case=CASE,
            students=lambda wildcards, input: [part for path in input.students for part in ("--student", path)],
            searched=lambda wildcards, input: [part for path in input.searched for part in ("--searched", path)],
            folder=lambda wildcards, output: Path(output.comparison).parent,
        message:
            "edge case {params.case}"
        shell:
            "clearsched edge-cases run {params.case} --params {input.params:q} --trace {input.trace:q}"
            " --tuned {input.tuned:q} --teacher {input.teacher:q} {params.searched:q} {params.students:q}"
            " --out {params.folder:q} > {log:q} 2>&1"


rule edge_cases_compare:
    input:
        params="<results>/params/edge_cases.json",
        tables=of_scenario(
            {
                name: [f"results/{name}/edge_cases/{case}/comparison.parquet" for case in cases]
                for name, cases in CASES.items()
            }
        ),
        episodes=of_scenario(
            {
                name: [f"results/{name}/edge_cases/{case}/episodes.parquet" for case in cases]
                for name, cases in CASES.items()
            }
        ),
        code=code_of("edge_cases_compare"),
    output:
        table="<results>/edge_cases/edge_cases.parquet",
        text=report(
            "<results>/edge_cases/edge_cases.txt",
            caption="../report/edge_cases.rst",
            category="Edge cases",
            labels={"result": "table of all policies", **LABELS},
        ),
        svg=report(
            "<results>/edge_cases/edge_cases.svg",
            caption="../report/edge_cases.rst",
            category="Edge cases",
            labels={"result": "figure", **LABELS},
        ),
        png="<results>/edge_cases/edge_cases.png",
        csv="<results>/edge_cases/edge_cases.csv",
    log:
        "<logs>/edge_cases_compare.log",
    benchmark:
        "<benchmarks>/edge_cases_compare.tsv"
    group:
        "edge_cases_compare"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        folders=lambda wildcards, input: [Path(table).parent for table in input.tables],
        folder=lambda wildcards, output: Path(output.table).parent,
    message:
        "all policies on all edge cases"
    shell:
        "clearsched edge-cases compare {params.folders:q} --params {input.params:q} --out {params.folder:q}"
        " > {log:q} 2>&1"


rule edge_cases:
    input:
        in_each("edge_cases/edge_cases.txt", "edge_cases/edge_cases.svg"),
    localrule: True
