# Job profiles, and the episodes made of them.

DATA = {name: data_of(params) for name, params in SCENARIOS.items()}


rule traces_build:
    input:
        params="<results>/params/traces.json",
        data=of_scenario(DATA),
        code=code_of("traces_build"),
    output:
        "<results>/traces/trace.parquet",
    log:
        "<logs>/traces_build.log",
    benchmark:
        "<benchmarks>/traces_build.tsv"
    priority: 5
    group:
        "data"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    message:
        "job profiles"
    shell:
        "clearsched traces build --params {input.params:q} --out {output:q} > {log:q} 2>&1"


rule traces_workloads:
    input:
        params="<results>/params/workloads.json",
        trace="<results>/traces/trace.parquet",
        code=code_of("traces_workloads"),
    output:
        "<results>/traces/workloads.parquet",
    log:
        "<logs>/traces_workloads.log",
    benchmark:
        "<benchmarks>/traces_workloads.tsv"
    priority: 5
    group:
        "data"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    message:
        "training, validation and test episodes"
    shell:
        "clearsched traces workloads --params {input.params:q} --trace {input.trace:q} --out {output:q} > {log:q} 2>&1"
