# The graph network: a clone of the best policy known, improved by policy gradient; a job a training seed.

SEED_WEIGHTS, SEED_SETTINGS, SEED_CURVES = (
    {name: seeds_of(params, file) for name, params in SCENARIOS.items()}
    for file in ("teacher.safetensors", "teacher.json", "learning_curve.parquet")
)
CHECKPOINTS = {name: checkpoint_of(params) for name, params in SCENARIOS.items()}


rule teacher_train:
    input:
        params="<results>/params/teacher.json",
        trace="<results>/traces/trace.parquet",
        workloads="<results>/traces/workloads.parquet",
        tuned="<results>/heuristics/tuned.json",
        searched=of_scenario(SEARCHED),
        checkpoint=of_scenario(CHECKPOINTS),
        code=code_of("teacher_train"),
    output:
        weights="<results>/teacher/seeds/{training_seed}/teacher.safetensors",
        settings="<results>/teacher/seeds/{training_seed}/teacher.json",
        learning_curve="<results>/teacher/seeds/{training_seed}/learning_curve.parquet",
    log:
        told="<logs>/teacher_train_{training_seed}.log",
        # They differ from run to run and are no result: DVC does not keep them, and without them nothing is to be done.
        times="<benchmarks>/teacher_train_{training_seed}_times.parquet",
    benchmark:
        "<benchmarks>/teacher_train_{training_seed}.tsv"
    priority: 1
    group:
        "training"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        searched=lambda wildcards, input: [part for path in input.searched for part in ("--searched", path)],
        folder=lambda wildcards, output: Path(output.weights).parent,
    message:
        "training of the teacher, training seed {wildcards.training_seed}"
    shell:
        "clearsched teacher train --params {input.params:q} --trace {input.trace:q} --workloads {input.workloads:q}"
        " --tuned {input.tuned:q} {params.searched:q} --training-seed {wildcards.training_seed}"
        " --times {log.times:q} --out {params.folder:q} > {log.told:q} 2>&1"


rule teacher_choose:
    input:
        weights=of_scenario(SEED_WEIGHTS),
        settings=of_scenario(SEED_SETTINGS),
        learning_curves=of_scenario(SEED_CURVES),
        code=code_of("teacher_choose"),
    output:
        weights="<results>/teacher/teacher.safetensors",
        settings="<results>/teacher/teacher.json",
        learning_curve="<results>/teacher/learning_curve.parquet",
    log:
        "<logs>/teacher_choose.log",
    benchmark:
        "<benchmarks>/teacher_choose.tsv"
    priority: 1
    group:
        "decisions"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        folders=lambda wildcards, input: [Path(weights).parent for weights in input.weights],
        folder=lambda wildcards, output: Path(output.weights).parent,
    message:
        "choice among the training seeds of the teacher"
    shell:
        "clearsched teacher choose {params.folders:q} --out {params.folder:q} > {log:q} 2>&1"
