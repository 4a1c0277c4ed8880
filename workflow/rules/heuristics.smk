# The schedulers that are a formula, tuned on the validation episodes.


rule heuristics_tune:
    input:
        params="<results>/params/heuristics.json",
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        code=code_of("heuristics_tune"),
    output:
        tuning="<results>/heuristics/tuning.parquet",
        tuned="<results>/heuristics/tuned.json",
    log:
        "<logs>/heuristics_tune.log",
    benchmark:
        "<benchmarks>/heuristics_tune.tsv"
    priority: 4
    group:
        "data"
    threads: THREADS
    resources:
        mem_mb=1000,
        runtime=30,
    message:
        "tuning of the heuristics"
    shell:
        "clearsched heuristics tune --params {input.params:q} --trace {input.trace:q} --workloads {input.workloads:q}"
        " --out {output.tuning:q} --out-tuned {output.tuned:q} > {log:q} 2>&1"
