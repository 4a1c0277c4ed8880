"""What searched policies reach in the settings of published comparisons: the table of the frontier.

    python benchmarks/frontier.py [--profiles DIR_OR_TRACE] [--settings a,b,c] [--families NAME,...] [--json]
        [--evaluations N] [--restarts N] [--episodes N] [--population N] [--out FOLDER] [--policy FILE]

Settings as in `quality.py`. Each family is searched for on training episodes of seed 1, its restarts are compared on
validation episodes of seed 3, and the best meets the episodes of seed 2 that `quality.py` measures on: 100 in (a) and
(c), 40 in (b). Told are the mean JCT in s, the paired difference to tuned capped SRPT with its standard error, the test
means of all restarts (training seeds), and the CPU seconds of the search, compilation and all restarts included.
`--policy` adds a policy's file, a teacher's in both of its modes; with `--families none` nothing is searched for.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from settings import MOVING_DELAY_MS, SETTINGS, WARMUP_DELAY_MS, Setting, load

from clearsched.errors import ClearschedError
from clearsched.evaluation.policies import load_policy
from clearsched.files import write_text
from clearsched.problems.dag_jobs.instance import DagJobsInstance
from clearsched.problems.dag_jobs.problem import PROBLEM, heuristic
from clearsched.problems.dag_jobs.simulator.profiles import Profiles, compile_profiles
from clearsched.problems.dag_jobs.simulator.simulate import Workload
from clearsched.problems.dag_jobs.workloads.files import Workloads
from clearsched.scorers.text import render
from clearsched.search.families import families_of
from clearsched.search.searching import search
from clearsched.search.settings import SearchParams

TRAINED_ON, MEASURED_ON, CHOSEN_ON = 1, 2, 3
"""Seeds."""

TRAINING, VALIDATION = {"a": 128, "b": 160, "c": 256}, {"a": 64, "b": 32, "c": 128}
MEASURED = {"a": 100, "b": 40, "c": 100}
"""Episodes: those of (b) are long."""

CAPPED_SRPT = {"a": (0.3, 3.0), "b": (0.5, 2.0), "c": (0.3, 5.0)}
"""p and m, tuned on seed 1."""


def instance_of(profiles: Profiles, setting: Setting) -> DagJobsInstance:
    """The cluster of a setting; its episodes are drawn here."""
    told = {
        "num_executors": setting.num_executors,
        "moving_delay_ms": MOVING_DELAY_MS,
        "warmup_delay_ms": WARMUP_DELAY_MS,
        "semantics": {"idling": True},
        "objective": "jct_s",
    }
    return DagJobsInstance(profiles, Workloads(pa.table({}), told))


def drawn(profiles: Profiles, setting: Setting, seed: int, episodes: int) -> list[Workload]:
    """The first episodes of a seed."""
    return [setting.episode(profiles.trace.num_profiles, seed, index) for index in range(episodes)]


def measure(
    profiles: Profiles,
    name: str,
    families: Sequence[str],
    budget: SearchParams,
    out: Path | None,
    files: Sequence[Path] = (),
) -> list[dict[str, Any]]:
    """One row a policy: test mean in s, paired difference to tuned capped SRPT, restarts, CPU seconds."""
    setting = SETTINGS[name]
    instance = instance_of(profiles, setting)
    p, m = CAPPED_SRPT[name]
    capped = heuristic("capped_srpt", p=p, m=m)
    test = drawn(profiles, setting, MEASURED_ON, MEASURED[name])
    base = np.array([result.avg_jct_s for result in capped.run(instance, test)])
    rows = [_row(f"capped_srpt p={p:g}, m={m:g}", base, base)]
    for file in files:
        for mode in ("argmax", "sampled") if file.suffix == ".safetensors" else ("argmax",):
            policy = load_policy(PROBLEM, file, mode=mode)
            values = np.array([result.avg_jct_s for result in policy.run(instance, test)])
            rows.append(_row(f"{policy.name}, {mode}", values, base))
    for family in families:
        begin = time.process_time()
        found = search(
            instance,
            family,
            drawn(profiles, setting, TRAINED_ON, TRAINING[name]),
            drawn(profiles, setting, CHOSEN_ON, VALIDATION[name]),
            capped,
            budget,
            1,
        )
        spent = time.process_time() - begin
        values = np.array([result.avg_jct_s for result in found.policy.run(instance, test)])
        policies = [restart.policy for restart in found.restarts if restart.policy is not None]
        means = [float(np.mean([result.avg_jct_s for result in policy.run(instance, test)])) for policy in policies]
        validation = found.policy.evidence["validation"]
        rows.append(_row(family, values, base) | {"restarts": means, "validation": validation, "cpu_s": spent})
        if out is not None:
            found.policy.write(out / f"{name}_{family}.json")
            write_text(out / f"{name}_{family}.txt", render(found.policy))
        print(json.dumps({name: rows[-1]}), file=sys.stderr, flush=True)
    return rows


def _row(name: str, values: np.ndarray, base: np.ndarray) -> dict[str, Any]:
    gap = values - base
    error = float(gap.std(ddof=1) / len(gap) ** 0.5)
    return {"policy": name, "mean_jct_s": float(values.mean()), "difference_s": float(gap.mean()), "error_s": error}


def main() -> None:
    """Parse the options, search, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=Path, help="trace file or tpch-decima folder (default: the embedded trace)")
    parser.add_argument("--settings", default="a,b,c", help="settings to run, separated by commas")
    parser.add_argument("--families", default=",".join(families_of(PROBLEM)), help="families, separated by commas")
    parser.add_argument("--policy", type=Path, action="append", default=[], help="a policy's file; may be repeated")
    parser.add_argument("--out", type=Path, help="folder for the policies found")
    parser.add_argument("--json", action="store_true", help="print JSON")
    for option, default in (("evaluations", 3000), ("restarts", 3), ("episodes", 8), ("population", 16)):
        parser.add_argument(f"--{option}", type=int, default=default, help="of each family (%(default)s)")
    chosen = parser.parse_args()
    names = chosen.settings.split(",")
    families = [] if chosen.families == "none" else chosen.families.split(",")
    if not set(names) <= set(SETTINGS):
        parser.error(f"settings out of {','.join(SETTINGS)}")
    try:
        for family in families:
            _ = families_of(PROBLEM)[family]
        profiles = compile_profiles(load(chosen.profiles), WARMUP_DELAY_MS)
    except ClearschedError as error:
        parser.error(str(error))
    options = ("evaluations", "restarts", "episodes", "population")
    budget = SearchParams(
        families=tuple(families) or ("weights",), **{option: getattr(chosen, option) for option in options}
    )
    answer = {name: measure(profiles, name, families, budget, chosen.out, chosen.policy) for name in names}
    if chosen.json:
        print(json.dumps(answer))
        return
    for name, rows in answer.items():
        print(f"{SETTINGS[name]}, {MEASURED[name]} episodes:")
        print(f"  {'policy':<28}{'mean JCT (s)':>13}{'difference (s)':>17}{'restarts (s)':>20}{'CPU (s)':>9}")
        for row in rows:
            gap = f"{row['difference_s']:+.2f} ± {row['error_s']:.2f}" if row["difference_s"] else ""
            means = row.get("restarts")
            spread = f"{min(means):.2f} to {max(means):.2f}" if means else ""
            spent = f"{row['cpu_s']:.0f}" if means else ""
            print(f"  {row['policy']:<28}{row['mean_jct_s']:>13.2f}{gap:>17}{spread:>20}{spent:>9}")


if __name__ == "__main__":
    main()
