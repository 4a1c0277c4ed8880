"""Rule lists drawn as pictures: one row a rule, read from the top, with what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearsched import students
from clearsched.errors import ClearschedError
from clearsched.figures import style
from clearsched.problems.declarations import Choice
from clearsched.scorers.cap_terms import level_in_words
from clearsched.scorers.conditions import Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT_PT = 8.5
LINE_IN = 0.165
MARGIN_IN = 0.15
NUMBER_IN = 0.3
CONDITION_IN = 4.75
GAP_IN = 0.35
NOTE_IN = 0.25
COLOURS = {"rank": (style.GREEN, "#E5F4EF"), "level": (style.BLUE, "#E6F1F8")}
"""Of a bar, and of the boxes: 10 % of it."""


@dataclass(frozen=True)
class Row:
    """One rule: its conditions, as text and as a sentence; what it gives, in words, as a bar of 0..1, in the CSV."""

    condition: str
    sentence: str
    result: str
    bar: float
    value: float | str


@dataclass(frozen=True)
class Block:
    """The rules of one student for one choice, and what stands below them."""

    student: str
    choice: Choice
    title: str
    rows: tuple[Row, ...]
    note: str = ""


def draw(results_dir: Path, subject: style.Subject) -> style.Drawing:
    """Read `students/*.json` and draw the rules of every student whose rank choice is answered by rules.

    Raises:
        ClearschedError: there is no student, or the file of one is broken.
        NothingToDraw: no student has rules.
    """
    folder = results_dir / "students"
    order = {name: place for place, name in enumerate(subject.policies)}
    paths = sorted(folder.glob("*.json"), key=lambda path: (order.get(path.stem, len(order)), path.stem))
    if not paths:
        raise ClearschedError(f"{folder}: no such file as a student's .json; fit the students first")
    blocks = [block for path in paths for block in blocks_of(students.load_policy(path), subject)]
    if not blocks:
        names = ", ".join(subject.shown(path.stem).label for path in paths)
        raise style.NothingToDraw(f"No student decides by a list of rules. There are: {names}.")
    figure = _draw(blocks, several=len({block.student for block in blocks}) > 1)
    rows = [
        [block.student, block.choice.name, place + 1, row.condition, row.value]
        for block in blocks
        for place, row in enumerate(block.rows)
    ]
    return style.Drawing(figure, ["student", "choice", "rule", "if", "then"], rows)


def blocks_of(student: Any, subject: style.Subject) -> Iterator[Block]:
    """The choices that a student answers by rules; none where its rank choice is answered by something else."""
    rank = subject.problem.choices[0]
    if not hasattr(student.scorers[rank.name], "rules"):
        return
    name = subject.shown(student.name, "student").label
    for choice in subject.problem.choices:
        scorer = student.scorers[choice.name]
        if choice.form == "level" and hasattr(scorer, "steps"):
            title = f"{choice.question} The first row that fits the chosen candidate, rounded up."
            yield Block(name, choice, title, tuple(cap_rows(choice, scorer, student.evidence)))
            continue
        if not hasattr(scorer, "rules"):
            continue
        if choice.form == "rank":
            how = (
                f"A candidate gets the score of the first row that fits; the highest is chosen, {scorer.among_equals}."
            )
            idles = student.idles if student.none else ""
            rows = tuple(rank_rows(choice, scorer, bool(idles)))
            note = f"Where no candidate scores above 0: {idles}."
            some = idles and any(rule.value <= 0 for rule in scorer.rules)
            notes = [note] * bool(some) + [patches_told(len(student.patches))] * bool(student.patches)
            yield Block(name, choice, f"{choice.question} {how}", rows, " ".join(notes))
        else:
            title = f"{choice.question} The first row that fits the chosen candidate."
            yield Block(name, choice, title, tuple(level_rows(choice, scorer)))


def patches_told(count: int) -> str:
    """A sentence on the patches of a person, which the figure does not draw."""
    return f"On top {'lies 1 patch' if count == 1 else f'lie {count} patches'} of a person: see the student's text."


def rank_rows(choice: Choice, scorer: Any, idles: bool) -> Iterator[Row]:
    """The rules of a rank choice, by their scores; `idles`: "none of these" is an answer, with the score 0."""
    scores = [float(rule.value) for rule in scorer.rules]
    low, high = min(scores), max(scores)
    for place, (rule, score) in enumerate(zip(scorer.rules, scores, strict=True)):
        bar = (score - low) / (high - low) if high > low else 1.0
        result = f"score {score:.2f}" + (": not chosen" if idles and score <= 0 else "")
        yield Row(rule.text(scorer.names), sentence(choice, scorer, rule, place), result, bar, score)


def level_rows(choice: Choice, scorer: Any) -> Iterator[Row]:
    """The rules of a level choice, by the share of the most that they give."""
    for place, rule in enumerate(scorer.rules):
        share = min(max(float(rule.value), 0.0), 1.0)
        result = f"{100 * float(rule.value):.0f} % of {choice.unit}"
        yield Row(rule.text(scorer.names), sentence(choice, scorer, rule, place), result, share, float(rule.value))


def cap_rows(choice: Choice, scorer: Any, facts: Any) -> Iterator[Row]:
    """The caps of a level choice, each told beside its case."""
    for place, step in enumerate(scorer.steps):
        terms = " and ".join(level_in_words(term, choice, facts, up=True) for term in step.below)
        case = sentence(choice, scorer, step, place)
        result = "the least of these" if len(step.below) > 1 else f"so many {choice.unit}"
        yield Row(Rule(step.conditions, 0.0).text(scorer.names), f"{case}: {terms}", result, 0.0, terms)


def sentence(choice: Choice, scorer: Any, rule: Any, place: int) -> str:
    """A rule's conditions in words, each number with the unit of its feature."""
    units = {feature.name: feature.unit for feature in choice.features}
    texts = [
        f"{condition.text(scorer.names)} {units.get(scorer.names[condition.feature], '')}".rstrip()
        for condition in rule.conditions
    ]
    if not texts:
        return "otherwise"
    return f"{'if' if place == 0 else 'else if'} {' and '.join(texts)}"


def _draw(blocks: Sequence[Block], several: bool) -> Any:
    """The figure; `several`: each title tells its student."""
    width = style.WIDTH_IN - 2 * MARGIN_IN
    titles = [_wrap(f"{_sentence_case(b.student)}. {b.title}" if several else b.title, width, "bold") for b in blocks]
    wrapped = [[_wrap(row.sentence, CONDITION_IN) for row in block.rows] for block in blocks]
    heights = [
        0.29 + LINE_IN * len(title) + sum(map(_row_height, lines)) + (NOTE_IN if block.note else 0.0)
        for title, block, lines in zip(titles, blocks, wrapped, strict=True)
    ]
    height = 2 * MARGIN_IN + sum(heights)
    figure = style.new_figure(height_in=height)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.0, style.WIDTH_IN), ylim=(height, 0.0))  # inches, from the top
    axes.set_axis_off()
    top = MARGIN_IN
    for title, block, lines, block_height in zip(titles, blocks, wrapped, heights, strict=True):
        _draw_block(axes, title, block, lines, top)
        top += block_height
    return figure


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _row_height(lines: Sequence[str]) -> float:
    return 0.14 + LINE_IN * len(lines)


def _wrap(text: str, width_in: float, weight: str = "normal") -> list[str]:
    """Break `text` at spaces into lines of at most `width_in` inches, measured in the font it is drawn with."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=style.RC["font.family"], size=FONT_PT, weight=weight)

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


def _draw_block(axes: Axes, title: list[str], block: Block, lines: list[list[str]], top: float) -> None:
    from matplotlib.patches import FancyBboxPatch, Rectangle

    strong, tint = COLOURS[block.choice.form]
    left = MARGIN_IN + NUMBER_IN
    result_left = left + CONDITION_IN + 0.2 + GAP_IN
    result_width = style.WIDTH_IN - MARGIN_IN - result_left
    text: dict[str, Any] = {"fontsize": FONT_PT, "va": "center", "parse_math": False}
    for line in title:
        axes.text(MARGIN_IN, top + 0.14, line, fontweight="bold", **text)
        top += LINE_IN
    top += 0.195
    for place, (row, its_lines) in enumerate(zip(block.rows, lines, strict=True)):
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
    if block.note:
        axes.text(left, top + NOTE_IN / 2, block.note, fontstyle="italic", **text)
