"""The rule list drawn as a picture: one row a rule, read from the top, with what it gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.files import read_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT_PT = 8.5
LINE_IN = 0.165
MARGIN_IN = 0.15
NUMBER_IN = 0.3
CONDITION_IN = 4.75
GAP_IN = 0.35
STAGE_TINT, LIMIT_TINT = "#E5F4EF", "#E6F1F8"  # 10 % of the palette's green and blue


@dataclass(frozen=True)
class Row:
    """One rule: its condition (empty for "otherwise"), what it gives in words, that as a share 0..1 for the bar."""

    condition: str
    result: str
    bar: float


def draw(results_dir: Path) -> style.Drawing:
    """Read `students/rule_list.json` (`rules` and `limit_rules`) and draw the two lists below each other."""
    path = results_dir / "students" / "rule_list.json"
    policy = read_json(path)
    stage_rows, limit_rows = stage_rules(policy, path), limit_rules(policy, path)
    units = policy.get("units", {})
    blocks = [
        (
            "Which stage? A candidate gets the score of the first row that fits; the highest score is chosen.",
            stage_rows,
        ),
        ("How many executors may its job hold? The first row that fits the chosen stage.", limit_rows),
    ]
    wrapped = [
        [_wrap(_sentence(row, place, units), CONDITION_IN) for place, row in enumerate(rows)] for _, rows in blocks
    ]
    heights = [0.42 + sum(_row_height(lines) for lines in block) + 0.12 for block in wrapped]
    height = 2 * MARGIN_IN + sum(heights)
    figure = style.new_figure(height_in=height)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.0, style.WIDTH_IN), ylim=(height, 0.0))  # inches, from the top
    axes.set_axis_off()
    top = MARGIN_IN
    for (title, rows), lines, block, colours in zip(
        blocks, wrapped, heights, ((style.GREEN, STAGE_TINT), (style.BLUE, LIMIT_TINT)), strict=True
    ):
        _draw_block(axes, title, rows, lines, top, colours)
        top += block
    csv_rows = [
        [choice, place + 1, row.condition, row.bar if choice == "limit" else row.result]
        for choice, rows in (("stage", stage_rows), ("limit", limit_rows))
        for place, row in enumerate(rows)
    ]
    return style.Drawing(figure, ["choice", "rule", "if", "then"], csv_rows)


def stage_rules(policy: Any, where: Path) -> list[Row]:
    """The rows of `rules`: each an object with `if`, `score` and `share` (of the candidates that end at it)."""
    rules = _rule_objects(policy, "rules", ("if", "score"), where)
    scores = [float(rule["score"]) for rule in rules]
    low, high = min(scores), max(scores)
    return [
        Row(str(rule["if"]), f"score {score:.2f}", (score - low) / (high - low) if high > low else 1.0)
        for rule, score in zip(rules, scores, strict=True)
    ]


def limit_rules(policy: Any, where: Path) -> list[Row]:
    """The rows of `limit_rules`: each an object with `if` and `limit_share` (of the executors)."""
    rules = _rule_objects(policy, "limit_rules", ("if", "limit_share"), where)
    shares = [float(rule["limit_share"]) for rule in rules]
    return [
        Row(str(rule["if"]), f"{100 * share:.0f} % of executors", min(max(share, 0.0), 1.0))
        for rule, share in zip(rules, shares, strict=True)
    ]


def _rule_objects(policy: Any, key: str, needed: Sequence[str], where: Path) -> list[dict[str, Any]]:
    rules = policy.get(key) if isinstance(policy, dict) else None
    if not isinstance(rules, list) or not rules:
        raise ClearschedError(f"{where}: no list of rules under {key!r}; fit the students again")
    for place, rule in enumerate(rules):
        missing = [name for name in needed if not isinstance(rule, dict) or name not in rule]
        if missing:
            raise ClearschedError(f"{where}: {key}[{place}]: no {missing[0]!r}; fit the students again")
    return rules


def _sentence(row: Row, place: int, units: Mapping[str, str]) -> str:
    """The condition in words, each number with the unit of its feature."""
    text = re.sub(r"(\w+) (<=|>=|<|>) (\S+)", lambda m: f"{m[0]} {units.get(m[1], '')}".rstrip(), row.condition.strip())
    if not text or text.lower() in ("else", "otherwise", "true"):
        return "otherwise"
    return f"if {text}" if place == 0 else f"else if {text}"


def _row_height(lines: Sequence[str]) -> float:
    return 0.14 + LINE_IN * len(lines)


def _wrap(text: str, width_in: float) -> list[str]:
    """Break `text` at spaces into lines of at most `width_in` inches, measured in the font it is drawn with."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=style.RC["font.family"], size=FONT_PT)

    def width(line: str) -> float:
        return text_to_path.get_text_width_height_descent(line, font, ismath=False)[0] / 72.0

    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width(longer) > width_in:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _draw_block(
    axes: Axes, title: str, rows: list[Row], lines: list[list[str]], top: float, colours: tuple[str, str]
) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    strong, tint = colours
    left = MARGIN_IN + NUMBER_IN
    result_left = left + CONDITION_IN + 0.2 + GAP_IN
    result_width = style.WIDTH_IN - MARGIN_IN - result_left
    text: dict[str, Any] = {"fontsize": FONT_PT, "va": "center", "parse_math": False}
    axes.text(MARGIN_IN, top + 0.14, title, fontweight="bold", **text)
    top += 0.36
    for place, (row, its_lines) in enumerate(zip(rows, lines, strict=True)):
        height = _row_height(its_lines)
        middle = top + height / 2
        box: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=0.05", "linewidth": 0.8}
        axes.text(left - 0.1, middle, str(place + 1), ha="right", color="#555555", **text)
        axes.add_patch(FancyBboxPatch((left, top + 0.03), CONDITION_IN + 0.2, height - 0.06, fc=tint, ec=strong, **box))
        for number, line in enumerate(its_lines):
            axes.text(left + 0.1, middle + (number - (len(its_lines) - 1) / 2) * LINE_IN, line, **text)
        axes.annotate(
            "",
            (result_left - 0.03, middle),
            (result_left - GAP_IN + 0.03, middle),
            arrowprops={"arrowstyle": "-|>", "color": strong, "shrinkA": 0, "shrinkB": 0, "linewidth": 1.0},
        )
        half = min(height - 0.06, LINE_IN + 0.08) / 2
        axes.add_patch(Rectangle((result_left, middle - half), result_width, 2 * half, fc="#F4F4F4", ec="none"))
        if row.bar > 0:
            axes.add_patch(
                Rectangle(
                    (result_left, middle - half), result_width * row.bar, 2 * half, fc=strong, alpha=0.35, ec="none"
                )
            )
        axes.text(result_left + 0.1, middle, row.result, **text)
        top += height
