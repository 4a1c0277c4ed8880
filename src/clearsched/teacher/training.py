"""The stage `teacher`: clone the best policy known, improve on it, keep the best on validation that is safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch

from clearsched.files import digest_json, provenance
from clearsched.problems import find_problem
from clearsched.problems.policy import heuristic
from clearsched.problems.problem import Instance, as_made, means_help
from clearsched.schemas import LEARNING_CURVE, write_table
from clearsched.scorers.guard import Guard
from clearsched.search.guard_bounds import in_turn, measured
from clearsched.search.safety import evidence
from clearsched.teacher.checkpoints import save_checkpoint
from clearsched.teacher.devices import device_of
from clearsched.teacher.experts import Experts
from clearsched.teacher.imitation import Cloning, demonstrate
from clearsched.teacher.judging import Asked, experts_of, rare, settle
from clearsched.teacher.policy_gradient import Improving, temperature_for
from clearsched.teacher.progress import Watch, watching
from clearsched.teacher.resuming import Checkpoints
from clearsched.teacher.run import Diverged, Training
from clearsched.teacher.threads import one_thread
from clearsched.teacher.times import write_times

if TYPE_CHECKING:
    from clearsched.params import Params
    from clearsched.teacher.settings import TeacherParams

STREAM = 4
"""Position of the teacher among the consumers of the seed; the splits of the workloads have 0 to 2."""

CHECKPOINT = 4
"""Grows when other things are put away than before."""

OUTSIDE = {"seeds", "device", "checkpoint_s", "live"}
"""Settings of the section teacher that change how a training runs, not what comes of it."""


def train(
    params: Params,
    trace: Path,
    workloads: Path,
    tuned: Path,
    searched: Sequence[Path],
    out_dir: Path,
    training_seed: int = 0,
    times: Path | None = None,
) -> Mapping[str, Any]:
    """Train a teacher and write it to `out_dir`.

    The number of steps is fixed by `params`, never by the clock, and one thread does the arithmetic, so the same
    inputs give the same files to the byte, also if the training was killed and started again in between.

    Args:
        params: problem, seed and the section teacher are used.
        trace, workloads: Parquet files; episodes of the splits train and validation are used.
        tuned: JSON file of the tuned heuristics.
        searched: JSON files of searched policies.
        out_dir: gets teacher.safetensors, teacher.json and learning_curve.parquet.
        training_seed: another one gives other weights, draws and batches on the same episodes.
        times: gets the CPU seconds that each row of the learning curve was reached after; None: they are not kept.

    Returns:
        What teacher.json says beyond network and inputs.

    Raises:
        ClearschedError: an input is broken, does not hold the policy to clone, or cloning came to nothing.
    """
    problem = find_problem(params.problem)
    device = device_of(params.teacher.device)
    instance = problem.open(trace, workloads)
    experts = experts_of(params.teacher, instance, tuned, searched)
    settings = params.teacher.guard
    guards = in_turn(settings, measured(settings, experts.cloned, instance, tuned, "teacher.guard"))
    inputs = {"trace": trace, "workloads": workloads, "tuned": tuned} | {f"searched/{p.stem}": p for p in searched}
    used = params.teacher.model_dump(mode="json", exclude=OUTSIDE)
    origin = provenance({"seed": params.seed, "training_seed": training_seed, "teacher": used}, inputs)
    out_dir = Path(out_dir)
    digest = digest_json([CHECKPOINT, origin, problem.name, device.type, torch.__version__])
    checkpoints = Checkpoints(out_dir, digest, params.teacher.checkpoint_s)
    asked = _asked(params.teacher, instance, experts, guards[0])
    with one_thread():
        training = run(params, instance, experts, training_seed, checkpoints, device, out_dir / "live", asked)
    chosen, guard = settle(training, guards, asked)
    baseline = heuristic(problem, problem.baseline)
    facts = {
        "seed": params.seed,
        "training_seed": training_seed,
        "device": device.type,
        "cloned": {
            "policy": experts.cloned.name,
            "kind": experts.cloned.kind,
            "settings": dict(experts.cloned.settings),
        },
        "validation": training.validation_facts(),
        "stopped": training.stopped or None,
        "refused": [str(verdict) for verdict in chosen.refused],
        **({"help_first": True} if means_help(instance) else {}),
        **({"guard": guard.to_json()} if guard else {}),
        **evidence(chosen.verdict, baseline, instance),
        "provenance": origin,
    }
    sizes = params.teacher.network.model_dump()
    save_checkpoint(out_dir / "teacher.safetensors", training.network.cpu(), problem, sizes, facts)
    measure = instance.objective
    curve = pa.Table.from_pylist(training.rows, schema=LEARNING_CURVE)
    about = {"measure": measure.name, "label": measure.label, "short": measure.short, "unit": measure.unit}
    write_table(out_dir / "learning_curve.parquet", curve, LEARNING_CURVE, origin | about)
    if times is not None:
        write_times(times, training.rows, training.cpu_s)
    checkpoints.clear()
    return facts


def run(
    params: Params,
    instance: Instance,
    experts: Experts,
    training_seed: int = 0,
    checkpoints: Checkpoints | None = None,
    device: torch.device | None = None,
    live_dir: Path | None = None,
    asked: Asked | None = None,
) -> Training:
    """Both phases of training, with a progress bar on stderr; on from the checkpoint if there is one.

    `asked`: what the clone is asked between rounds, if it is.
    """
    weights, cloning, improving = streams(params.seed, training_seed)
    network = new_network(instance, params.teacher, weights).to(device or torch.device("cpu"))
    episodes, validation = (as_made(instance, instance.split(split)) for split in ("train", "validation"))
    training = Training(instance, validation, network, experts)
    further = as_made(instance, asked.episodes) if asked else ()
    clone = Cloning(network, instance, episodes, experts.cloned.compiled, params.teacher.clone, cloning, further)
    improve = Improving(
        network, instance, episodes, params.teacher.improve, improving, training.scale_s, experts.cloned.compiled
    )
    training.parts(checkpoints, clone, improve, {"clone": cloning, "improve": improving})
    training.resume()
    with ExitStack() as stack:
        live = live_dir if params.teacher.live else None
        watch = stack.enter_context(watching(params.teacher, training, live))
        try:
            if training.phase == "clone":
                run_clone(training, clone, params.teacher, watch, asked)
            run_improve(training, improve, params.teacher, watch)
        except Diverged as why:
            training.stop(str(why))
    return training


def streams(seed: int, training_seed: int) -> list[np.random.Generator]:
    """The random streams of weights, cloning and improving. Training seed 0 is that of a run without one."""
    entropy = seed if training_seed == 0 else [seed, training_seed]
    found = np.random.SeedSequence(entropy, spawn_key=(STREAM,)).spawn(3)
    return [np.random.default_rng(stream) for stream in found]


def _asked(params: TeacherParams, instance: Instance, experts: Experts, guard: Guard | None) -> Asked | None:
    """What the clone is asked between rounds; None: there is no round to correct it in."""
    if not params.clone.safety_rounds:
        return None
    return Asked(instance, guard, rare(instance, experts.cloned, params.clone.safety_episodes))


def run_clone(
    training: Training, cloning: Cloning, params: TeacherParams, watch: Watch, asked: Asked | None = None
) -> None:
    """Clone round by round until it costs no more than `tolerance`; the best round goes on, softened.

    Without a tolerance all rounds run and the last goes on: it has learned from all corrections, and where a few jobs
    are most of the work a mean over the validation episodes does not tell the faithful from the others.

    Then come rounds on episodes of the safety check on which the clone strays, and the last of them goes on.

    Each epoch is a row of the learning curve, the last one of a round with the validation objective.
    """
    settings = params.clone
    while (strayed := _next_round(training, cloning, asked)) is not None:
        number = cloning.number
        for epoch in cloning.run_round(strayed):
            training.check("loss", epoch.loss)
            training.record("clone", len(training.rows), epoch.episodes, loss=epoch.loss, entropy=epoch.entropy)
            if cloning.epoch < settings.epochs:
                training.save()
            watch.epoch(epoch)
        latest = settings.tolerance is None or cloning.safety_rounds > 0
        training.record_validation(training.validate(f"clone, round {number}", latest=latest))
        training.save()
        watch.validated()
    training.network.load_state_dict(training.best)
    examples = demonstrate(
        training.instance, cloning.training[: settings.episodes], cloning.expert, none=training.network.none
    )
    training.network.soften(temperature_for(training.network, examples.observation, params.improve.exploration))
    training.begin_improving()
    training.save()


def _next_round(training: Training, cloning: Cloning, asked: Asked | None) -> list[int] | None:
    """The episodes of the check that the next round of cloning is about, [] if it is none of these; None: no more."""
    settings, begun = cloning.params, cloning.safety_rounds
    if cloning.epoch:  # it was put away within a round, which goes on
        return []
    if not begun and cloning.number <= settings.dagger_rounds and not training.is_close(settings.tolerance):
        return []
    strayed = asked.strayed(cloning.network) if asked and begun < settings.safety_rounds else []
    return strayed or None


def run_improve(training: Training, improving: Improving, params: TeacherParams, watch: Watch) -> None:
    """Improve the clone; each iteration is a row of the learning curve."""
    settings = params.improve
    watch.improving()
    for found in improving.run():
        index = improving.iteration - 1
        training.check("loss", found.loss)
        last = improving.iteration == settings.iterations
        value = None
        if last or improving.iteration % settings.validate_every == 0:
            value = training.validate(f"iteration {index}")
            if improving.average:
                value = training.better(value, training.validate_average(f"mean of the weights, iteration {index}"))
        episodes = training.rows[-1]["episodes"] + settings.sequences * settings.rollouts
        training.record("improve", index, episodes, validation_objective=value, **found._asdict())
        watch.iteration(found)
        if value is not None:
            training.check_validation(value)
        training.save()


def new_network(instance: Instance, params: TeacherParams, generator: np.random.Generator) -> Any:
    """A network with random weights, without touching torch's global random state."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator.integers(2**63)))
        return instance.problem.network(params.network.model_dump(), instance.none)
