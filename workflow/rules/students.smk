# The policies that a person can read, fitted on the decision log: a rule a kind, so that they are fitted side by side.
# Then the model card of each, of what the evaluation says of it.

STUDENTS = fitted(PARAMS.students)
# The papers' bases do not fit the same ones; all other scenarios do.
FITTED = list(dict.fromkeys(name for params in SCENARIOS.values() for name in fitted(params.students)))

# In a folder of their own: DVC takes that of the students as a whole, and what the evaluation reads is none of its results.
CARDS = [] if PAPER else in_each(*(f"students_cards/{student}.md" for student in STUDENTS))


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


# The papers' bases have none.
if not PAPER:

    for STUDENT in STUDENTS:

        rule:
            name:
                f"students_card_{STUDENT}"
            input:
                params="<results>/params/students.json",
                trace="<results>/traces/trace.parquet",
                workloads="<results>/traces/workloads.parquet",
                teacher="<results>/teacher/teacher.safetensors",
                decisions="<results>/decisions/decisions.parquet",
                policy=f"<results>/students/{STUDENT}.json",
                tables=expand("<results>/evaluation/{table}.parquet", table=["comparison", "fidelity"]),
                code=code_of(f"students_card_{STUDENT}"),
            output:
                report(
                    f"<results>/students_cards/{STUDENT}.md",
                    caption="../report/students_card.rst",
                    category="Cards",
                    labels={"student": STUDENT.replace("_", " "), **LABELS},
                ),
            log:
                f"<logs>/students_card_{STUDENT}.log",
            benchmark:
                f"<benchmarks>/students_card_{STUDENT}.tsv"
            group:
                "evaluation"
            threads: 1
            resources:
                mem_mb=1000,
                runtime=15,
            params:
                kind=STUDENT,
                folder=lambda wildcards, input: Path(input.policy).parent.parent,
            message:
                "model card of the student {params.kind}"
            shell:
                "clearsched students card {input.policy:q} --results {params.folder:q} --out {output:q} > {log:q} 2>&1"

    rule students_cards:
        input:
            CARDS,
        localrule: True
