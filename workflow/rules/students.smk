# The policies that a person can read, fitted on the decision log: a rule a kind, so that they are fitted side by side.

STUDENTS = fitted(PARAMS.students)
# The papers' bases do not fit the same ones; all other scenarios do.
FITTED = list(dict.fromkeys(name for params in SCENARIOS.values() for name in fitted(params.students)))


for STUDENT in FITTED:

    rule:
        name:
            f"students_fit_{STUDENT}"
        input:
            params="<results>/params/students.json",
            trace="<results>/traces/trace.parquet",
            workloads="<results>/traces/workloads.parquet",
            tuned="<results>/heuristics/tuned.json",
            teacher="<results>/teacher/teacher.safetensors",
            settings="<results>/teacher/teacher.json",
            decisions="<results>/decisions/decisions.parquet",
            others=expand("<results>/students/{student}.json", student=or_exit(made_of, PARAMS, STUDENT)),
            code=code_of(f"students_fit_{STUDENT}"),
        output:
            policy=f"<results>/students/{STUDENT}.json",
            rules=report(
                f"<results>/students/{STUDENT}.txt",
                caption="../report/students.rst",
                category="Rules",
                labels={"student": STUDENT.replace("_", " "), **LABELS},
            ),
            visits=directory(f"<results>/students/{STUDENT}_visits"),
        log:
            f"<logs>/students_fit_{STUDENT}.log",
        benchmark:
            f"<benchmarks>/students_fit_{STUDENT}.tsv"
        priority: 2
        group:
            f"students_{STUDENT}"
        threads: THREADS
        resources:
            mem_mb=4000,
            runtime=60,
        params:
            kind=STUDENT,
            folder=lambda wildcards, output: Path(output.policy).parent,
            others=lambda wildcards, input: [part for path in input.others for part in ("--student", path)],
        message:
            "fit of the student {params.kind}"
        shell:
            "clearsched students fit {params.kind} --params {input.params:q} --trace {input.trace:q}"
            " --workloads {input.workloads:q} --tuned {input.tuned:q} --teacher {input.teacher:q}"
            " --decisions {input.decisions:q} {params.others:q} --out {params.folder:q} > {log:q} 2>&1"
