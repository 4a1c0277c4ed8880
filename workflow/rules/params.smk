# The checked params, and for each stage a file with the sections that it may read: changing one parameter rewrites only
# the files it is in, and so reruns only what depends on it.

# Files are read here and not taken from Snakemake's merged `config`: a layer of another problem sets aside what lies
# below it.
GIVEN = workflow.config_settings.config
if workflow.config_settings.replace_workflow_config:
    LAYERS.clear()
LAYERS.extend(or_exit(read_yaml, path) for path in workflow.config_settings.configfiles)
SCENARIOS = or_exit(
    read_scenarios,
    LAYERS,
    GIVEN,
    "params.yaml with --config" if GIVEN else "params.yaml",
)
# The papers' figures have scenarios of their own, which the rules of all stages make like any others.
PAPER = targets.asked(sys.argv[1:])
if PAPER:
    or_exit(targets.check, sys.argv[1:])
    SCENARIOS = or_exit(scenarios_of, next(iter(SCENARIOS.values())))
PARAMS = next(iter(SCENARIOS.values()))
PROBLEM = find_problem(PARAMS.problem)
# Where episodes run changes no result: it is neither a param nor an input of any rule.
# Snakemake formats the prefix: braces are doubled.
PARALLEL = shlex.quote(variable(PARAMS.parallel)).replace("{", "{{").replace("}", "}}")
shell.prefix(f"export {SWITCH}={PARALLEL}; {PREFIX}")
MANY = len(SCENARIOS) > 1
# At the scale smoke nothing is long enough to gain by a second thread, and much can be done at once.
THREADS = 1 if PAPER and PARAMS.paper.scale == "smoke" else 2

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


onstart:
    # What killed processes left half written below the results; of a run at work nothing is taken.
    for scenario in SCENARIOS:
        sweep(Path("results") / scenario, deep=True)
    if PAPER:
        tell_what_is_left()


if PAPER:
    # The papers' bases are many, and a job costs more than such a file: what is not there as it should be is written now.
    for SCENARIO, BASE in SCENARIOS.items():
        for STAGE in STAGES:
            or_exit(keep_text, Path(f"results/{SCENARIO}/params/{STAGE}.json"), stage_text(stage_values(BASE, STAGE)))

else:
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
