# The checked params, and for each stage a file with the sections that it may read: changing one parameter rewrites only
# the files it is in, and so reruns only what depends on it.

GIVEN = workflow.config_settings.config
SCENARIOS = or_exit(
    read_scenarios,
    config,
    GIVEN,
    "params.yaml with --config" if GIVEN else "params.yaml",
)
PARAMS = next(iter(SCENARIOS.values()))
MANY = len(SCENARIOS) > 1

# A single scenario has its name in all paths; of several, the name is a wildcard.
FOLDER = "results/{scenario}" if MANY else f"results/{PARAMS.scenario}"
# How the report tells the results of several scenarios apart.
LABELS = {"scenario": "{scenario}"} if MANY else {}


pathvars:
    results=FOLDER,
    logs=f"{FOLDER}/logs",
    benchmarks=f"{FOLDER}/benchmarks",


wildcard_constraints:
    scenario="|".join(map(re.escape, SCENARIOS)),


or_exit(check_targets, sys.argv[1:], SCENARIOS)


def scenario_of(wildcards):
    """The name of the scenario that a job belongs to."""
    return wildcards.scenario if MANY else PARAMS.scenario


def in_each(*files):
    """`files`, below the folder of a scenario, of all scenarios."""
    return [f"results/{name}/{file}" for name in SCENARIOS for file in files]


def settings_of(stage):
    """The stage's settings, one each, so that Snakemake's reason for a rerun names the setting that changed."""
    if not MANY:
        return settings(stage_values(PARAMS, stage))
    values = {name: settings(stage_values(params, stage)) for name, params in SCENARIOS.items()}

    def setting(place):
        return lambda wildcards: values[wildcards.scenario][place]

    return [setting(place) for place in range(len(values[PARAMS.scenario]))]


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
            STAGE,
            *settings_of(STAGE),
        message:
            f"params of {STAGE}"
        shell:
            "clearsched params stage {params:q} --out {output:q} > {log:q} 2>&1"


rule params:
    input:
        in_each(*(f"params/{stage}.json" for stage in STAGES)),
    localrule: True
