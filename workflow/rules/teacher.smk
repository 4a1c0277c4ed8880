# The graph network: a clone of the best heuristic, improved by policy gradient.


rule teacher_train:
    input:
        params="<results>/params/teacher.json",
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        tuned="<results>/heuristics/tuned.json",
        code=code_of("teacher_train"),
    output:
        weights="<results>/teacher/teacher.safetensors",
        settings="<results>/teacher/teacher.json",
        learning_curve="<results>/teacher/learning_curve.parquet",
    log:
        "<logs>/teacher_train.log",
    benchmark:
        "<benchmarks>/teacher_train.tsv"
    threads: 2
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        folder=lambda wildcards, output: Path(output.weights).parent,
    message:
        "training of the teacher"
    shell:
        "clearsched teacher train --params {input.params:q} --trace {input.trace:q} --workloads {input.workloads:q}"
        " --tuned {input.tuned:q} --out {params.folder:q} > {log:q} 2>&1"
