"""Only the evaluation, and what follows from it, reads test episodes: all other rules run where there are none.

The workflow draws its episodes, those of the test are taken out of the file, and every rule runs that is no reader. To
ask for a split that has no episodes is an error (`Instance.split`), so a rule that reads them fails.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from test_workflow import REPOSITORY, snakemake, workplace

READERS = {"evaluation_run", "students_pareto_compare", "figures_draw_arrivals"}
"""Who may read them: the evaluation, that of students of several sizes, and the picture of the first test episode."""
CONFIGS = {
    name: REPOSITORY / f"tests/config/{file}.yaml"
    for name, file in (("dag_jobs", "tiny"), ("deferrable_jobs", "tiny_deferrable"))
}
FEW = ("students={pareto: {kinds: [rule_list], sizes: [2]}}",)
TARGETS = ("all", "students_pareto")


def without_test_episodes(path: Path) -> int:
    """Take the rows of the test out of a file of workloads, which stays what it is besides; how many they were."""
    table = pq.read_table(path)
    kept = table.filter(pc.not_equal(table["split"], "test"))
    pq.write_table(kept, path)
    assert pq.read_schema(path).metadata == table.schema.metadata
    return len(table) - len(kept)


@pytest.mark.workflow
@pytest.mark.parametrize("problem", CONFIGS)
def test_no_rule_but_the_evaluations_reads_test_episodes(tmp_path: Path, problem: str) -> None:
    folder, config = workplace(tmp_path), CONFIGS[problem]
    scenario = config.stem
    drawn = f"results/{scenario}/traces/workloads.parquet"
    answer = snakemake(folder, drawn, "--cores", "2", "--config", *FEW, config=config)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert without_test_episodes(folder / drawn)
    left = ("--omit-from", *sorted(READERS), "--config", *FEW)
    answer = snakemake(folder, *TARGETS, "--cores", "2", "--keep-going", *left, config=config)
    logs = {path.stem: path.read_text() for path in (folder / f"results/{scenario}/logs").rglob("*.log")}
    guilty = {name for name, text in logs.items() if "test episodes asked for" in text}
    assert not guilty, f"{guilty} read test episodes"
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert logs.keys() >= {"heuristics_tune", "teacher_train_0", "teacher_choose", "decisions_log"}
    assert {"students_fit_rule_list", "students_pareto_fit_rule_list_2"} <= logs.keys() and not logs.keys() & READERS
