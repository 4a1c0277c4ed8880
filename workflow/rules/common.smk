# Functions and settings that all rules share. Included first: params.yaml is checked before Snakemake reads it.

import os
import re
import shlex
import sys
from glob import glob
from pathlib import Path

from snakemake.utils import min_version

import clearsched
from clearsched.errors import ClearschedError
from clearsched.figures import INPUTS, OF_SOURCES
from clearsched.params import STAGES, read_scenarios, read_yaml, settings, stage_values

min_version("9.14")


# The commands come from the environment that Snakemake runs in, activated or not.
#
# One thread a process in the linear algebra libraries, whatever a rule's threads: sums must not depend on the number of
# cores, and oversubscribed cores made inference many times slower. A rule's threads go to the compiled simulator, which
# gives an episode to a thread; its results do not depend on their number. Snakemake sets OMP_NUM_THREADS to them.
shell.prefix(
    f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH"
    " NUMBA_NUM_THREADS=$OMP_NUM_THREADS"
    " OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONHASHSEED=0; "
)


# The parts of the package that every simulation runs through.
SIMULATOR = ("traces", "problems", "workloads", "policies")


def or_exit(check, *arguments):
    """Call `check`; a user's mistake ends Snakemake with one line on stderr and exit code 2, before anything runs."""
    try:
        return check(*arguments)
    except ClearschedError as error:
        print(f"clearsched: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def sources(*names):
    """The source files of the package's parts `names` and of what all parts use, as inputs: a rule reruns when one changes.

    `sources("traces", "workloads")` is src/clearsched/traces/**/*.py and src/clearsched/workloads/**/*.py.
    """
    package = Path(os.path.relpath(Path(clearsched.__file__).parent))
    found = [package / name for name in ("errors.py", "files.py", "schemas.py")]
    for name in names:
        source = package / f"{name}.py"
        found += [source] if source.is_file() else sorted((package / name).rglob("*.*"))
    return [path.as_posix() for path in found if not {"__pycache__", "recorder"} & set(path.parts)]


def require(path):
    """Refuse a data set that is not there before anything runs."""
    if not path.exists():
        raise ClearschedError(f"traces.path: {path}: no such file or folder")


def trace_files(traces):
    """The files of the data set, or of all data sets of a mix, as far as they are here."""
    parts = traces.mix if traces.source == "mix" else [traces]
    return sorted({file for part in parts for file in source_files(part.source, part.path)})


def source_files(source, path):
    """The files of a source; a path of the user's own must exist, or match if it is a pattern."""
    if path is None and source == "tpch-spark":
        embedded = Path("data", "tpch-spark.parquet")
        candidates = [embedded, Path(os.path.relpath(Path(clearsched.__file__).parents[2])) / embedded]
        return [path.as_posix() for path in candidates if path.is_file()][:1]
    if path is None:
        return []
    found = [Path(name) for name in glob(path, recursive=True)] if any(sign in path for sign in "*?[") else [Path(path)]
    for there in found or [Path(path)]:
        or_exit(require, there)
    files = [file for there in found for file in (there.rglob("*") if there.is_dir() else [there])]
    return [file.as_posix() for file in files if file.is_file()]


def check_targets(targets, scenarios):
    """DVC asks for files of the folder that `scenario` in params.yaml names; say so where the results go elsewhere."""
    if any(str(target).startswith("results/default/") for target in targets) and "default" not in scenarios:
        name = next(iter(scenarios))
        raise ClearschedError(
            f"scenario: the results of this data set go to results/{name}, not to results/default: "
            f"write 'scenario: {name}' into params.yaml"
        )


def of_scenario(values):
    """The one of `values`, by name of the scenario, that a job's scenario has: an input."""
    return (lambda wildcards: values[wildcards.scenario]) if MANY else values[PARAMS.scenario]


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

    # The models are the same, so each scenario has the same settings in the same order.
    return [setting(place) for place in range(len(values[PARAMS.scenario]))]


def figures_of(params):
    """The figures of a scenario: that of the rules needs the student whose rules it shows, some are of one source."""
    return [
        figure
        for figure, files in INPUTS.items()
        if all(Path(file).stem in STUDENTS for file in files if file.startswith("students/"))
        and params.traces.source in OF_SOURCES.get(figure, [params.traces.source])
    ]


if Path("params.yaml").is_file():
    or_exit(read_yaml, "params.yaml")
