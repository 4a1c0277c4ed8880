"""A student on disk and in the loop: JSON in, compiled policy out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from clearsched.errors import ClearschedError
from clearsched.files import read_json, write_json
from clearsched.policies import CompiledPolicy, tree_policy
from clearsched.problems.dag_jobs.features import FEATURE_NAMES, FEATURES, NUM_FEATURES
from clearsched.problems.dag_jobs.loop import Compiled
from clearsched.problems.dag_jobs.profiles import Profiles
from clearsched.problems.dag_jobs.simulate import EpisodeResult, Workload
from clearsched.problems.dag_jobs.trees import LEAF, Trees, pack, scores
from clearsched.students.rules import Rule, compile_rules, parse_conditions


@dataclass(frozen=True)
class Student:
    """A readable policy. Its stage choice is either a list of rules or a sum of trees; likewise its limit.

    Attributes:
        name: what tables call it.
        stage_rules, limit_rules: the first rule that fits counts; empty where trees are given.
        stage_trees, limit_trees: as `trees.pack` takes them; empty where rules are given.
        evidence: what the file says beside the policy: executors and JCT of its fit, shares of the rules, provenance.
    """

    name: str
    stage_rules: tuple[Rule, ...] = ()
    stage_trees: tuple[dict[str, Any], ...] = ()
    limit_rules: tuple[Rule, ...] = ()
    limit_trees: tuple[dict[str, Any], ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    where: str = "student"

    kind = "student"
    mode = "argmax"

    @property
    def settings(self) -> dict[str, float]:
        """A student has no tuned parameters."""
        return {}

    @cached_property
    def _policy(self) -> CompiledPolicy:
        return tree_policy(
            self.name,
            _packed(self.stage_rules, self.stage_trees, f"{self.where}: stage"),
            _packed(self.limit_rules, self.limit_trees, f"{self.where}: limit"),
        )

    @property
    def compiled(self) -> Compiled:
        """What runs inside the simulator's loop."""
        return self._policy.compiled

    def run(
        self, profiles: Profiles, workloads: Sequence[Workload], *, record_tasks: bool = False
    ) -> list[EpisodeResult]:
        """Schedule each episode."""
        return self._policy.run(profiles, workloads, record_tasks=record_tasks)

    def scores(self, features: np.ndarray) -> np.ndarray:
        """float64[n]: score of each candidate, features float32[n, F]; the first best of a decision is chosen."""
        answer: np.ndarray = scores(self.compiled.stage, np.ascontiguousarray(features, np.float32))
        return answer

    def limit_share(self, features: np.ndarray) -> np.ndarray:
        """float64[n]: share of the executors that the job of each row may hold, if its stage is chosen."""
        answer: np.ndarray = scores(self.compiled.limit, np.ascontiguousarray(features, np.float32))
        return answer

    def write(self, path: str | Path) -> None:
        """Write the policy's JSON, atomically."""
        content: dict[str, Any] = {"name": self.name, "kind": self.kind, "features": list(FEATURE_NAMES)}
        shares = self.evidence.get("shares", {})
        for key, value_name, rules, trees, tree_key in (
            ("rules", "score", self.stage_rules, self.stage_trees, "stage"),
            ("limit_rules", "limit_share", self.limit_rules, self.limit_trees, "limit"),
        ):
            if rules:
                content[key] = [{"if": str(rule), value_name: rule.value} for rule in rules]
                for entry, share in zip(content[key], shares.get(key, ()), strict=False):
                    entry["share"] = share
            else:
                content[tree_key] = {"trees": list(trees)}
        content["units"] = {feature.name: feature.unit for feature in FEATURES if feature.unit}
        content |= {key: value for key, value in self.evidence.items() if key != "shares"}
        write_json(path, content)


def load_policy(path: str | Path) -> Student:
    """Read and check a student's JSON; conditions and thresholds count as they stand there.

    Raises:
        ClearschedError: the file is missing or no JSON, a feature is unknown, or a rule or tree is malformed.
    """
    path = Path(path)
    content = read_json(path)
    if not isinstance(content, dict) or content.get("kind") != "student":
        raise ClearschedError(f'{path}: no student: an object with "kind": "student" expected')
    name = content.get("name")
    if not isinstance(name, str) or not name:
        raise ClearschedError(f"{path}: name: a text expected")
    columns = _columns(content.get("features"), path)
    stage_rules, stage_trees = _choice(content, "rules", "score", "stage", columns, path)
    limit_rules, limit_trees = _choice(content, "limit_rules", "limit_share", "limit", columns, path)
    known = {"name", "kind", "features", "units", "rules", "limit_rules", "stage", "limit"}
    evidence = {key: value for key, value in content.items() if key not in known}
    shares = {
        key: [entry["share"] for entry in content[key]]
        for key in ("rules", "limit_rules")
        if key in content and all("share" in entry for entry in content[key])
    }
    student = Student(
        name, stage_rules, stage_trees, limit_rules, limit_trees, evidence | {"shares": shares}, str(path)
    )
    _ = student.compiled  # so that a broken tree is told now
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
    content: dict[str, Any], rules_key: str, value_key: str, trees_key: str, columns: list[int], path: Path
) -> tuple[tuple[Rule, ...], tuple[dict[str, Any], ...]]:
    """The rules or the trees of one choice; exactly one of the two."""
    if (rules_key in content) == (trees_key in content):
        raise ClearschedError(f"{path}: give either {rules_key!r} or {trees_key!r}, and not both")
    if rules_key in content:
        return _rules(content[rules_key], value_key, f"{path}: {rules_key}"), ()
    section = content[trees_key]
    trees = section.get("trees") if isinstance(section, dict) else None
    if not isinstance(trees, list) or not trees:
        raise ClearschedError(f"{path}: {trees_key}.trees: a list of trees expected")
    return (), tuple(_with_columns(tree, columns, f"{path}: {trees_key}: tree {i}") for i, tree in enumerate(trees))


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


def _packed(rules: Sequence[Rule], trees: Sequence[dict[str, Any]], where: str) -> Trees:
    return pack([compile_rules(rules)] if rules else list(trees), NUM_FEATURES, where)
