# One interactive page of all scenarios of the run: comparison, figures, rules, decisions to step through.

PAGE = "results/report/index.html"


rule report_collect:
    input:
        params="<results>/params/report.json",
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        tuned="<results>/heuristics/tuned.json",
        teacher="<results>/teacher/teacher.safetensors",
        settings="<results>/teacher/teacher.json",
        searched=of_scenario(SEARCHED),
        students=expand("<results>/students/{student}.json", student=STUDENTS),
        decisions="<results>/decisions/decisions.parquet",
        code=code_of("report_collect"),
    output:
        "<results>/report/collected.json",
    log:
        "<logs>/report_collect.log",
    benchmark:
        "<benchmarks>/report_collect.tsv"
    group:
        "report"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=15,
    params:
        students=lambda wildcards, input: [part for path in input.students for part in ("--student", path)],
        searched=lambda wildcards, input: [part for path in input.searched for part in ("--searched", path)],
    message:
        "rules and decisions for the page"
    shell:
        "clearsched report collect --params {input.params:q} --trace {input.trace:q} --workloads {input.workloads:q}"
        " --tuned {input.tuned:q} --teacher {input.teacher:q} --decisions {input.decisions:q} {params.students:q}"
        " {params.searched:q} --out {output:q} > {log:q} 2>&1"


rule report_build:
    input:
        collected=in_each("report/collected.json"),
        tables=in_each("evaluation/comparison.parquet", "evaluation/students.parquet", "evaluation/comparison.txt"),
        figures=[file for file in RESULTS if file.endswith(".svg")],
        code=code_of("report_build"),
    output:
        report(
            PAGE,
            caption="../report/page.rst",
            category="Page",
            labels={"page": "comparison, figures, rules, decisions"},
        ),
    log:
        "results/report/logs/report_build.log",
    benchmark:
        "results/report/benchmarks/report_build.tsv"
    group:
        "report"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        folders=[f"results/{name}" for name in SCENARIOS],
    message:
        "interactive page"
    shell:
        "clearsched report build {params.folders:q} --out {output:q} > {log:q} 2>&1"
