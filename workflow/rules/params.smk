# The checked params, and for each stage a file with the sections that it may read: changing one parameter rewrites only
# the files it is in, and so reruns only what depends on it.

GIVEN = workflow.config_settings.config
PARAMS = or_exit(
    parse_params,
    read_overrides(config, GIVEN),
    "params.yaml with --config" if GIVEN else "params.yaml",
)


pathvars:
    results=f"results/{PARAMS.scenario}",
    logs=f"results/{PARAMS.scenario}/logs",
    benchmarks=f"results/{PARAMS.scenario}/benchmarks",


for STAGE in STAGES:

    rule:
        name:
            f"params_{STAGE}"
        output:
            f"<results>/params/{STAGE}.json",
        log:
            f"<logs>/params_{STAGE}.log",
        benchmark:
            f"<benchmarks>/params_{STAGE}.tsv"
        localrule: True
        threads: 1
        resources:
            mem_mb=200,
            runtime=1,
        params:
            # One setting each, so that Snakemake's reason for a rerun names the setting that changed.
            STAGE,
            *settings(stage_values(PARAMS, STAGE)),
        message:
            f"params of {STAGE}"
        shell:
            "clearsched params stage {params:q} --out {output:q} > {log:q} 2>&1"


rule params:
    input:
        expand("<results>/params/{stage}.json", stage=STAGES),
    localrule: True
