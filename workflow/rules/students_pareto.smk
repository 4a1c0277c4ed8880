# Students of several sizes against the teacher: a rule a kind and size. Not part of the default run.

SIZED = [(front, size) for front in fronts(PARAMS.students) for size in front.sizes]


for FRONT, SIZE in SIZED:

    rule:
        name:
            f"students_pareto_fit_{FRONT.name}_{SIZE}"
        input:
            params="<results>/params/students.json",
            trace="<results>/traces/trace.parquet",
            workloads="<results>/traces/workloads.parquet",
            tuned="<results>/heuristics/tuned.json",
            teacher="<results>/teacher/teacher.safetensors",
            settings="<results>/teacher/teacher.json",
            decisions="<results>/decisions/decisions.parquet",
            code=code_of(f"students_fit_{FRONT.kind}"),
        output:
            policy=f"<results>/students_pareto/{FRONT.name}/{SIZE}/{FRONT.kind}.json",
            rules=f"<results>/students_pareto/{FRONT.name}/{SIZE}/{FRONT.kind}.txt",
            visits=directory(f"<results>/students_pareto/{FRONT.name}/{SIZE}/{FRONT.kind}_visits"),
        log:
            f"<logs>/students_pareto_fit_{FRONT.name}_{SIZE}.log",
        benchmark:
            f"<benchmarks>/students_pareto_fit_{FRONT.name}_{SIZE}.tsv"
        priority: 2
        group:
            "students_pareto"
        threads: THREADS
        resources:
            mem_mb=4000,
            runtime=60,
        params:
            kind=FRONT.kind,
            size=SIZE,
            by=["--by", FRONT.by] if FRONT.by else [],
            folder=lambda wildcards, output: Path(output.policy).parent,
        message:
            "fit of the student {params.kind}, size {params.size}"
        shell:
            "clearsched students fit {params.kind} --size {params.size} {params.by:q} --params {input.params:q}"
            " --trace {input.trace:q} --workloads {input.workloads:q} --tuned {input.tuned:q}"
            " --teacher {input.teacher:q} --decisions {input.decisions:q} --out {params.folder:q} > {log:q} 2>&1"


rule students_pareto_compare:
    input:
        params="<results>/params/students_pareto.json",
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        tuned="<results>/heuristics/tuned.json",
        teacher="<results>/teacher/teacher.safetensors",
        settings="<results>/teacher/teacher.json",
        decisions="<results>/decisions/decisions.parquet",
        students=[f"<results>/students_pareto/{front.name}/{size}/{front.kind}.json" for front, size in SIZED],
        code=code_of("students_pareto_compare"),
    output:
        table="<results>/students_pareto/students_pareto.parquet",
        text="<results>/students_pareto/students_pareto.txt",
        svg=report(
            "<results>/students_pareto/students_pareto.svg",
            caption="../report/students_pareto.rst",
            category="Figures",
            labels={"figure": "sizes of students", **LABELS},
        ),
        png="<results>/students_pareto/students_pareto.png",
        csv="<results>/students_pareto/students_pareto.csv",
    log:
        "<logs>/students_pareto_compare.log",
    benchmark:
        "<benchmarks>/students_pareto_compare.tsv"
    priority: 2
    group:
        "students_pareto_compare"
    threads: THREADS
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        students=lambda wildcards, input: [part for path in input.students for part in ("--student", path)],
        folder=lambda wildcards, output: Path(output.table).parent,
    message:
        "sizes of students against the teacher"
    shell:
        "clearsched students pareto --params {input.params:q} --trace {input.trace:q} --workloads {input.workloads:q}"
        " --tuned {input.tuned:q} --teacher {input.teacher:q} --decisions {input.decisions:q} {params.students:q}"
        " --out {params.folder:q} > {log:q} 2>&1"


rule students_pareto:
    input:
        in_each("students_pareto/students_pareto.svg"),
    localrule: True
