"""The papers' figures that are made anew here: a module and an entry each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from clearsched.paper.bases import BASES, scenario_name
from clearsched.paper.experiments import ABLATED, ABLATION_LOADS, EDGES, EXPERIMENTS, LOADS, OBJECTIVES, names_run
from clearsched.registry import Registry

ROOM = "clearsched.paper"
DECIMA = "Decima (Mao et al. 2019)"
HU = "Hu et al. (2024)"
METIS = "Metis (Meng et al. 2020)"


class PaperFigure(NamedTuple):
    """A figure of a paper, from our runs."""

    name: str
    label: str
    draws: str  # "module:attribute", called with a `material.Material`, gives a `figures.style.Drawing`
    paper: str
    answers: str  # which figure or experiment of the paper
    shows: str  # what the paper shows there, in a clause
    experiments: tuple[str, ...] = ()  # whose jobs it reads
    files: tuple[tuple[str, str], ...] = ()  # base, file below its folder: what else it reads, {seed}: of each network

    @property
    def caption(self) -> str:
        """In two sentences; the settings and seeds of a drawing stand in the text beside it."""
        return (
            f"{self.label[0].upper()}{self.label[1:]}. Answers {self.paper}, {self.answers}, which shows {self.shows}."
        )


PAPER_FIGURES: Registry[PaperFigure] = Registry(
    "figure of the papers",
    (
        PaperFigure(
            "decima_batch",
            "mean JCT of all policies on batches",
            f"{ROOM}.decima_batch:draw",
            DECIMA,
            "fig. 9a",
            "Decima 21 % below tuned weighted fair on batches of 20 TPC-H jobs",
            ("batch",),
        ),
        PaperFigure(
            "decima_stream",
            "mean JCT on streams, and a busy period over time",
            f"{ROOM}.decima_stream:draw",
            DECIMA,
            "fig. 9b and 10a, b",
            "Decima 29 % below tuned weighted fair on a stream of TPC-H jobs, most of it in busy periods",
            ("stream",),
        ),
        PaperFigure(
            "decima_jct_cdf",
            "distribution of job completion times on streams",
            f"{ROOM}.decima_jct_cdf:draw",
            DECIMA,
            "fig. 9b",
            "how the completion times of a stream's jobs are distributed under each policy",
            ("stream",),
        ),
        PaperFigure(
            "decima_job_sizes",
            "completion time, executors and work inflation by the size of jobs",
            f"{ROOM}.decima_job_sizes:draw",
            DECIMA,
            "fig. 10c to e",
            "small jobs done sooner with more executors, and less work wasted",
            ("stream",),
        ),
        PaperFigure(
            "decima_load",
            "completion time by the load of the cluster",
            f"{ROOM}.decima_load:draw",
            DECIMA,
            "§7.2 and fig. 14's axis",
            "that what a learned policy wins grows with the load",
            tuple(f"load_{load}" for load in LOADS),
        ),
        PaperFigure(
            "decima_generalisation",
            "policies on clusters and estimates that they were not made for",
            f"{ROOM}.decima_generalisation:draw",
            DECIMA,
            "§7.4",
            "that a policy holds on clusters of other sizes and without estimates of durations",
            ("stream", "executors_10", "executors_100", "estimates_none"),
        ),
        PaperFigure(
            "decima_learning",
            "how the networks learned, over training episodes and over CPU time",
            f"{ROOM}.decima_learning:draw",
            DECIMA,
            "fig. 15a",
            "how fast the network improves in training",
            (),
            tuple(
                (base, file)
                for base in ("batch", "stream", "rate_same")
                for file in (
                    "teacher/seeds/{seed}/learning_curve.parquet",
                    "benchmarks/teacher_train_{seed}_times.parquet",
                )
            ),
        ),
        PaperFigure(
            "decima_objectives",
            "policies for the mean JCT and for the makespan, by both",
            f"{ROOM}.decima_objectives:draw",
            DECIMA,
            "fig. 13",
            "that other objectives, and moves that cost nothing, bring other policies",
            OBJECTIVES,
        ),
        PaperFigure(
            "decima_ablation",
            "networks without a part of Decima, by the load of the cluster",
            f"{ROOM}.decima_ablation:draw",
            DECIMA,
            "fig. 14",
            "that it takes all of them: limits most, the embedding, the baseline at high loads, training on streams",
            tuple(f"ablated_{what}_{load}" for what in ABLATED for load in ABLATION_LOADS),
        ),
        PaperFigure(
            "decima_rates",
            "networks trained at the test's arrival rate, at another and on mixed rates",
            f"{ROOM}.decima_rates:draw",
            DECIMA,
            "table 2",
            "a network 28 % below tuned weighted fair at the rate that it was trained on, 15 % above at another, "
            "between them on mixed rates, and better if it is told the rate",
            ("rate_same", "rate_other", "rate_mixed", "rate_told"),
        ),
        PaperFigure(
            "decima_unseen",
            "networks on queries that they never saw, beside those that did",
            f"{ROOM}.decima_rates:draw",
            DECIMA,
            "its question whether a network holds on jobs unlike those of its training (§7.4)",
            "that a network is made for its workload and holds on others as far as they are alike",
            ("seen", "unseen"),
        ),
        PaperFigure(
            "decima_industrial",
            "mean JCT of all policies on jobs with the published marginals of an industrial trace",
            f"{ROOM}.decima_batch:draw_industrial",
            DECIMA,
            "§7.3, of an industrial trace: in kind, not in number, since there jobs ask for memory too and machines "
            "differ, and here they have one resource and are generated (alibaba-like)",
            "that the network is ahead of the other schedulers on such jobs too",
            ("industrial",),
        ),
        PaperFigure(
            "decima_optimality",
            "how far policies are from the optimum of small instances",
            f"{ROOM}.decima_optimality:draw",
            DECIMA,
            "its comparison with the best schedules of small instances",
            "that the network comes near the best schedules that are known",
            (),
            (("batch", "paper/optimality.parquet"),),
        ),
        PaperFigure(
            "hu_loads",
            "cost of students, network and heuristics on normal, large and edge-case loads",
            f"{ROOM}.hu_loads:draw",
            HU,
            "the experiments on normal, large and edge-case loads",
            "that a tree costs about what its network costs on normal loads, and less where heuristics come in",
            ("stream", *(f"edge_{case}" for case in EDGES)),
        ),
        PaperFigure(
            "hu_patch",
            "the rules with a patch for slow moves, and the cost without and with it, beside the network",
            f"{ROOM}.hu_patch:draw",
            HU,
            "the tree before and after it is tuned by hand",
            "that a person mends an edge case in the rules, where a network has to be trained again",
            ("patched_normal", "patched_slow"),
            (("stream", "students/rule_list.json"),),
        ),
        PaperFigure(
            "hu_strategies",
            "strategies that compete where the load changes, and a switch between them",
            f"{ROOM}.hu_strategies:draw",
            HU,
            "§5, competing strategies",
            "that rules may take turns by the state of the cluster",
            ("changing",),
        ),
        PaperFigure(
            "hu_fidelity",
            "fidelity of each student by kind of choice and its cost, as distilled and refined",
            f"{ROOM}.hu_fidelity:draw",
            HU,
            "the fidelity of the distilled trees",
            "that the students answer nearly always as the network",
            ("imitated", "stream"),
            (("imitated", "paper/fidelity.parquet"), ("stream", "paper/fidelity.parquet")),
        ),
        PaperFigure(
            "hu_rules",
            "cost and fidelity by the number of rules",
            f"{ROOM}.sizes:draw_rules",
            HU,
            "cost and fidelity by the size of the tree",
            "how many rules it takes to schedule as the network does",
            (),
            (("batch", "students_pareto/students_pareto.parquet"),),
        ),
        PaperFigure(
            "metis_leaves",
            "cost and fidelity by the number of leaves",
            f"{ROOM}.sizes:draw_leaves",
            METIS,
            "the sensitivity to the number of leaves",
            "that a few dozen to some hundred leaves come near the network",
            (),
            (("batch", "students_pareto/students_pareto.parquet"),),
        ),
        PaperFigure(
            "decima_latency",
            "time to a decision against the time between scheduling events",
            f"{ROOM}.decision_times:draw_events",
            DECIMA,
            "fig. 15b",
            "decisions within 15 ms, some fifty times less than the time between events",
            (),
            (("stream", "paper/latency.parquet"),),
        ),
        PaperFigure(
            "metis_latency",
            "time to a decision, size and memory of the network and of what was distilled from it",
            f"{ROOM}.decision_times:draw_policies",
            METIS,
            "the deployment of its trees",
            "a tree that decides 27 times as fast as its network, in less memory",
            (),
            (("stream", "paper/latency.parquet"),),
        ),
    ),
)


def experiments_of(figure: PaperFigure, scale: str) -> list[str]:
    """The experiments whose jobs a figure reads at a scale."""
    return names_run(figure.experiments, scale)


def runs_of(figure: PaperFigure, scale: str) -> list[str]:
    """The names of what a figure is drawn from at a scale, as its caption has them: experiments, then base and file."""
    return [*experiments_of(figure, scale), *(f"{base}, {file}" for base, file in figure.files)]


def figures_drawn(scale: str) -> dict[str, list[str]]:
    """What is drawn in one process at a scale: figures by the first of them.

    At the scale smoke, where a process takes longer to start than to draw, all that are made from the same runs.
    """
    found: dict[object, list[str]] = {}
    for figure in PAPER_FIGURES.values():
        bases = frozenset(EXPERIMENTS[name].base for name in experiments_of(figure, scale))
        found.setdefault((bases, figure.files) if scale == "smoke" else figure.name, []).append(figure.name)
    return {names[0]: names for names in found.values()}


def jobs_file(experiment: str, scale: str) -> str:
    """Where an experiment's jobs lie, below results/; what its training seeds came to lies beside them."""
    return f"{scenario_name(scale, EXPERIMENTS[experiment].base)}/paper/{experiment}/jobs.parquet"


def seeds_file(experiment: str, scale: str) -> str:
    """Where lies what the training seeds of an experiment's policies came to, below results/."""
    return jobs_file(experiment, scale).replace("jobs.parquet", "seeds.parquet")


def inputs_of(figure: PaperFigure, scale: str, networks: Mapping[str, int]) -> list[str]:
    """The files below results/ that a figure reads; `networks`: how many each base has (`bases.network_seeds`)."""
    jobs = [file(name, scale) for name in experiments_of(figure, scale) for file in (jobs_file, seeds_file)]
    files = [
        f"{scenario_name(scale, BASES[base].name)}/{file.format(seed=seed)}"
        for base, file in figure.files
        for seed in range(networks[base])
    ]
    return [*jobs, *dict.fromkeys(files)]


def docs_table() -> str:
    """The figures as the Markdown table of docs/paper.md."""
    lines = ["| figure | answers | what it shows here | what the paper shows |", "|---|---|---|---|"]
    for each in PAPER_FIGURES.values():
        lines.append(f"| `{each.name}` | {each.paper}, {each.answers} | {each.label} | {each.shows} |")
    return "\n".join(lines)
