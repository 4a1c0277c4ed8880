"""A student, or a formula that somebody wrote, on disk and in the loop: JSON in, compiled policy out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.compiled.formulae import CONSTANT, NO_FORMULA, pack_formula
from clearsched.compiled.scoring import Packed, scores_of
from clearsched.compiled.trees import LEAF, pack
from clearsched.errors import ClearschedError
from clearsched.files import read_json, write_json
from clearsched.policies import CompiledPolicy, learned_policy
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, FEATURES, NUM_FEATURES
from clearsched.problems.dag_jobs.simulator.loop import Compiled
from clearsched.problems.dag_jobs.simulator.profiles import Profiles
from clearsched.problems.dag_jobs.simulator.simulate import EpisodeResult, Workload
from clearsched.students.rules import Rule, compile_rules, parse_conditions


@dataclass(frozen=True)
class Student:
    """A readable policy. Its stage choice is a list of rules, a sum of trees or a formula; likewise its limit.

    Attributes:
        name: what tables call it.
        stage_rules, limit_rules: the first rule that fits counts; empty where it is none.
        stage_trees, limit_trees: as `trees.pack` takes them; empty where it is none.
        stage_weights, limit_weights: weights by feature, as `formulae.pack_formula` takes them; empty where it is none.
        evidence: what the file says beside the policy: executors and JCT of its fit, shares of the rules, provenance.
    """

    name: str
    stage_rules: tuple[Rule, ...] = ()
    stage_trees: tuple[dict[str, Any], ...] = ()
    limit_rules: tuple[Rule, ...] = ()
    limit_trees: tuple[dict[str, Any], ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    where: str = "student"
    stage_weights: Mapping[str, float] = field(default_factory=dict)
    limit_weights: Mapping[str, float] = field(default_factory=dict)

    kind = "student"
    mode = "argmax"

    @property
    def settings(self) -> dict[str, float]:
        """A student has no tuned parameters."""
        return {}

    @cached_property
    def _policy(self) -> CompiledPolicy:
        return learned_policy(
            self.name,
            _packed(self.stage_rules, self.stage_trees, self.stage_weights, f"{self.where}: stage"),
            _packed(self.limit_rules, self.limit_trees, self.limit_weights, f"{self.where}: limit"),
        )

    @property
    def compiled(self) -> Compiled:
        """What runs inside the simulator's loop."""
        return self._policy.compiled

    def run(
        self,
        profiles: Profiles,
        workloads: Sequence[Workload],
        *,
        record_tasks: bool = False,
        record_decisions: bool = False,
    ) -> list[EpisodeResult]:
        """Schedule each episode."""
        return self._policy.run(profiles, workloads, record_tasks=record_tasks, record_decisions=record_decisions)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """float64[n]: score of each candidate, features float32[n, F]; the first best of a decision is chosen."""
        return scores_of(self.compiled.stage, features)

    def limit_share(self, features: np.ndarray) -> np.ndarray:
        """float64[n]: share of the executors that the job of each row may hold, if its stage is chosen."""
        return scores_of(self.compiled.limit, features)

    def write(self, path: str | Path) -> None:
        """Write the policy's JSON, atomically."""
        kind = "formula" if self.stage_weights else "student"
        content: dict[str, Any] = {"name": self.name, "kind": kind}
        if kind == "student" or self.limit_trees:
            content["features"] = list(FEATURE_NAMES)  # by which the trees count
        shares = self.evidence.get("shares", {})
        for key, value_name, rules, trees, weights, tree_key in (
            ("rules", "score", self.stage_rules, self.stage_trees, self.stage_weights, "stage"),
            ("limit_rules", "limit_share", self.limit_rules, self.limit_trees, self.limit_weights, "limit"),
        ):
            if rules:
                content[key] = [{"if": str(rule), value_name: rule.value} for rule in rules]
                for entry, share in zip(content[key], shares.get(key, ()), strict=False):
                    entry["share"] = share
            else:
                content[tree_key] = dict(weights) or {"trees": list(trees)}
        content["units"] = {feature.name: feature.unit for feature in FEATURES if feature.unit}
        content |= {key: value for key, value in self.evidence.items() if key != "shares"}
        write_json(path, content)


def load_policy(path: str | Path) -> Student:
    """Read and check the JSON of a student or formula; conditions, thresholds and weights count as they stand there.

    A formula may leave out `name`, for which the file's stands in, and `features`, which only trees count by.

    Raises:
        ClearschedError: the file is missing or no JSON, a feature is unknown, or a rule, tree or weight is malformed.
    """
    path = Path(path)
    content = read_json(path)
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind not in ("student", "formula"):
        raise ClearschedError(f'{path}: no student: an object with "kind": "student" or "formula" expected')
    if kind == "formula":
        content = {"name": path.stem, "features": [], **content}
    name = content.get("name")
    if not isinstance(name, str) or not name:
        raise ClearschedError(f"{path}: name: a text expected")
    columns = _columns(content.get("features"), path)
    stage_rules, stage_trees, stage_weights = _choice(content, "rules", "score", "stage", columns, path)
    limit_rules, limit_trees, limit_weights = _choice(content, "limit_rules", "limit_share", "limit", columns, path)
    known = {"name", "kind", "features", "units", "rules", "limit_rules", "stage", "limit"}
    evidence = {key: value for key, value in content.items() if key not in known}
    shares = {
        key: [entry["share"] for entry in content[key]]
        for key in ("rules", "limit_rules")
        if key in content and all("share" in entry for entry in content[key])
    }
    student = Student(
        name,
        stage_rules,
        stage_trees,
        limit_rules,
        limit_trees,
        evidence | {"shares": shares},
        str(path),
        stage_weights,
        limit_weights,
    )
    _ = student.compiled  # so that a broken tree or weight is told now
    return student


def _columns(names: Any, path: Path) -> list[int]:
    """The position in FEATURES of each feature that the file lists."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ClearschedError(f"{path}: features: a list of names expected")
    for name in names:
        if name not in FEATURE_NAMES:
            near = get_close_matches(name, FEATURE_NAMES, 1)
            raise ClearschedError(f"{path}: unknown feature {name!r}" + (f"; did you mean {near[0]}?" if near else ""))
    return [FEATURE_NAMES.index(name) for name in names]


def _choice(
    content: dict[str, Any], rules_key: str, value_key: str, other_key: str, columns: list[int], path: Path
) -> tuple[tuple[Rule, ...], tuple[dict[str, Any], ...], dict[str, float]]:
    """The rules, the trees or the weights of one choice; exactly one of them. A number is a formula's constant."""
    if (rules_key in content) == (other_key in content):
        raise ClearschedError(f"{path}: give either {rules_key!r} or {other_key!r}, and not both")
    if rules_key in content:
        return _rules(content[rules_key], value_key, f"{path}: {rules_key}"), (), {}
    section = content[other_key]
    if isinstance(section, int | float):
        section = {CONSTANT: section}
    if not isinstance(section, dict) or not section:
        raise ClearschedError(f"{path}: {other_key}: weights by feature, a number, or a list of trees expected")
    if "trees" not in section:
        return (), (), section
    trees = section["trees"]
    if not isinstance(trees, list) or not trees:
        raise ClearschedError(f"{path}: {other_key}.trees: a list of trees expected")
    where = f"{path}: {other_key}: tree"
    return (), tuple(_with_columns(tree, columns, f"{where} {i}") for i, tree in enumerate(trees)), {}


def _rules(entries: Any, value_key: str, where: str) -> tuple[Rule, ...]:
    if not isinstance(entries, list) or not entries:
        raise ClearschedError(f"{where}: a list of rules expected")
    rules = []
    for place, entry in enumerate(entries):
        text, value = (entry.get("if"), entry.get(value_key)) if isinstance(entry, dict) else (None, None)
        if not isinstance(text, str):
            raise ClearschedError(f"{where}[{place}]: if: a text expected")
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise ClearschedError(f"{where}[{place}]: {value_key}: a number expected")
        rules.append(Rule(parse_conditions(text, f"{where}[{place}]"), value))
    if rules[-1].conditions:
        raise ClearschedError(f"{where}: the last rule must be `otherwise`, so that every case has one")
    return tuple(rules)


def _with_columns(tree: Any, columns: list[int], where: str) -> dict[str, Any]:
    """The tree with its features by their position in FEATURES rather than in the file's own list."""
    features = tree.get("feature") if isinstance(tree, dict) else None
    if not isinstance(features, list) or not all(isinstance(f, int) and LEAF <= f < len(columns) for f in features):
        raise ClearschedError(f"{where}: feature: a list of {LEAF} (leaf) to {len(columns) - 1} expected")
    return {**tree, "feature": [LEAF if f == LEAF else columns[f] for f in features]}


def _packed(rules: Sequence[Rule], trees: Sequence[dict[str, Any]], weights: Mapping[str, float], where: str) -> Packed:
    return Packed(
        pack_formula(weights, FEATURE_NAMES, where) if weights else NO_FORMULA,
        pack([compile_rules(rules)] if rules else list(trees), NUM_FEATURES, where),
    )
