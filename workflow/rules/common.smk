# Functions and settings that all rules share. Included first: params.yaml is checked before Snakemake reads it.

import os
import re
import shlex
import sys
from pathlib import Path

from snakemake.utils import min_version

from clearsched.arithmetic import variables
from clearsched.cli.commands import one_line
from clearsched.edge_cases.cases import cases_run, changes_trace
from clearsched.errors import ClearschedError, in_a_line
from clearsched.files import keep_text
from clearsched.paper import targets
from clearsched.paper.bases import scenarios_of
from clearsched.parallel import SWITCH, variable
from clearsched.params import STAGES, read_scenarios, read_yaml, settings, stage_text, stage_values
from clearsched.problems import find_problem
from clearsched.students.kinds import fitted
from clearsched.students.sizes import fronts
from clearsched.teacher import files as teacher_files
from clearsched.temporary import sweep
from clearsched.workflow import caption, code_of_rule, figures_compared, figures_drawn, inputs_of, made_of, tables_of
from clearsched.workflow.code import keep_code

min_version("9.14")


def or_exit(check, *arguments):
    """Call `check`; a user's mistake ends Snakemake with one line on stderr and exit code 2, before anything runs."""
    try:
        return check(*arguments)
    except ClearschedError as error:
        print(f"clearsched: {one_line(str(error))}", file=sys.stderr)
        raise SystemExit(2) from None


# The commands come from the environment that Snakemake runs in, activated or not.
#
# One thread a process in the linear algebra libraries, whatever a rule's threads: sums must not depend on the number of
# cores, and oversubscribed cores made inference many times slower. A rule's threads go to the compiled simulator, which
# gives an episode to a thread; its results do not depend on their number. Snakemake sets OMP_NUM_THREADS to them. Nor
# must sums depend on the processor: see clearsched.arithmetic.
ARITHMETIC = " ".join(f"{name}={shlex.quote(value)}" for name, value in or_exit(variables, os.environ).items())
PREFIX = (
    f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH"
    " NUMBA_NUM_THREADS=$OMP_NUM_THREADS"
    f" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONHASHSEED=0 {ARITHMETIC}; "
)


# The lists of source files by their place, written when all rules are read: nothing is for a run that cannot be.
CODE = {}


def code_of(rule):
    """The list of the source files that a rule runs, as its input, since it is to run again when one changes."""
    # Scenarios may have other sources of jobs; all else that a rule runs is the problem's, and the same for all.
    scenarios = SCENARIOS.values() if rule == "traces_build" else [PARAMS]
    listed = f"results/.code/{rule}.sha256"
    CODE[listed] = {path for params in scenarios for path in or_exit(code_of_rule, rule, params)}
    return listed


def data_of(params):
    """The files of the data set; one that the user named and that is not there ends Snakemake before anything runs."""
    return [os.path.relpath(path) for path in or_exit(find_problem(params.problem).files, params.traces)]


def checkpoint_of(params):
    """The published network that the user named; one that is not there ends Snakemake before anything runs."""
    return [os.path.relpath(path) for path in or_exit(teacher_files, params.teacher)]


def check_targets(targets, scenarios):
    """DVC asks for files of the folder that `scenario` in params.yaml names; say so where the results go elsewhere."""
    if any(str(target).startswith("results/default/") for target in targets) and "default" not in scenarios:
        name = next(iter(scenarios))
        raise ClearschedError(
            f"scenario: the results of this problem or data set go to results/{name}, not to results/default: "
            f"write 'scenario: {name}' into params.yaml"
        )


def of_scenario(values):
    """The one of `values`, by name of the scenario, that a job's scenario has: an input."""
    return (lambda wildcards: values[wildcards.scenario]) if MANY else values[PARAMS.scenario]


def in_each(*files):
    """`files`, below the folder of a scenario, of all scenarios."""
    return [f"results/{name}/{file}" for name in SCENARIOS for file in files]


def searched_in(params):
    """The searched policies of a scenario."""
    return [f"results/{params.scenario}/search/{family}.json" for family in params.search.families]


def seeds_of(params, file):
    """A file of each training seed of a scenario; what is shipped or published has been chosen already."""
    seeds = range(params.teacher.seeds if params.teacher.source == "train" else 1)
    return [f"results/{params.scenario}/teacher/seeds/{seed}/{file}" for seed in seeds]


def settings_of(stage):
    """The stage's settings, one each, so that Snakemake's reason for a rerun names the setting that changed."""
    if not MANY:
        return settings(stage_values(PARAMS, stage))
    values = {name: settings(stage_values(params, stage)) for name, params in SCENARIOS.items()}

    def setting(place):
        return lambda wildcards: values[wildcards.scenario][place]

    # The models are the same, so each scenario has the same settings in the same order.
    return [setting(place) for place in range(len(values[PARAMS.scenario]))]


OWN = Path("params.yaml")
LAYERS = [or_exit(read_yaml, path) for path in [OWN] if path.is_file()]
# Runs on a real Spark have a scenario of their own; what the user gives lies on top of it.
SPARK = any(word == "spark" or word.startswith("engine_spark_") or "results/spark/" in word for word in sys.argv[1:])
if SPARK:
    LAYERS.append(or_exit(read_yaml, Path("scenarios/spark.yaml")))
