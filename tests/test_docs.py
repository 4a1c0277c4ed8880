"""Pages that list what is registered list all of it, in the registry's words."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from clearsched.errors import ClearschedError
from clearsched.figures import figures_of
from clearsched.heuristics import docs_table
from clearsched.paper.judging import docs_table as docs_table_of_claims
from clearsched.paper.judging import read_claims
from clearsched.paper.material import HEADER
from clearsched.paper.published import CLAIMS
from clearsched.problems import PROBLEMS, find_problem
from clearsched.scorers.policy import load_policy
from clearsched.scorers.text import render
from clearsched.search.families import families_of
from clearsched.students.kinds import STUDENTS

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tools"))

import measured_claims  # noqa: E402

PAGE_OF = {"dag_jobs": "heuristics", "deferrable_jobs": "deferrable-jobs"}
"""Where the heuristics of a problem are listed."""


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_table_of_heuristics_is_that_of_the_registry(problem: str) -> None:
    """After a change: `python -c "from clearsched.problems import find_problem; from clearsched.heuristics import
    docs_table; print(docs_table(find_problem('dag_jobs')))"`."""
    assert docs_table(find_problem(problem)) in page(PAGE_OF[problem])


def test_the_measured_claims_are_those_of_the_kept_run(tmp_path: Path) -> None:
    """After a change: `python tools/measured_claims.py`, with results/paper/claims.csv of another run to keep it."""
    kept = ROOT / "docs" / measured_claims.KEPT
    assert docs_table_of_claims(kept) in page("paper")
    shutil.copy(ROOT / "docs/paper.md", tmp_path / "paper.md")
    other = tmp_path / "claims.csv"
    other.write_text(kept.read_text("utf-8").replace(",not reached,", ",exceeded,"), "utf-8")
    measured_claims.renew(tmp_path, other)
    made = (tmp_path / "paper.md").read_text("utf-8")
    assert made != page("paper") and docs_table_of_claims(other) in made and "| not reached |" not in made
    measured_claims.renew(tmp_path, kept)
    assert (tmp_path / "paper.md").read_text("utf-8") == page("paper"), "nothing beside the table"


def test_a_run_of_some_figures_changes_their_claims_alone(tmp_path: Path) -> None:
    kept = tmp_path / "claims.csv"
    shutil.copy(ROOT / "docs" / measured_claims.KEPT, kept)
    before = {row["claim"]: row for row in read_claims(kept)}
    told = {"panel": "difference_percent", "policy": "teacher", "kind": "teacher", "x": "weighted_fair"}
    told |= {"value": "-22.0", "low": "-23.0", "high": "-21.5", "seeds": ""}
    cells = [told.get(name, "") for name in HEADER]
    (tmp_path / "decima_batch.csv").write_text(f"{','.join(HEADER)}\n{','.join(cells)}\n", "utf-8")
    (tmp_path / "decima_batch.txt").write_text("What it shows.\n\nbatch: 9 test episodes.\nScale paper.\n", "utf-8")
    measured_claims.judge_again(kept, ["decima_batch"], tmp_path)
    after = {row["claim"]: row for row in read_claims(kept)}
    own = {claim.label for claim in CLAIMS.values() if claim.figure == "decima_batch"}
    assert len(own) == 3 and {name for name in before if before[name] != after[name]} == own
    network = after["learned policy to tuned weighted fair, batches"]
    assert (network["ours"], network["verdict"], network["our_setting"]) == (-22.0, "exceeded", "9 test episodes")
    with pytest.raises(ClearschedError, match="decima_bach"):
        measured_claims.judge_again(kept, ["decima_bach"], tmp_path)


def test_a_page_without_marks_is_left_alone() -> None:
    with pytest.raises(ClearschedError, match="lacks a mark"):
        measured_claims.with_table("No table here.", "| claim |")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_searched_family_has_a_row(problem: str) -> None:
    for family in families_of(find_problem(problem)):
        assert re.search(rf"^\| `{family}` \|", page("search"), re.MULTILINE), family


@pytest.mark.parametrize("kind", STUDENTS)
def test_every_kind_of_student_has_a_row(kind: str) -> None:
    assert re.search(rf"^\| `{kind}` \|", page("students"), re.MULTILINE)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_source_and_figure_is_told(problem: str) -> None:
    pages = "".join(path.read_text("utf-8") for path in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])
    for name in (*find_problem(problem).sources, *figures_of(find_problem(problem))):
        assert f"`{name}`" in pages, name


def test_the_rules_of_the_readme_are_those_of_the_example() -> None:
    """examples/rule_list.json, which docs/export.md and benchmarks/export.py take too."""
    printed = render(load_policy(ROOT / "examples/rule_list.json"))
    rules = printed.partition("=\n\n")[2].partition("\n\nWhat the features are")[0]
    assert rules in (ROOT / "README.md").read_text("utf-8")
