"""What a user may choose of each kind of student, and of all: parts of the section `students` of params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clearsched.scorers.settings import GuardParams
from clearsched.section import Section

Rate = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class RankingParams(Section):
    """Boosted trees that rank the candidates of a decision."""

    trees: int = Field(50, ge=1, le=1000, description="trees")
    depth: int = Field(3, ge=1, le=3, description="levels of questions in a tree")
    learning_rate: Rate = Field(0.3, description="share of each tree's answer that is added")


class RuleListParams(Section):
    """The rule list."""

    max_rules: int = Field(8, ge=1, le=100, description="rules in the list, at most")
    conditions: int = Field(8, ge=1, le=50, description="conditions of a rule, at most")
    features: int = Field(100, ge=1, le=10_000, description="features that its rules may ask for, at most")
    ties: int = Field(
        2, ge=0, le=3, description="features, at most, by which the best of the candidates of one rule is told"
    )
    rescoring: RankingParams = Field(
        RankingParams(), description="boosted trees whose scores say how good a candidate is next to the best"
    )


class RulesFromNothingParams(Section):
    """The control of the rule list: the same refinement, with no teacher's rules to begin with.

    Where the rule list is fitted beside it, it has the budgets of that.
    """

    max_rules: int = Field(8, ge=1, le=100, description="rules in the list, at most")
    conditions: int = Field(8, ge=1, le=50, description="conditions of a rule, at most")
    features: int = Field(100, ge=1, le=10_000, description="features that its rules may ask for, at most")
    ties: int = Field(
        2, ge=0, le=3, description="features, at most, by which the best of the candidates of one rule is told"
    )


class BoostedTreesParams(RankingParams):
    """The boosted trees."""

    features: int = Field(100, ge=1, le=10_000, description="features that the trees may ask for, at most")
    monotone: bool = Field(
        False, description="hold the trees to the direction of each feature: for example, less work left is never worse"
    )


class SwitchParams(Section):
    """Several students, and which of them schedules now."""

    of: tuple[str, ...] = Field(
        ("rule_list", "boosted_trees"), min_length=2, description="students, of those in `names`, that compete"
    )
    cases: int = Field(3, ge=2, le=8, description="cases, at most; each after the second must pay for itself")
    thresholds: int = Field(9, ge=1, le=100, description="of each feature of the load, that are tried")


class DistilledParams(Section):
    """What a person must read of a kind that is fitted to single candidates."""

    features: int = Field(12, ge=1, le=10_000, description="features that it may ask for, at most")


class LeavesParams(DistilledParams):
    """One tree, as the list of its leaves."""

    leaves: int = Field(16, ge=2, le=256, description="leaves, at most")
    conditions: int = Field(50, ge=1, le=50, description="conditions of a leaf, at most")
    ties: int = Field(
        2, ge=0, le=3, description="features, at most, by which the best of the candidates of one leaf is told"
    )

    @property
    def max_rules(self) -> int:
        """Rules that the list of leaves may have."""
        return self.leaves


class PrunedTreeParams(LeavesParams):
    """The pruned tree."""

    target: Literal["place", "best"] = Field(
        "place", description="what the tree tells of a candidate: its place in the decision, or whether it is the best"
    )


class FairLimitParams(PrunedTreeParams):
    """The pruned tree beside equal shares."""


class ShrunkTreeParams(LeavesParams):
    """The tree with hierarchical shrinkage."""

    shrinkage: float = Field(
        20.0, ge=0, le=1e9, description="candidates by which a leaf's value leans on those above it; 0: not at all"
    )


class FigsParams(DistilledParams):
    """The sum of a few trees."""

    rules: int = Field(16, ge=1, le=256, description="questions in all trees, at most")
    trees: int = Field(4, ge=1, le=64, description="trees, at most")


class GreedyRulesParams(DistilledParams):
    """The greedy rule list."""

    max_rules: int = Field(8, ge=2, le=100, description="rules in the list, at most")
    conditions: int = Field(50, ge=1, le=50, description="conditions of a rule, at most")
    ties: int = Field(
        2, ge=0, le=3, description="features, at most, by which the best of the candidates of one rule is told"
    )


class SkopeRulesParams(GreedyRulesParams):
    """The most precise rules of many trees."""

    conditions: int = Field(3, ge=1, le=8, description="conditions of a rule, at most")
    trees: int = Field(20, ge=1, le=1000, description="trees that the rules come from, each fitted to other decisions")
    precision: Rate = Field(
        0.6, description="share of a rule's candidates that are the best, at least; half of those drawn are"
    )
    recall: Rate = Field(0.02, description="share of the best candidates that each rule adds, at least")


class BoostedRulesParams(DistilledParams):
    """Boosted rules."""

    rules: int = Field(12, ge=1, le=256, description="small trees of rules that are added up, at most")
    conditions: int = Field(2, ge=1, le=3, description="conditions of a rule, at most")


class IntegerScoreParams(DistilledParams):
    """The score of whole points."""

    conditions: int = Field(8, ge=1, le=50, description="conditions that give points, at most")
    points: int = Field(5, ge=1, le=10, description="points that a condition adds or takes away, at most")
    ties: int = Field(
        2, ge=0, le=3, description="features, at most, by which the best of the candidates of equal points is told"
    )


class PairwiseForestParams(DistilledParams):
    """The forest over pairs of candidates."""

    features: int = Field(24, ge=1, le=10_000, description="features that it may ask for, at most")
    trees: int = Field(15, ge=1, le=1000, description="trees")
    depth: int = Field(9, ge=1, le=20, description="levels of questions in a tree, at most")
    pairs: int = Field(
        8,
        ge=1,
        le=1000,
        description="other candidates, at most, that the teacher's choice is held against, drawn a decision",
    )
    ask: Literal["difference", "rows", "both"] = Field(
        "both", description="what a question may be about: the difference of two candidates, each of the two, or both"
    )
    opponents: int = Field(
        32,
        ge=1,
        le=1000,
        description="others, at most, that a candidate is held against when it schedules, evenly taken",
    )


class LimitTreeParams(Section):
    """The tree that answers the choice of a level, where the problem has one."""

    leaves: int = Field(8, ge=2, le=256, description="leaves, at most")


class LimitCapsParams(Section):
    """Caps that answer the choice of a level in place of the tree, where they schedule as well."""

    terms: int = Field(3, ge=0, le=8, description="terms, at most; 0: the tree only")


class SamplingParams(Section):
    """Which of the decisions a fit learns from."""

    decisions: int = Field(100_000, ge=0, le=1_000_000_000, description="decisions, at most; 0: as many as there are")
    by: Literal["equal", "importance"] = Field(
        "equal",
        description="each counts the same, or by how much worse its worst answer is than its best, as in VIPER",
    )


class RefineParams(Section):
    """What schedules better than the distilled student, found in closed loop: other numbers, other rules."""

    rounds: int = Field(
        8,
        ge=0,
        le=20,
        description="searches for better numbers, a change of a rule list's rules before each but the first; 0: none",
    )
    evaluations: int = Field(
        300,
        ge=1,
        le=10_000_000,
        description="variants that a round may try on `episodes`; one that is given up early counts with its part",
    )
    episodes: int = Field(
        16,
        ge=1,
        le=1_000_000,
        description="training episodes that each variant of a generation runs; a long one counts as several short ones",
    )
    population: int = Field(12, ge=4, le=10_000, description="variants of a generation")
    structures: int = Field(
        1, ge=1, le=100, description="structures of a round whose numbers are searched before one is chosen"
    )
    levels: bool = Field(True, description="change the structure of what answers the choice of a level too")
    repairs: int = Field(
        16,
        ge=0,
        le=1000,
        description="changes, one after another, at most, that are to make a student safe which is not; 0: none",
    )

    @property
    def restarts(self) -> int:
        """Every search begins with the student as it is."""
        return 1


class FrontParams(Section):
    """A kind in sizes of its own, or by another of its settings."""

    kind: str = Field(description="kind of student")
    by: str = Field("", description="setting of its section that says how large it is; empty: the usual one")
    sizes: tuple[Count, ...] = Field((), description="sizes; empty: those of `pareto.sizes`")


class ParetoParams(Section):
    """How much there is to read, against what it is worth: the same kind in several sizes."""

    kinds: tuple[str, ...] = Field(("rule_list",), description="kinds of student that `snakemake students_pareto` fits")
    sizes: tuple[Count, ...] = Field(
        (2, 3, 4, 6, 8, 12, 16, 24, 32), min_length=1, description="sizes: rules, leaves, trees, as the kind counts"
    )
    further: tuple[FrontParams, ...] = Field(
        (), description="kinds in sizes of their own, as `{kind: boosted_trees, by: depth, sizes: [1, 2, 3]}`"
    )
    within: Rate = Field(0.005, description="share of the best size's cost by which a smaller one may be worse")


class PatchParams(Section):
    """What a person lays down on top of the students."""

    when: str = Field(description="comparisons such as `job_age_s > 600 s`, joined by `and`, or `always`")
    do: str | None = Field(None, description="prefer, avoid, keep_local or idle; empty where there is a cap")
    cap: float | None = Field(None, gt=0, le=1, description="share of the most that the level may be")
    because: str = Field("", description="why")
    priority: int = Field(0, ge=-1_000_000, le=1_000_000, description="the higher counts before the lower")


class StudentsParams(Section):
    """The policies that a person can read."""

    names: tuple[str, ...] = Field(  # of the registry; a section each follows (params.composing)
        ("rule_list", "boosted_trees"), min_length=1, description="students to fit"
    )
    control: bool = Field(
        False,
        description="also fit the control of a student that is refined: the same search without a teacher, so that "
        "tables say what the teacher added",
    )
    seeds: int = Field(
        1,
        ge=1,
        le=100,
        description="training seeds of each student, with other random numbers each and all but the first with a "
        "sample of the log; the best on unseen episodes is kept, intervals over training seeds cover all of them",
    )
    fits: int = Field(
        1,
        ge=1,
        le=100,
        description="fits of a training seed, every second one with a tree for the level and no caps; the best of them "
        "on unseen episodes is what that seed comes to",
    )
    dagger_rounds: int = Field(
        1, ge=0, le=20, description="rounds in which students run, the teacher answers, and they are fitted again"
    )
    dagger_episodes: Count = Field(8, description="training episodes of a round")
    safety_episodes: int = Field(
        0,
        ge=0,
        le=100_000,
        description="further episodes of training jobs, drawn anew, on which a student must be near to fair as on "
        "those of the safety check, where the teacher is: as they are, with a giant, with tiny jobs, and in each of "
        "`workload.safety_cases`; for what comes less than once in a thousand",
    )
    sampling: SamplingParams = SamplingParams()
    pareto: ParetoParams = ParetoParams()
    pick: Literal["own", "smallest"] = Field(
        "own",
        description="own: the size that each kind's section says; smallest: the smallest of `pareto.sizes` that does",
    )
    limit_tree: LimitTreeParams = LimitTreeParams()
    limit_caps: LimitCapsParams = LimitCapsParams()
    refine: RefineParams = RefineParams()
    patches: tuple[PatchParams, ...] = Field(
        (), description="laid on every student after its fit, docs/patches.md: a list of `when` and `do` or `cap`"
    )
    guard: GuardParams = GuardParams()
