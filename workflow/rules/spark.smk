# Policies on a real Spark of this machine, held against the simulator: `snakemake spark`, asked for by name alone. Its
# scenario is scenarios/spark.yaml, see SPARK in common.smk; what it needs beside Python is in docs/engines-spark-runs.md.

from clearsched.engines.spark.requirements import lacking

SPARK_JAR = "engines/spark/build/clearsched-spark.jar"
SPARK_TABLES = ("jobs.csv", "tasks.csv", "policies.csv", "run.json")
SPARK_FIGURES = ("gantt", "jct", "simulated_against_real")
SPARK_LACKS = lacking()
if SPARK_LACKS:
    print(f"clearsched: spark is left out: {SPARK_LACKS}", file=sys.stderr)


rule engine_spark_jar:
    input:
        script="engines/spark/build.sh",
        sources=sorted(map(str, Path("engines/spark").glob("src/**/*.java"))),
    output:
        SPARK_JAR,
    log:
        "<logs>/engine_spark_jar.log",
    benchmark:
        "<benchmarks>/engine_spark_jar.tsv"
    localrule: True
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    message:
        "the jar that makes a policy the scheduler of Spark"
    shell:
        "bash {input.script:q} {output:q} > {log:q} 2>&1"


rule engine_spark_capped_srpt:
    input:
        tuned="<results>/heuristics/tuned.json",
        code=code_of("engine_spark_capped_srpt"),
    output:
        "<results>/engine/rules/capped_srpt.json",
    log:
        "<logs>/engine_spark_capped_srpt.log",
    benchmark:
        "<benchmarks>/engine_spark_capped_srpt.tsv"
    localrule: True
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        executors=PARAMS.workload.executors,
    message:
        "tuned capped SRPT as rules"
    shell:
        "clearsched engine spark capped-srpt --tuned {input.tuned:q} --executors {params.executors} --out {output:q}"
        " > {log:q} 2>&1"


rule engine_spark_run:
    input:
        jar=SPARK_JAR,
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        rules="<results>/engine/rules/capped_srpt.json",
        searched=of_scenario(SEARCHED),
        students=expand("<results>/students/{student}.json", student=STUDENTS),
        code=code_of("engine_spark_run"),
    output:
        tables=[f"<results>/engine/{table}" for table in SPARK_TABLES],
        text=report(
            "<results>/engine/comparison.txt",
            caption="../report/spark.rst",
            category="Spark",
            labels={"result": "simulated against real"},
        ),
        svg=[
            report(
                f"<results>/engine/{figure}.svg",
                caption="../report/spark.rst",
                category="Spark",
                labels={"result": figure.replace("_", " ")},
            )
            for figure in SPARK_FIGURES
        ],
        others=[f"<results>/engine/{figure}.{suffix}" for figure in SPARK_FIGURES for suffix in ("png", "csv")],
    log:
        "<logs>/engine_spark_run.log",
    benchmark:
        "<benchmarks>/engine_spark_run.tsv"
    localrule: True
    threads: 2
    resources:
        mem_mb=6000,
        runtime=120,
    params:
        students=lambda wildcards, input: [
            part for path in (input.rules, *input.searched, *input.students) for part in ("--student", path)
        ],
        folder=lambda wildcards, output: Path(output.text).parent,
    message:
        "policies on a real Spark, some six minutes each"
    shell:
        "clearsched engine spark run --trace {input.trace:q} --workloads {input.workloads:q} --jar {input.jar:q}"
        " --policy fifo --policy fair {params.students:q} --out {params.folder:q} > {log:q} 2>&1"


rule spark:
    input:
        [] if SPARK_LACKS else "<results>/engine/comparison.txt",
    localrule: True
