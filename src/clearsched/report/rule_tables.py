"""The rules of every policy that can be read, on the page; and what their features mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from clearsched.decisions.schema import log_features
from clearsched.figures.style import Subject
from clearsched.report.markup import NOTHING, dot, tag, wide

Entry = Mapping[str, Any]


def rules_section(rules: Sequence[Entry], subject: Subject, bench: str) -> str:
    """Each policy's rules with their worth, then the glossary.

    Args:
        rules: as `report.rules.rules_of` gives them.
        subject: how policies are shown.
        bench: what the validation episodes are.
    """
    if not rules:
        return tag("p", "No policy of this run can be read: students.names is empty.")
    told = (
        "Fires: share of the candidates for which a rule speaks, in the held-out decisions of the log. Answers: of the "
        "decisions with two answers or more, those whose answer it gave. Changes: those with another answer without "
        f"it. Cost without: by how much the objective is worse when the policy schedules {escape(bench)} without it, "
        "paired, with the interval; below 0 it is better off without."
    )
    first = tag("p", told, _class="lead")
    return first + "".join(_policy(entry, subject, place == 0) for place, entry in enumerate(_students_first(rules)))


def _students_first(rules: Sequence[Entry]) -> list[Entry]:
    return sorted(rules, key=lambda entry: entry["kind"] != "student")


def _policy(entry: Entry, subject: Subject, opened: bool) -> str:
    shown = subject.shown(entry["policy"], entry["kind"])
    facts = f"{entry['kind']}, {entry['complexity']:,} conditions and numbers to read"
    summary = tag(
        "summary",
        dot(entry["kind"], shown.look.colour),
        tag("strong", escape(shown.label)),
        " ",
        tag("small", escape(facts)),
    )
    parts = [_choice(choice) for choice in entry["choices"]]
    if not entry["costs"]:
        parts.insert(0, tag("p", "It has so many pieces that it was not run without each of them: no costs."))
    if entry["patches"]:
        parts.append(tag("pre", escape("\n".join(entry["patches"])), tabindex=0))
    if entry["guard"]:
        parts.append(tag("p", escape(entry["guard"])))
    opens = {"open": ""} if opened else {}
    return tag("details", summary, *parts, _class="policy", **opens)


def _choice(choice: Entry) -> str:
    parts = [tag("h4", escape(choice["name"].replace("_", " ").capitalize())), tag("p", escape(choice["heading"]))]
    if choice["body"]:
        parts.append(tag("pre", escape("\n".join(choice["body"])), tabindex=0))
    if choice["pieces"]:
        parts.append(_pieces(choice))
    return "".join(parts)


def _pieces(choice: Entry) -> str:
    pieces = choice["pieces"]
    costs = [piece["cost"] for piece in pieces if piece["cost"] is not None]
    most = max((abs(cost[0]) for cost in costs), default=0.0)
    head = ["Piece", "Fires", "Answers", "Changes", *(["Cost without (%)"] if costs else [])]
    rows = []
    for piece in pieces:
        text = tag("span", _breakable(piece["text"]), _class="rule") if piece["text"] else ""
        cells = [tag("th", tag("span", escape(piece["piece"]), _class="piece"), text, scope="row")]
        cells += [tag("td", _share(piece[name]), _class="number") for name in ("fires", "answers", "changes")]
        if costs:
            cells.append(tag("td", _cost(piece["cost"], most), _class="number"))
        rows.append(tag("tr", *cells))
    caption = f"Pieces that answer the choice {choice['name']}, and their worth"
    parts = [
        tag("caption", escape(caption)),
        tag("thead", tag("tr", *(tag("th", escape(name), scope="col") for name in head))),
        tag("tbody", *rows),
    ]
    whole = tag("table", *parts, _class="pieces")
    return wide(whole, caption)


def _breakable(text: str) -> str:
    """A rule: names in a face of their own width, so that they are known as names."""
    return escape(text).replace(" and ", " <wbr><b>and</b> ").replace("-&gt;", "<b>→</b>")


def _share(value: float | None) -> str:
    if value is None:
        return NOTHING
    bar = tag("span", "", _class="bar", style=f"--share:{value:.4f}", aria_hidden="true")
    return f"{bar}{100 * value:.1f} %"


def _cost(cost: Sequence[float | None] | None, most: float) -> str:
    mean, low, high = cost or (None, None, None)
    if mean is None:
        return NOTHING
    word = "better" if high is not None and high < 0 else "worse" if low is not None and low > 0 else "unsure"
    share = abs(mean) / most if most else 0.0
    bar = tag("span", "", _class=f"bar {word}", style=f"--share:{share:.4f}", aria_hidden="true")
    ends = tag("small", f"{low:+.2f} to {high:+.2f}") if low is not None and high is not None else ""
    return f"{bar}{mean:+.2f}{ends}"


def glossary(rules: Sequence[Entry], subject: Subject) -> str:
    """What features mean, with units: those that the rules ask for, then all others."""
    used = {name for entry in rules for name in entry["used"]}
    features = log_features(subject.problem)
    parts = []
    for title, names in (
        ("Features that these policies ask for", [f for f in features if f.name in used]),
        ("All other features", [f for f in features if f.name not in used]),
    ):
        rows = [
            tag(
                "tr",
                tag("th", tag("code", escape(f.name)), scope="row"),
                tag("td", escape(f.unit)),
                tag("td", escape(f.meaning)),
            )
            for f in names
        ]
        head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in ("Name", "Unit", "Meaning"))))
        drawn = tag("table", tag("caption", title), head, tag("tbody", *rows), _class="glossary")
        if rows:
            parts.append(tag("details", tag("summary", f"{title} ({len(rows)})"), wide(drawn, title)))
    return "".join(parts)
