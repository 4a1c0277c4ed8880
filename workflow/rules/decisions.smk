# What the teacher decided, every candidate a row.


rule decisions_log:
    input:
        params="<results>/params/decisions.json",
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        tuned="<results>/heuristics/tuned.json",
        teacher="<results>/teacher/teacher.safetensors",
        settings="<results>/teacher/teacher.json",
        code=code_of("decisions_log"),
    output:
        "<results>/decisions/decisions.parquet",
    log:
        "<logs>/decisions_log.log",
    benchmark:
        "<benchmarks>/decisions_log.tsv"
    priority: 2
    group:
        "decisions"
    threads: THREADS
    resources:
        mem_mb=2000,
        runtime=30,
    message:
        "log of the teacher's decisions"
    shell:
        "clearsched decisions log --params {input.params:q} --trace {input.trace:q} --workloads {input.workloads:q}"
        " --tuned {input.tuned:q} --teacher {input.teacher:q} --out {output:q} > {log:q} 2>&1"
