"""The jobs that Snakemake runs for all figures of the papers at the scale paper, and how much each schedules.

A test holds the list against Snakemake's own plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from typing import NamedTuple

from clearsched.doctor.costs import Work, work_of
from clearsched.paper.bases import scenario_name, scenarios_of
from clearsched.paper.experiments import EXPERIMENTS, groups_run, params_of
from clearsched.paper.kinds import PAPER_FIGURES
from clearsched.paper.sharing import SHARED, takes
from clearsched.params import Params
from clearsched.students.kinds import STUDENTS, fitted
from clearsched.students.sizes import fronts

SCALE = "paper"

MADE_BY = {"traces": "traces_build", "workloads": "traces_workloads", "heuristics": "heuristics_tune"}
"""The rules of what bases share, but for searches, which have a rule a family."""

ONCE = {"paper/fidelity.parquet": "fidelity", "paper/latency.parquet": "latency", "paper/optimality.parquet": "optimum"}
"""By the file that a figure reads: what a job of its own makes for a base, whose stage has the same name."""

OF_SIZES = "students_pareto/students_pareto.parquet"

SIZE = 4
"""Rules or leaves, about, by which a fit's refinement takes as much longer as it takes at the least."""

OTHERS_PER_NETWORK = 8
"""Heuristics and students, about, that schedule in the time of one network."""


class Job(NamedTuple):
    """One job.

    Attributes:
        folder: below results/, where its benchmark lies.
        name: of its benchmark.
        stage: whose recorded rates are its (costs.json).
        work: what it does.
    """

    folder: str
    name: str
    stage: str
    work: Work

    @property
    def benchmark(self) -> str:
        """The file, below results/, in which Snakemake tells what the job took once it is done."""
        return f"{self.folder}/benchmarks/{self.name}.tsv"


def of_scale(own: Params) -> Params:
    """The user's params at the scale paper."""
    return own.model_copy(update={"paper": own.paper.model_copy(update={"scale": SCALE})})


def jobs_of(own: Params) -> list[Job]:
    """All jobs of the scale paper with the user's seed and section `paper`, in an order that they could run in."""
    scenarios = scenarios_of(of_scale(own))
    taken = takes(scenarios)
    found = []
    for name, params in scenarios.items():
        found += [*_shared(params, {stage for other, stage in taken if other == name}), *_teachers(params)]
        found += _students(params) if name in distilled() else []
        found += [_job(params, f"paper_{what}", what, _once(what)) for what in once(name)]
    return [*found, *_sizes(scenarios), *_episodes(scenarios), *_figures()]


def distilled() -> set[str]:
    """The scenarios whose students run, and are fitted therefore."""
    return {scenario_name(SCALE, each.base) for each in EXPERIMENTS.values() if each.students}


def read_of(file: str) -> list[str]:
    """The scenarios of which a figure reads a file."""
    read = (base for figure in PAPER_FIGURES.values() for base, other in figure.files if other == file)
    return [scenario_name(SCALE, base) for base in dict.fromkeys(read)]


def once(scenario: str) -> list[str]:
    """What `ONCE` makes of a scenario."""
    return [what for file, what in ONCE.items() if scenario in read_of(file)]


def _job(params: Params, name: str, stage: str, work: Work) -> Job:
    return Job(params.scenario, name, stage, work)


def _small(params: Params, name: str) -> Job:
    """A job of a second: what it makes is copied, drawn or chosen."""
    return _job(params, name, "small", Work(1, 0.0, 1))


def _shared(params: Params, taken: Iterable[str]) -> Iterator[Job]:
    """Traces, episodes, tuned heuristics and searched policies of a base, or copies of another one's."""
    for stage in SHARED:
        if stage in taken:
            yield _small(params, f"paper_take_{stage}")
        elif stage == "search":
            yield from _searches(params)
        elif stage == "heuristics":
            yield _job(params, MADE_BY[stage], stage, work_of(params)[stage])
        else:
            yield _small(params, MADE_BY[stage])


def _searches(params: Params) -> Iterator[Job]:
    """A job a family; what is shipped takes no time."""
    whole, families = work_of(params)["search"], params.search.families
    for family in families:
        name = f"search_run_{family}"
        yield _job(params, name, "search", _part(whole, len(families))) if whole.rules else _small(params, name)


def _teachers(params: Params) -> Iterator[Job]:
    """A training a seed, and the choice among them."""
    whole = work_of(params)["teacher"]
    for seed in range(whole.rules):
        yield _job(params, f"teacher_train_{seed}", "teacher", _part(whole, whole.rules))
    if not whole.rules:
        yield _small(params, "teacher_train_0")
    yield _small(params, "teacher_choose")


def _students(params: Params) -> Iterator[Job]:
    """The log, and a job a kind, in which all its training seeds are fitted."""
    work, names = work_of(params), fitted(params.students)
    yield _job(params, "decisions_log", "decisions", work["decisions"])
    for name in names:
        yield _job(params, f"students_fit_{name}", "students", _part(work["students"], len(params.students.names)))


def _sizes(scenarios: Mapping[str, Params]) -> Iterator[Job]:
    """A fit a kind and size, of one training seed each, and what compares them."""
    of_all = fronts(next(iter(scenarios.values())).students)
    for params in (scenarios[name] for name in read_of(OF_SIZES)):
        whole = work_of(params)["students"]
        for front in of_all:
            for size in front.sizes:
                one = Work(1, whole.jobs / whole.rules * (1 + size / SIZE), whole.threads)
                yield _job(params, f"students_pareto_fit_{front.name}_{size}", "sizes", one)
        yield _job(params, "students_pareto_compare", "sizes", Work(1, 0.0, 2))


def _episodes(scenarios: Mapping[str, Params]) -> Iterator[Job]:
    """A job a group of experiments; what it schedules is counted in jobs of one network."""
    for group, names in groups_run(SCALE).items():
        base = scenarios[scenario_name(SCALE, EXPERIMENTS[names[0]].base)]
        jobs = sum(_scheduled(base, name) for name in names)
        yield _job(base, f"paper_episodes_{group}", "episodes", Work(len(names), jobs, 1))


def _scheduled(base: Params, name: str) -> float:
    """Jobs of an experiment, times the policies that schedule them, in networks."""
    params, experiment = params_of(base, name), EXPERIMENTS[name]
    kinds = fitted(base.students) if experiment.students else ()
    asked = params.evaluation.policies
    others = sum(policy not in STUDENTS and policy != "teacher" for policy in asked)
    others += base.students.seeds * sum(kind in asked for kind in kinds)
    networks = base.teacher.seeds if base.teacher.source == "train" else 1
    policies = networks + others / OTHERS_PER_NETWORK
    return policies * params.workload.episodes.test * params.workload.jobs


def _once(what: str) -> Work:
    """Without the optional solver no optimum is looked for."""
    return Work(0 if what == "optimum" and find_spec("ortools") is None else 1, 0.0, 1)


def _figures() -> Iterator[Job]:
    """A job a figure, and the claims."""
    for name in (*PAPER_FIGURES, "claims"):
        yield Job("paper", name, "drawing", Work(1, 0.0, 1))


def _part(whole: Work, parts: int) -> Work:
    """One of so many equal parts."""
    return Work(whole.rules // parts, whole.jobs / parts, whole.threads)
