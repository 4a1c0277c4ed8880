# The policies that a person can read, fitted on the decision log.

STUDENTS = PARAMS.students.names


rule students_fit:
    input:
        params="<results>/params/students.json",
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        tuned="<results>/heuristics/tuned.json",
        teacher="<results>/teacher/teacher.safetensors",
        settings="<results>/teacher/teacher.json",
        decisions="<results>/decisions/decisions.parquet",
        code=sources(*SIMULATOR, "teacher", "decisions", "students"),
    output:
        policies=expand("<results>/students/{student}.json", student=STUDENTS),
        rules=report(
            expand("<results>/students/{student}.txt", student=STUDENTS),
            caption="../report/students.rst",
            category="Rules",
        ),
    log:
        "<logs>/students_fit.log",
    benchmark:
        "<benchmarks>/students_fit.tsv"
    threads: 2
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        folder=lambda wildcards, output: Path(output.policies[0]).parent,
    message:
        "fit of the students"
    shell:
        "clearsched students fit --params {input.params:q} --trace {input.trace:q} --workloads {input.workloads:q}"
        " --tuned {input.tuned:q} --teacher {input.teacher:q} --decisions {input.decisions:q}"
        " --out {params.folder:q} > {log:q} 2>&1"
