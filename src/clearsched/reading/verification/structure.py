"""What in a scorer can never count: contradictions, dead rules, leaves that no row reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

from clearsched.compiled.trees import LEAF
from clearsched.reading.verification.box import Box, Region, TooManyCells, cells, whole_region, within
from clearsched.scorers.conditions import Condition, tighten
from clearsched.scorers.scorer import Clause, Scorer
from clearsched.scorers.trees import TreeSum


class Structure(NamedTuple):
    """What was found.

    Attributes:
        kind: what is counted (`Scorer.clause`): "rule", "step"; empty for trees and other scorers.
        contradictions: places whose conditions exclude each other, whatever a feature is.
        dead: places at which no row of the box arrives; None where there are too many regions to tell.
        leaves: of trees.
        unreachable: (tree, leaf) that no row of the box reaches.
    """

    kind: str = ""
    contradictions: tuple[int, ...] = ()
    dead: tuple[int, ...] | None = ()
    leaves: int = 0
    unreachable: tuple[tuple[int, int], ...] = ()


@singledispatch
def structure_of(scorer: Scorer, box: Box) -> Structure:
    """What in a scorer can never count; `box`: of the features in the order in which the scorer counts them.

    A clause with a cap may fit or not, so it keeps no row from those after it: what is found dead is dead, but a clause
    that is dead by the cap of an earlier one is not found.
    """
    clauses = scorer.clauses()
    contradictions = [place for place, clause in enumerate(clauses) if tighten(clause.conditions) is None]
    return Structure(scorer.clause, tuple(contradictions), _dead(clauses, box))


@structure_of.register(TreeSum)
def _of_trees(scorer: TreeSum, box: Box) -> Structure:
    found = [
        (place, leaf) for place, tree in enumerate(scorer.trees) for leaf in _unreachable(tree, box, whole_region(box))
    ]
    leaves = sum(feature == LEAF for tree in scorer.trees for feature in tree["feature"])
    return Structure(leaves=leaves, unreachable=tuple(found))


def _dead(clauses: Sequence[Clause], box: Box) -> tuple[int, ...] | None:
    found = []
    try:
        for place, clause in enumerate(clauses):
            before = [each.conditions for each in clauses[:place] if not each.capped]
            if not cells([*before, clause.conditions], box)[-1]:
                found.append(place)
    except TooManyCells:
        return None
    return tuple(found)


def _unreachable(tree: dict[str, Any], box: Box, region: Region, node: int = 0) -> Iterator[int]:
    """The leaves below a node that no row of a region reaches."""
    feature = tree["feature"][node]
    if feature == LEAF:
        return
    for below, child in ((True, tree["left"][node]), (False, tree["right"][node])):
        part = within(region, [Condition(feature, below, tree["threshold"][node])], box)
        if part is None:
            yield from _leaves(tree, child)
        else:
            yield from _unreachable(tree, box, part, child)


def _leaves(tree: dict[str, Any], node: int) -> Iterator[int]:
    if tree["feature"][node] == LEAF:
        yield node
        return
    for child in (tree["left"][node], tree["right"][node]):
        yield from _leaves(tree, child)


def told(found: Structure, fired: Sequence[bool] | None) -> list[str]:
    """What was found in lines; `fired`: whether each rule fired in the log, if there is one."""
    if found.leaves:
        return [_unreachable_line(found)]
    if not found.kind:
        return []
    names = f"{found.kind}s"
    lines = [f"contradictions: {_listed(found.kind, found.contradictions)}"]
    lines.append(
        f"dead {names}: " + ("not decided: too many regions" if found.dead is None else _listed(found.kind, found.dead))
    )
    if fired is not None:
        silent = [place for place, did in enumerate(fired) if not did]
        lines.append(f"{names} that never fired in the log: {_listed(found.kind, silent)}")
    return lines


def _unreachable_line(found: Structure) -> str:
    some = ", ".join(f"leaf {leaf} of tree {tree + 1}" for tree, leaf in found.unreachable[:3])
    more = len(found.unreachable) - 3
    some += f" and {more} more" if more > 0 else ""
    return f"unreachable leaves: {len(found.unreachable)} of {found.leaves}" + (f" ({some})" if some else "")


def _listed(kind: str, places: Sequence[int]) -> str:
    return ", ".join(f"{kind} {place + 1}" for place in places) or "none"
