"""The steps of a refinement: other numbers, then other rules and numbers in turn, each to what is safe only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice

import numpy as np

from clearsched.problems.episodes import Episode
from clearsched.problems.programs import Program
from clearsched.scorers.policy import ScoredPolicy, names_of
from clearsched.scorers.rules import RuleList
from clearsched.search.probing import Probes
from clearsched.search.restarts import Restart, Search
from clearsched.search.trials import Trials
from clearsched.students.assembly import numbered
from clearsched.students.equal_shares import equal_shares
from clearsched.students.kinds import STUDENTS
from clearsched.students.level_structures import LevelSpace
from clearsched.students.levels import level_scorers
from clearsched.students.numbers import Refinement
from clearsched.students.repairing import descended, repaired
from clearsched.students.restructuring import (
    ANY,
    Around,
    Budget,
    Heats,
    Tell,
    conditions_on,
    halved,
    restructured,
    shape_of,
)
from clearsched.students.rounding import Columns
from clearsched.students.settings import RefineParams
from clearsched.students.task import Task
from clearsched.students.tidying import tidied

WORTH = 0.0002
"""Share of the mean cost that a structure with its numbers must save."""

AGAIN = 8
"""So often a step is made at most; what is never safe is not taken."""

FREE = 2
"""So many rounds, at most, an unsafe student is refined without regard to safety: what is better may be safe too."""

STUCK = 3
"""So many structures get their numbers where none is better as it stands."""

LEVELS = 2
"""So many other trees or caps of those that were fitted for the level get their numbers in the first round."""

LEVEL_HEATS: Heats = ((1 / 4, 2 * LEVELS),)
"""Of these trees and caps: more are left than are wanted, since some may not be safe."""

COMPETE = (1 / 8, 1 / 4, 1 / 2)
"""After such a share of its budget for numbers the better half of several structures goes on."""

COMPARED = 1 / 4
"""Share of the training episodes on which structures are compared whose numbers are not found yet."""


class Steps:
    """What becomes of a student, step by step.

    A step to what is not safe is not taken: what follows from it seldom is. A student that is not safe itself goes two
    ways first, of which the better one goes on; where both fail nothing is lost by refining it as it is.

    Attributes:
        spent: how many variants with other numbers were tried.
        are_held: whether steps are asked to be safe: not those of a student that no repair makes so.
    """

    def __init__(
        self,
        task: Task,
        settings: RefineParams,
        runs: Trials,
        train: Sequence[Episode],
        choosing: Sequence[Episode],
        probes: Probes | None,
        tell: Tell = lambda line: None,
        others: Sequence[ScoredPolicy] = (),
    ) -> None:
        """Prepare steps on the episodes `train`, chosen on others; `probes` tell what is safe, None: all is.

        `tell`: called with a line now and then; `others`: what else was distilled, which may be safe.
        """
        self._tell, self._others = tell, others
        self.spent = 0.0
        self._tried: set[str] = set()  # shapes whose numbers were searched, and that were no better
        self._task, self._settings, self._runs, self._train, self._choosing = task, settings, runs, train, choosing
        self._features = task.dataset.rank.features[~task.dataset.rank.is_none]
        held = getattr(task.settings, "monotone", False)
        directions = [feature.monotone for feature in task.rank.features] if held else []
        self._columns = {task.rank.name: Columns(self._features, directions)}
        if task.level is not None and task.dataset.level is not None:
            self._level_rows = task.dataset.level.features[task.dataset.level.starts[:-1]]
            self._columns[task.level.name] = Columns(self._level_rows)
        kind = STUDENTS.get(task.name)
        self._moves_levels = self._settings.levels and not (kind and kind.given_level)
        self._imitates = kind is None or kind.imitates
        self._few = train[: max(1, round(COMPARED * len(train)))]
        self._probes, self.are_held = probes, True
        self._known = 0  # episodes that had told somebody apart when the round began

    def of(self, student: ScoredPolicy) -> list[ScoredPolicy]:
        """The student and what each step made of it."""
        found = [student]
        if self._settings.rounds and self._strays(student):
            self._tell("as distilled it is not safe: what is safe next to it is looked for")
            safe = self._made_safe(student) or self._from_equal_shares()
            self.are_held = bool(safe)
            self._tell(f"safe next to it: {self._cost_of(safe[-1])}" if safe else "nothing safe is next to it")
            found += safe
        for number in range(self._settings.rounds):
            self._known = self._probes.known if self._probes is not None else 0
            steps = self._until_safe(partial(self._tidied_round, found[-1], number))
            if steps is None:
                break
            found += steps
            self._tell(f"refinement, round {number + 1} of {self._settings.rounds}: {self._cost_of(found[-1])}")
        return found

    def _cost_of(self, policy: ScoredPolicy) -> str:
        """What it costs on the episodes that variants are chosen on, in words."""
        return self._task.bench.in_words(self._runs.cost([policy], self._choosing).mean())

    def _made_safe(self, student: ScoredPolicy) -> list[ScoredPolicy]:
        """What is safe next to an unsafe student, the best last: repaired at once, and refined first; or nothing.

        A repair, by one change or by several, may end where every further step is unsafe: nobody looked where it led.
        It may be another policy, too: trees that never let a deferrable job wait are safe, and cost three quarters
        more. So what other rounds of imitation came to is asked as well: a mean of some episodes chose among them.
        """
        refined = self._freely(student)
        safe = [other for other in self._others if not self._strays(other)] + self._repairs(student)
        if not self._strays(refined):
            safe = [*safe, refined]
        elif refined is not student:
            safe = [*safe, *self._repairs(refined)]
        costs = self._runs.cost(safe, [*self._train, *self._choosing]).mean(axis=1)
        return [safe[place] for place in np.argsort(-costs, kind="stable").tolist()]

    def _from_equal_shares(self) -> list[ScoredPolicy]:
        """The same from equal shares for whom does without a teacher: nothing is lost by another beginning; or nothing.

        Only where the first one leads nowhere, since what is near to the baseline need not be near to the best.
        """
        student = None if self._imitates else equal_shares(self._task)
        if student is None:
            return []
        self._tell("nothing safe is next to it: it begins again from equal shares")
        return self._made_safe(student) if self._strays(student) else [student]

    def _freely(self, student: ScoredPolicy) -> ScoredPolicy:
        """What a few rounds make of an unsafe student, until one ends with a safe one; nothing else is held to be."""
        self.are_held = False
        for number in range(min(FREE, self._settings.rounds)):
            student = [student, *(self._tidied_round(student, number) or [])][-1]
            if not self._strays(student):
                break
        self.are_held, self._tried = True, set()
        return student

    def _repairs(self, student: ScoredPolicy) -> list[ScoredPolicy]:
        """The student made safe, by one change if one is enough; or nothing."""
        changes = self._settings.repairs
        if not changes:
            return []
        found = self._until_safe(partial(self._repaired, student))
        if found or self._probes is None:
            return found or []
        several = descended(student, self._around, self._probes, self._columns, changes, self._tell)
        return [] if several is None else [several]

    def _until_safe(self, step: Callable[[], list[ScoredPolicy] | None]) -> list[ScoredPolicy] | None:
        """What comes of a step, made again where the whole check finds what the short one let pass.

        The next time the short one knows, and what ran is known too: only what follows from another answer is run.
        """
        for _ in range(AGAIN):
            found = step()
            if not (found and self.are_held and self._strays(found[-1])):
                return found
        return []

    def _repaired(self, student: ScoredPolicy) -> list[ScoredPolicy]:
        repair = repaired(student, self._around, self._is_safe)
        return [] if repair is None else [repair]

    def _strays(self, policy: ScoredPolicy) -> bool:
        return self._probes is not None and self._probes.verdict(policy).strays

    def _tidied_round(self, student: ScoredPolicy, number: int) -> list[ScoredPolicy] | None:
        """What a round makes of a student, the last of it without what changes nothing."""
        steps = self._round(student, number)
        return None if steps is None else [*steps[:-1], *map(self._tidied, steps[-1:])]

    def _round(self, student: ScoredPolicy, number: int) -> list[ScoredPolicy] | None:
        """What a round makes of a student: other numbers, later in another structure; None: there is none.

        Where no structure is better as it stands, the nearest get their numbers before they are judged, as several do.
        """
        alone = self._settings.structures == 1
        if number == 0:
            others = self._with_other_levels(student)
            count = LEVELS if alone else len(others)
            return self._best(student, [student, *(self._cheapest(others, count) if others else [])], 0)
        structures = self._restructured(student, self._settings.structures)
        if structures and alone:
            return [*structures, *self._renumbered(structures[0], str(number))]
        if alone:
            structures = self._restructured(student, STUCK)
        return self._best(student, structures, number) if structures else None

    def _best(self, student: ScoredPolicy, structures: list[ScoredPolicy], number: int) -> list[ScoredPolicy]:
        """The best of several structures, with numbers of its own, if it is better than the student; none: it is not.

        A further condition is worth little at a threshold that was guessed. Structures of a round that found nothing
        better are left aside by the next one.
        """
        found = [student, *self._competed(structures, number)]
        costs = self._runs.cost(found, [*self._train, *self._choosing]).mean(axis=1)
        best = int(costs.argmin())
        if costs[best] < costs[0] - WORTH * abs(costs[0]):
            self._tried = set()
            return [found[best]]
        self._tried |= set(map(shape_of, structures)) if number else set()
        return []

    def _competed(self, structures: list[ScoredPolicy], number: int) -> list[ScoredPolicy]:
        """The structures that are left of several while their numbers are searched, as they stand and with those.

        Successive halving of the budget: most are told apart by the numbers that a part of it finds. What a structure
        is searched with does not depend on the others, so that it need not run again where these change.
        """
        left = [(each, self._search(each, f"{number} {shape_of(each)}")) for each in structures]
        for share in COMPETE:
            if len(left) == 1:
                break
            costs = []
            for structure, restart in left:
                if restart is not None:
                    restart.advance(share)
                stands = [structure] if restart is None else [structure, restart.middle]
                costs.append(self._runs.cost(stands, self._few).mean(axis=1).min())
            stays = np.sort(np.argsort(costs, kind="stable")[: (len(left) + 1) // 2]).tolist()
            for place, (_, restart) in enumerate(left):
                self.spent += restart.spent if restart is not None and place not in stays else 0.0
            left = [left[place] for place in stays]
        return [policy for structure, restart in left for policy in (structure, *self._chosen(restart))]

    def _with_other_levels(self, student: ScoredPolicy) -> list[ScoredPolicy]:
        """The student with all else that was fitted for its level: with its numbers it may be worth more.

        Nothing for whom does without a teacher: these trees and caps are of its decisions.
        """
        level = self._task.level
        if level is None or not self._moves_levels or not self._imitates:
            return []
        others = [
            replace(student, scorers={**student.scorers, level.name: scorer}) for scorer in level_scorers(self._task)
        ]
        shapes = {shape_of(policy): policy for policy in others}
        shapes.pop(shape_of(student), None)
        return list(shapes.values())

    def _cheapest(self, policies: list[ScoredPolicy], count: int) -> list[ScoredPolicy]:
        """The best safe ones of some policies on training episodes, the best first."""
        left, means = halved(policies, self._runs.cost, self._few, LEVEL_HEATS)
        order = (left[place] for place in np.argsort(means, kind="stable").tolist())
        return list(islice(filter(self._is_safe, order), count))

    def _tidied(self, student: ScoredPolicy) -> ScoredPolicy:
        """The student without what changes nothing; the rules of its candidates are numbered anew."""
        short = tidied(student, self._runs.cost, self._train)
        rules = short.scorers[self._task.rank.name]
        if not isinstance(rules, RuleList):
            return short
        again = replace(rules, rules=tuple(numbered(rules.rules, short.none)))
        return replace(short, scorers={**short.scorers, self._task.rank.name: again})

    def _is_safe(self, policy: ScoredPolicy) -> bool:
        return self._probes is None or not self.are_held or self._probes.is_safe(policy)

    def _keeps(self, policy: ScoredPolicy) -> bool:
        """Whether it does not stray where others did before this round: made again, a search is to go the same way."""
        return self._probes is None or not self.are_held or self._probes.keeps(policy, self._known)

    @cached_property
    def _around(self) -> Around:
        """What structures next to a student are compared by."""
        task, level = self._task, self._task.level
        most, ties = (getattr(task.settings, name, 0) for name in ("max_rules", "ties"))
        budget = Budget(**{name: getattr(task.settings, name, ANY) for name in Budget._fields})
        around = Around(task.rank.name, self._runs.cost, self._train, task.bench.short, self._features, most, ties)
        around = around._replace(budget=budget)
        if level is None or task.dataset.level is None or not self._moves_levels:
            return around
        rows, columns = self._level_rows, self._columns[level.name]
        space = LevelSpace(
            rows,
            names_of(level),
            tuple(conditions_on(rows, columns)),
            columns,
            task.common.limit_caps.terms,
            task.common.limit_tree.leaves,
        )
        return around._replace(level_choice=level.name, level=space)

    def _restructured(self, student: ScoredPolicy, count: int) -> list[ScoredPolicy]:
        """The student in the best structures next to its own."""
        return restructured(student, self._around, self._is_safe, count, self._tried)

    def _renumbered(self, student: ScoredPolicy, name: str) -> list[ScoredPolicy]:
        """The student with better numbers; none where it has no numbers, or where nothing safe was found."""
        return self._chosen(self._search(student, name))

    def _search(self, student: ScoredPolicy, name: str) -> Restart | None:
        """A search for better numbers of a student, ready to go; None where it has no numbers."""
        program = Refinement(student, self._columns)
        if not program.numbers:
            return None
        search = Search(
            f"refine {self._task.name} {name}",
            _policy,
            self._settings,
            self._runs,
            self._train,
            self._choosing,
            self._runs.cost([student], self._train)[0],
            self._task.seed,
            is_safe=self._is_safe,
            keeps=self._keeps,
            grows=True,
        )
        restart = Restart(search, 0)
        restart.begin(program)
        return restart

    def _chosen(self, restart: Restart | None) -> list[ScoredPolicy]:
        """What a search finds in the rest of its budget; nothing where nothing safe was found."""
        if restart is None:
            return []
        restart.advance()
        restart.choose()
        self.spent += restart.spent
        return [restart.policy] if restart.policy is not None else []


def _policy(program: Program, values: np.ndarray) -> ScoredPolicy:
    assert isinstance(program, Refinement)
    return program.filled(values)
