"""What a decision of 16 candidates costs in exported C.

    python benchmarks/export.py [--student FILE ...] [--profiles DIR_OR_TRACE] [--cpu-seconds S] [--flags=-O2] [--json]

Each student (default: the shipped policy of the default scenario, the rule list that the README shows, and 50 trees of
depth 3 on random thresholds) is exported to C and compiled with the system's compiler. It then answers the decisions of
one episode of setting (a) under the fair heuristic, cut or filled up to 16 candidates by taking rows again, over and
over for a given CPU time: microseconds of one decision, limit and `none` included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from policies import fit_like, matrices
from settings import SETTINGS, command

from clearsched.errors import ClearschedError
from clearsched.export import export
from clearsched.export.lowering import program_of
from clearsched.files import read_json, write_json
from clearsched.problems.dag_jobs.features import FEATURE_NAMES
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.scorers.policy import load_policy
from clearsched.shipped import find

CANDIDATES = 16

RULE_LIST = Path(__file__).parents[1] / "examples" / "rule_list.json"
"""The rule list that the README shows."""

DRIVER = """
#include "{name}.c"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int given, char **words)
{{
    const int count = atoi(words[1]);
    const double seconds = atof(words[2]);
    struct {name}_candidate *rows = malloc(sizeof *rows * {candidates} * count);
    FILE *file = fopen(words[3], "rb");
    if (given != 4 || !rows || !file || fread(rows, sizeof *rows, {candidates} * count, file) != {candidates}u * count)
        return 1;
    long decisions = 0, sum = 0;
    const clock_t begin = clock();
    do {{
        for (int d = 0; d < count; d++) {{
            const struct {name}_decision found = {name}_choose(rows + {candidates} * d, {arguments});
            sum += found.candidate + found.limit;
        }}
        decisions += count;
    }} while (clock() - begin < seconds * CLOCKS_PER_SEC);
    printf("%.6f %ld\\n", 1e6 * (clock() - begin) / CLOCKS_PER_SEC / decisions, sum);
    return 0;
}}
"""


def usual(folder: Path, rows: np.ndarray) -> list[Path]:
    """The students that are measured where none is named."""
    generator = np.random.default_rng(0)
    trees = [fit_like(generator, rows, 3) for _ in range(50)]
    boosted = {"features": list(FEATURE_NAMES), "trees": trees}
    content = read_json(RULE_LIST) | {"name": "boosted_trees", "stage": boosted}
    write_json(folder / "boosted_trees.json", content)
    files = [*find("default").copy("stay_and_move", folder), RULE_LIST, folder / "boosted_trees.json"]
    return [file for file in files if file.suffix == ".json"]


def measure(student: Path, found: list[np.ndarray], cpu_seconds: float, flags: list[str], folder: Path) -> float:
    """Microseconds of a decision."""
    policy = load_policy(student)
    source, _ = export(student, "c", folder / f"{student.stem}.c")
    program = program_of(policy)
    columns = [FEATURE_NAMES.index(feature.name) for feature in program.features]
    rows = np.stack([part[np.arange(CANDIDATES) % len(part)][:, columns] for part in found])
    np.ascontiguousarray(rows, np.float32).tofile(folder / "rows")
    given = [f"{CANDIDATES}", *(["50", "0"] if program.level else []), *(["1"] if program.may_idle else [])]
    driver = folder / f"{source.stem}_driver.c"
    text = DRIVER.format(name=source.stem, candidates=CANDIDATES, arguments=", ".join(given))
    driver.write_text(text if program.level else text.replace(" + found.limit", ""))
    binary = folder / source.stem
    subprocess.run(["cc", "-std=c11", *flags, str(driver), "-o", str(binary), "-lm"], check=True)
    shown = subprocess.run(
        [binary, str(len(rows)), str(cpu_seconds), folder / "rows"], check=True, capture_output=True, text=True
    )
    return float(shown.stdout.split()[0])


def main(arguments: argparse.Namespace, profiles: Profiles) -> None:
    found = matrices(profiles, SETTINGS["a"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        students = arguments.student or usual(folder, np.concatenate(found))
        try:
            answer = {
                student.stem: measure(student, found, arguments.cpu_seconds, arguments.flags.split(), folder)
                for student in students
            }
        except (OSError, subprocess.CalledProcessError) as error:
            raise ClearschedError(f"export: a C compiler `cc` is needed: {error}") from None
    if arguments.json:
        print(json.dumps({"us_a_decision": answer}))
        return
    for student, cost in answer.items():
        print(f"{student:<24}{cost:>8.3f} us a decision of {CANDIDATES} candidates")


if __name__ == "__main__":
    command(
        __doc__,
        main,
        flags={"default": "-O2", "help": "of the compiler (%(default)s)"},
        json={"action": "store_true", "help": "print JSON"},
        student={"action": "append", "type": Path, "help": "a student's file; repeat it"},
    )
