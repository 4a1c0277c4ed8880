# All policies on the same held-out episodes.


rule evaluation_run:
    input:
        params="<results>/params/evaluation.json",
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        tuned="<results>/heuristics/tuned.json",
        teacher="<results>/teacher/teacher.safetensors",
        settings="<results>/teacher/teacher.json",
        seeds=of_scenario(SEED_WEIGHTS),
        searched=of_scenario(SEARCHED),
        students=expand("<results>/students/{student}.json", student=STUDENTS),
        decisions="<results>/decisions/decisions.parquet",
        code=code_of("evaluation_run"),
    output:
        tables=expand(
            "<results>/evaluation/{table}.parquet",
            table=tables_of(PROBLEM),
        ),
        comparison=report(
            "<results>/evaluation/comparison.txt",
            caption="../report/comparison.rst",
            category="Comparison",
            labels={"result": "table of all policies", **LABELS},
        ),
        metrics="<results>/evaluation/metrics.json",
    log:
        "<logs>/evaluation_run.log",
    benchmark:
        "<benchmarks>/evaluation_run.tsv"
    group:
        "evaluation"
    threads: 2
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        students=lambda wildcards, input: [part for path in input.students for part in ("--student", path)],
        searched=lambda wildcards, input: [part for path in input.searched for part in ("--searched", path)],
        seeds=lambda wildcards, input: [part for path in input.seeds for part in ("--teacher-seed", path)],
        folder=lambda wildcards, output: Path(output.metrics).parent,
    message:
        "comparison of all policies"
    shell:
        "clearsched evaluation run --params {input.params:q} --trace {input.trace:q} --workloads {input.workloads:q}"
        " --tuned {input.tuned:q} --teacher {input.teacher:q} {params.seeds:q} {params.searched:q} {params.students:q}"
        " --decisions {input.decisions:q} --out {params.folder:q} > {log:q} 2>&1"
