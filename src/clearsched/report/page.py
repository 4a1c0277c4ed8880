"""The page: one HTML file with all that it needs inside, so that it opens anywhere, without a server or a network."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from clearsched import __version__
from clearsched.errors import ClearschedError, in_a_line
from clearsched.figures import subject
from clearsched.figures.style import Subject
from clearsched.files import read_json, write_text
from clearsched.problems import find_problem
from clearsched.problems.declarations import Measure
from clearsched.problems.objectives import find_objective
from clearsched.report.comparing import comparison_section
from clearsched.report.markup import data_block, tag
from clearsched.report.pictures import compared_section, pictures_section
from clearsched.report.rule_tables import glossary, rules_section

ASSETS = Path(__file__).parent / "assets"
COLLECTED = "report/collected.json"
"""Below results/<scenario>: what `clearsched report collect` wrote."""

LARGEST = 10_000_000
"""Bytes of the page; a schedule that does not fit is left out, and the page says so."""

MODULES = (
    "dom.js",
    "theme.js",
    "tables.js",
    "data.js",
    "gantt.js",
    "reasons.js",
    "told.js",
    "panels.js",
    "explorer.js",
    "main.js",
)
"""In the order in which they follow each other: a module comes after those that it imports from."""

IMPORT = re.compile(r"^import [^;]+;\n", re.MULTILINE)

PARTS = ("Comparison", "Figures", "Rules", "Decisions")


class Scenario(NamedTuple):
    """What is known of a scenario."""

    name: str
    folder: Path
    subject: Subject
    objective: Measure
    collected: dict[str, Any]


def write_page(folders: Sequence[Path], out: Path) -> None:
    """See `clearsched.report.build`."""
    scenarios = [_read(folder) for folder in folders]
    write_text(out, page(scenarios))


def _read(folder: Path) -> Scenario:
    path = folder / COLLECTED
    if not path.is_file():
        raise ClearschedError(f"{path}: no such file: run `clearsched report collect` or snakemake")
    collected = read_json(path)
    if not isinstance(collected, dict) or not {"problem", "objective", "rules", "explorer"} <= set(collected):
        raise ClearschedError(f"{path}: not of this version: collect it again")
    problem = find_problem(collected["problem"])
    objective = find_objective(problem, collected["objective"], path)
    return Scenario(folder.name, folder, subject(problem), objective, collected)


def page(scenarios: Sequence[Scenario]) -> str:
    """The whole HTML."""
    bodies = [_scenario(scenario) for scenario in scenarios]
    if len(scenarios) > 1:
        together = compared_section(scenarios[0].folder.parent / "figures")
        bodies += [tag("section", tag("h2", "All scenarios"), together)] if together else []
    title = f"clearsched: {', '.join(scenario.name for scenario in scenarios)}"
    begin = _shell(title, scenarios)
    rest = len("".join([*begin, *bodies]).encode())
    return "".join([begin[0], *bodies, *_schedules(scenarios, LARGEST - rest), begin[1]])


def _shell(title: str, scenarios: Sequence[Scenario]) -> tuple[str, str]:
    """What comes before the scenarios, and after them."""
    style = (ASSETS / "page.css").read_text("utf-8")
    links = [
        tag(
            "li",
            tag("strong", escape(scenario.name)) if len(scenarios) > 1 else "",
            *(tag("a", part, href=f"#{_id(scenario.name, part)}") for part in PARTS),
        )
        for scenario in scenarios
    ]
    toggle = tag("button", "Theme: as the system", type="button", id="theme")
    header = tag(
        "header",
        tag("div", tag("h1", "Schedulers, compared and read"), toggle, _class="top"),
        tag("nav", tag("ul", *links), aria_label="Parts of the page"),
    )
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">To the results</a>\n'
        f'{header}\n<main id="main">\n'
    )
    foot = tag("footer", tag("p", f"Written by clearsched {escape(__version__)}. The same results give the same page."))
    noscript = tag("noscript", tag("p", "Sorting, filtering and the decision explorer need JavaScript."))
    return head, f'\n</main>\n{noscript}{foot}\n<script type="module">\n{bundle()}</script>\n</body>\n</html>\n'


def bundle() -> str:
    """The scripts as one: ES modules one after another without their imports, since a file has no module beside it."""
    texts = [(ASSETS / name).read_text("utf-8") for name in MODULES]
    return "".join(re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.MULTILINE) for text in texts)


def _scenario(scenario: Scenario) -> str:
    collected, folder = scenario.collected, scenario.folder
    setting = collected.get("setting", "the test episodes")
    rules = collected["rules"]
    tell: dict[str, Callable[[], str]] = {
        "Comparison": partial(comparison_section, folder, scenario.subject, scenario.objective, setting),
        "Figures": partial(pictures_section, folder / "figures", scenario.subject.problem),
        "Rules": lambda: (
            rules_section(rules, scenario.subject, collected.get("bench", "")) + glossary(rules, scenario.subject)
        ),
        "Decisions": partial(_explorer, scenario),
    }
    parts = [
        tag("section", tag("h3", part), or_say(part, tell[part]), id=_id(scenario.name, part), _class=part.lower())
        for part in PARTS
    ]
    heading = tag("h2", "Scenario ", tag("em", escape(scenario.name)), tag("small", escape(setting)))
    return tag("section", heading, *parts, _class="scenario")


def or_say(part: str, tell: Callable[[], str]) -> str:
    """A part of the page, or why it is not there: no page is worth the run that it belongs to.

    Raises:
        ClearschedError: a file that it is made of is missing or broken.
    """
    try:
        return tell()
    except ClearschedError:
        raise
    except Exception as error:
        why = f"Could not be told: {in_a_line(error)}"
        print(f"clearsched: page: {part}: {why}", file=sys.stderr)
        return tag("p", escape(why), _class="note")


def _explorer(scenario: Scenario) -> str:
    data = scenario.collected["explorer"]
    if "note" in data:
        return tag("p", escape(data["note"]), _class="note")
    policies = [
        {"name": name, "label": shown.label, "kind": shown.kind, "colour": shown.look.colour}
        for name in data["schedules"]
        for shown in [scenario.subject.shown(name, data["kinds"][name])]
    ]
    index = {key: value for key, value in data.items() if key != "schedules"}
    index |= {
        "policies": policies,
        "objective": {"short": scenario.objective.short, "unit": scenario.objective.unit},
        "baseline": scenario.subject.problem.baseline,
        "prefix": _id(scenario.name, "schedule"),
    }
    lead = (
        "One test episode under any two policies. Step through the decisions of the first one: at each of them what "
        "every policy answers, with the scores of all that score, the rule that spoke and why, and the smallest change "
        "that would flip the answer. Arrow keys step, Home and End go to the ends, D goes to the next decision that "
        "the two answer differently."
    )
    identifier = _id(scenario.name, "explorer")
    return (
        tag("p", lead, _class="lead")
        + data_block(f"{identifier}-data", index)
        + tag("div", tag("p", "The explorer needs JavaScript."), id=identifier, _class="explorer")
    )


def _schedules(scenarios: Sequence[Scenario], room: int) -> list[str]:
    """The schedules as data for scripts: the expert's, students' and searched ones first, as far as they fit."""
    kinds = ("teacher", "student", "searched", "heuristic")
    blocks: list[tuple[int, str]] = []
    for scenario in scenarios:
        data = scenario.collected["explorer"]
        for name, packed in data.get("schedules", {}).items():
            identifier = escape(f"{_id(scenario.name, 'schedule')}-{name}", quote=True)
            block = f'<script type="application/gzip-base64" id="{identifier}">{packed}</script>\n'
            blocks.append((kinds.index(data["kinds"][name]), block))
    fitting = []
    for _, block in sorted(blocks, key=lambda each: each[0]):
        if len(block) <= room:
            fitting.append(block)
            room -= len(block)
    return fitting


def _id(scenario: str, part: str) -> str:
    """Of an element; a scenario's name has letters, digits and marks that an id may have."""
    return f"{scenario}-{part.lower()}"
