"""Pages that list what is registered list all of it, in the registry's words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clearsched.figures import figures_of
from clearsched.heuristics import docs_table
from clearsched.problems import PROBLEMS, find_problem
from clearsched.scorers.policy import load_policy
from clearsched.scorers.text import render
from clearsched.search.families import families_of
from clearsched.students.kinds import STUDENTS

ROOT = Path(__file__).parents[1]
PAGE_OF = {"dag_jobs": "heuristics", "deferrable_jobs": "deferrable-jobs"}
"""Where the heuristics of a problem are listed."""


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text("utf-8")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_table_of_heuristics_is_that_of_the_registry(problem: str) -> None:
    """After a change: `python -c "from clearsched.problems import find_problem; from clearsched.heuristics import
    docs_table; print(docs_table(find_problem('dag_jobs')))"`."""
    assert docs_table(find_problem(problem)) in page(PAGE_OF[problem])


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
