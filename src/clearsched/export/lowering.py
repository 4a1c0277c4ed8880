"""From a scored policy to a `Program`: each kind of scorer in its own words, with the numbers that its loop runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from clearsched.compiled.cap_terms import CapTerms
from clearsched.compiled.formulae import CONSTANT
from clearsched.compiled.steps import NO_COLUMN, Steps
from clearsched.compiled.trees import LEAF
from clearsched.errors import ClearschedError
from clearsched.export.program import (
    FIRST,
    IDLE,
    LAST,
    Amount,
    Bound,
    Cap,
    Case,
    Cases,
    Entry,
    Gauged,
    Guarding,
    Least,
    Node,
    Order,
    Part,
    Points,
    Product,
    Program,
    Switched,
    Test,
    Tree,
    Trees,
    Value,
    Way,
)
from clearsched.problems.declarations import Choice
from clearsched.problems.problem import Problem
from clearsched.scorers import words
from clearsched.scorers.cap_terms import LeastTerm
from clearsched.scorers.conditions import OTHERWISE, Condition
from clearsched.scorers.formula import WeightedSum
from clearsched.scorers.guard import Guard
from clearsched.scorers.patch_words import condition_in_words, effect_in_words, render_patches
from clearsched.scorers.patches import AVOID, KEEP_LOCAL, PREFER, STAY_IDLE, Patch, conditions_of
from clearsched.scorers.points import PointSum
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.scorers.scorer import Facts, Scorer
from clearsched.scorers.steps import StepList
from clearsched.scorers.switch import Switch
from clearsched.scorers.text import facts_of
from clearsched.scorers.ties import APART, tie_weights
from clearsched.scorers.trees import TreeSum

NUMBERED = re.compile(r" *(\d+)\. ")
"""How a printed clause begins."""

DEEPEST = 64
"""Questions on a path of a tree; Python takes 100 levels of indentation."""

ACTIONS = {PREFER: FIRST, KEEP_LOCAL: FIRST, AVOID: LAST, STAY_IDLE: IDLE}


def guard_refused(where: object, label: str) -> ClearschedError:
    """That a policy's file `where` has a guard, which the format of that label does not hold."""
    return ClearschedError(
        f"{where}: its guard watches the cluster and calls a heuristic, which {label} does not hold: take out the key "
        "`guard`, and guard what is exported where it runs"
    )


def program_of(policy: ScoredPolicy) -> Program:
    """The program of a policy.

    Raises:
        ClearschedError: it has a scorer that is not for reading.
    """
    facts, choices = facts_of(policy), policy.problem.choices
    rank, level = policy.rank, policy.level
    orders = [patch for patch in policy.patches if patch.cap is None]
    bounds = [patch for patch in policy.patches if patch.cap is not None]
    above = _until_blank(render_patches(policy.patches, choices, facts)) if policy.patches else ()
    parts = [_part_of(policy, choice, facts) for choice in choices]
    scored = dict(zip((choice.name for choice in choices), parts, strict=True))
    asked = {name for choice in choices for name in policy.scorers[choice.name].used} | {
        choice.features[c.feature].name
        for choice, patches in ((rank, orders), (level, bounds))
        if choice is not None
        for patch in patches
        for c in conditions_of(patch, choice)
    }
    columns = {feature.name: feature for choice in choices for feature in choice.features}
    most = policy.evidence.get("most", 0)
    return Program(
        title=f"{policy.kind.capitalize()} {policy.name} of {policy.problem.label}",
        question=rank.question,
        features=tuple(feature for name, feature in columns.items() if name in asked),
        rank=scored[rank.name],
        none=policy.none,
        may_idle=policy.may_idle,
        idle=policy.idles,
        orders=tuple(
            Order(_told(n, p, choices, facts), _patch_tests(p, rank), ACTIONS[p.do])
            for n, p in _numbered(policy, orders)
        ),
        ordered=above,
        level=scored[level.name] if level else None,
        up=policy.rounds_up,
        bounds=tuple(
            Bound(_told(n, p, choices, facts), _patch_tests(p, level), float(p.cap or 0.0))
            for n, p in _numbered(policy, bounds)
            if level
        ),
        most=int(most) if most == int(most) else 0,
        unit=level.unit if level else "",
        names=(rank.name, level.name if level else ""),
        guard=_guarding(policy.guard, policy.problem) if policy.guard else None,
    )


def _guarding(guard: Guard, problem: Problem) -> Guarding:
    gauges = (
        Gauged(gauge.name, f"{gauge.meaning} [{gauge.unit}]" if gauge.unit else gauge.meaning, *guard.when[gauge.name])
        for gauge in problem.gauges
        if gauge.name in guard.when
    )
    told = guard.sentence(problem)
    return Guarding(told[0].upper() + told[1:], tuple(gauges))


def _numbered(policy: ScoredPolicy, own: Sequence[Patch]) -> list[tuple[int, Patch]]:
    """The patches of a choice with the numbers under which they are printed."""
    return [(number, patch) for number, patch in enumerate(policy.patches, 1) if any(patch is each for each in own)]


def _told(number: int, patch: Patch, choices: Sequence[Choice], facts: Facts) -> tuple[str, ...]:
    """A patch as it is printed."""
    choice = next(c for c in choices if c.form == ("rank" if patch.cap is None else "level"))
    told = f"{condition_in_words(patch, choice)}  ->  {effect_in_words(patch, choices, facts)}"
    because = (f"     because {patch.because}",) if patch.because else ()
    return (f"patch {number}. {told}", *because)


def _patch_tests(patch: Patch, choice: Choice) -> tuple[Test, ...]:
    return _tests(conditions_of(patch, choice), names_of(choice))


def _part_of(policy: ScoredPolicy, choice: Choice, facts: Facts) -> Part:
    scorer = policy.scorers[choice.name]
    where = f"{policy.where}: {choice.name}"
    return part_of(scorer, choice, facts, where)


@singledispatch
def part_of(scorer: Scorer, choice: Choice, facts: Facts, where: str) -> Part:
    """A scorer as a part of a program.

    Raises:
        ClearschedError: it is of a kind that is not for reading.
    """
    kind = type(scorer).__name__
    raise ClearschedError(
        f"{where}: a scorer of this kind ({kind}) is not made of rules, trees, points, terms or weights: it cannot be "
        "exported; fit a student of another kind"
    )


@part_of.register
def _(scorer: RuleList, choice: Choice, facts: Facts, where: str) -> Part:
    heading, printed = _printed(scorer, choice, facts)
    steps = scorer.pack(scorer.names).steps if scorer.ties else None
    cases = []
    for place, rule in enumerate(scorer.rules):
        plus = tuple(Amount(name, weight) for name, weight in tie_weights(scorer.ties))
        value = Value(float(rule.value)) if steps is None else Value(float(steps.value[place]), plus)
        cases.append(Case(f"rule {place + 1}", printed[place], _tests(rule.conditions, scorer.names), value))
    return Cases(heading, tuple(cases))


@part_of.register
def _(scorer: StepList, choice: Choice, facts: Facts, where: str) -> Part:
    heading, printed = _printed(scorer, choice, facts)
    names = names_of(choice)
    steps: Steps = scorer.pack(names, where).steps
    cases = []
    for place, step in enumerate(scorer.steps):
        terms = tuple(
            _product(steps.caps, t, names) for t in range(steps.first_term[place], steps.first_term[place + 1])
        )
        weights = range(steps.first_weight[place], steps.first_weight[place + 1])
        plus = tuple(Amount(names[steps.column[w]], float(steps.weight[w])) for w in weights)
        value = Value(terms if steps.by_cap[place] else float(steps.value[place]), plus)
        cap = Cap(names[steps.of[place]], terms) if steps.of[place] != NO_COLUMN else None
        cases.append(Case(f"step {place + 1}", printed[place], _tests(step.conditions, scorer.names), value, cap))
    return Cases(heading, tuple(cases))


@part_of.register
def _(scorer: PointSum, choice: Choice, facts: Facts, where: str) -> Part:
    lines = scorer.render(choice, facts)
    heading = _until_blank(lines)
    times, order = 1.0, None
    if scorer.ties:  # sums lie far apart, and ties decide between equal ones
        times = APART
        order = Value(-APART / 2, tuple(Amount(name, weight) for name, weight in tie_weights(scorer.ties)))
    entries = tuple(
        Entry((told.strip(),), _tests(entry.conditions, scorer.names), times * entry.value)
        for entry, told in zip(scorer.points, lines[len(heading) + 1 :], strict=True)
    )
    return Points(heading, "points", entries, order)


@part_of.register
def _(scorer: TreeSum, choice: Choice, facts: Facts, where: str) -> Part:
    heading = _until_blank(scorer.render(choice, facts))
    return Trees(heading, "trees", tuple(_tree(tree, 0, scorer.names, where) for tree in scorer.trees))


@part_of.register
def _(scorer: LeastTerm, choice: Choice, facts: Facts, where: str) -> Part:
    lines = scorer.render(choice, facts)
    heading, caps = _until_blank(lines), scorer.pack(names_of(choice), where).caps
    terms = tuple(_product(caps, t, names_of(choice)) for t in range(len(scorer.terms)))
    texts = tuple(line.strip() for line in lines[len(heading) + 1 :])
    return Least(heading, tuple(f"term {place + 1}" for place in range(len(terms))), texts, terms)


@part_of.register
def _(scorer: WeightedSum, choice: Choice, facts: Facts, where: str) -> Part:
    heading = _until_blank(scorer.render(choice, facts))
    plus = [Amount(name, float(weight)) for name, weight in scorer.weights.items() if name != CONSTANT]
    plus += [Amount(name, float(term["weight"]), float(term["scale"])) for name, term in scorer.log_weights.items()]
    value = Value(float(scorer.weights.get(CONSTANT, 0.0)), tuple(plus))
    return Cases(heading, (Case("formula", (), (), value),))


@part_of.register
def _(scorer: Switch, choice: Choice, facts: Facts, where: str) -> Part:
    unit, ways = words.units(choice), []
    for place, case in enumerate(scorer.cases):
        told, test = OTHERWISE, None
        if case.condition is not None:
            told = ("else if " if place else "if ") + words.phrase(case.condition, scorer.names, unit)
            (test,) = _tests((case.condition,), scorer.names)
        part = part_of(case.scorer, choice, facts, f"{where}.switch[{place}].use")
        ways.append(Way((f"case {place + 1}. {told}:",), test, part))
    return Switched(_until_blank(scorer.render(choice, facts)), tuple(ways))


def _tests(conditions: Sequence[Condition], names: Sequence[str]) -> tuple[Test, ...]:
    return tuple(Test(names[c.feature], c.below, float(np.float32(c.threshold))) for c in conditions)


def _product(caps: CapTerms, place: int, names: Sequence[str]) -> Product:
    """A term of a cap."""
    factors = range(caps.start[place], caps.start[place + 1])
    powers = tuple((names[caps.feature[f]], float(caps.power[f])) for f in factors)
    return Product(float(caps.coefficient[place]), powers)


def _tree(tree: dict[str, Any], node: int, names: Sequence[str], where: str, depth: int = 0) -> Tree:
    """The tree below a node.

    Raises:
        ClearschedError: a path is so long that no language takes code nested so deeply.
    """
    if tree["feature"][node] == LEAF:
        return float(tree["value"][node])
    if depth == DEEPEST:
        raise ClearschedError(f"{where}: a tree asks more than {DEEPEST} questions on a path: too deep for code")
    test = Test(names[tree["feature"][node]], True, float(np.float32(tree["threshold"][node])))
    low, high = (_tree(tree, tree[way][node], names, where, depth + 1) for way in ("left", "right"))
    return Node(test, low, high)


def _until_blank(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines before the first empty one: the question and how it is answered."""
    return tuple(lines[: lines.index("")] if "" in lines else lines)


def _printed(scorer: Scorer, choice: Choice, facts: Facts) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The heading of a scorer's text, and the lines of each of its numbered clauses.

    The line that tells where "none of these" stands has no number: it is told with the clause after it.
    """
    lines = scorer.render(choice, facts)
    heading = _until_blank(lines)
    found: list[list[str]] = []
    waiting: list[str] = []
    for line in lines[len(heading) + 1 :]:
        if NUMBERED.match(line):
            found.append([*waiting, line.strip()])
            waiting = []
        elif line.startswith("     below here"):
            waiting.append(line.strip())
        else:
            found[-1].append(f"   {line.strip()}")
    return heading, [tuple(block) for block in found]
