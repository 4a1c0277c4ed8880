"""What a user may choose of the teacher: the section `teacher` of params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clearsched.scorers.settings import GuardParams
from clearsched.section import Section

Rate = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class NetworkParams(Section):
    """Size of the network."""

    embedding: int = Field(16, ge=1, le=512, description="width of an embedding")
    hidden: int = Field(32, ge=1, le=1024, description="width of hidden layers")
    rounds: int = Field(
        4,
        ge=0,
        le=64,
        description="rounds of message passing, where the network reads a graph; 0: no graph embedding, scores are "
        "told from the inputs of stage, job and cluster alone",
    )
    levels: Literal["learned", "most"] = Field(
        "learned",
        description="choice of a level, where the problem has one: the network's own, or always the most there is, so "
        "that nothing is limited",
    )
    rate: bool = Field(
        False,
        description="whether the network is told the mean time between arrivals, where the problem tells it",
    )


class CloneParams(Section):
    """Imitation of the best policy known, before the network learns on its own."""

    policy: str = Field(  # best, or one that the problem knows (params.composing)
        "best",
        description="policy that is imitated, a tuned heuristic or a searched one; best: the one with the best mean "
        "objective on the validation episodes, of those that are safe",
    )
    episodes: Count = Field(16, description="training episodes whose decisions are imitated, and those of each round")
    dagger_rounds: int = Field(
        4, ge=0, le=100, description="most rounds in which the clone schedules other episodes and is corrected"
    )
    tolerance: float | None = Field(
        0.002,
        ge=0,
        le=10,
        description="cloning ends when the clone's objective is worse by no more than this share of it, on the "
        "validation episodes; null: after all rounds, and the last one goes on, the most faithful, not the best",
    )
    safety_rounds: int = Field(
        0,
        ge=0,
        le=100,
        description="most rounds after these, each on the training episodes and the streams of the safety check on "
        "which the clone strays, until it strays on none",
    )
    safety_episodes: int = Field(
        0,
        ge=0,
        le=100_000,
        description="further episodes of training jobs, drawn anew, that the clone is asked too, where what is "
        "imitated does not stray: for what comes less than once in a thousand; of no use without safety_rounds",
    )
    epochs: Count = Field(4, description="passes over the decisions in each round")
    learning_rate: Rate = Field(2e-3, description="step size of Adam at the start of a round; it falls to 0")
    batch_size: Count = Field(128, description="decisions in a step")


class ImproveParams(Section):
    """Policy gradient; the baseline of a rollout is a mean over rollouts, those of the same job sequence by default."""

    iterations: int = Field(6, ge=0, le=1_000_000, description="iterations; 0 keeps the clone")
    sequences: Count = Field(8, description="job sequences in an iteration")
    rollouts: int = Field(4, ge=2, le=10_000, description="rollouts of each job sequence")
    baseline: Literal["sequence", "iteration"] = Field(
        "sequence",
        description="rollouts whose mean return is a rollout's baseline: those of its own job sequence, which takes "
        "out what the jobs brought, or all of the iteration",
    )
    exploration: float = Field(
        0.1,
        gt=0,
        le=5,
        description="mean entropy of the first choice at the start in nats: a clone that is sure of all tries nothing",
    )
    horizon: float = Field(
        1.0,
        gt=0,
        le=1000,
        description="a decision is judged by what follows, discounted to 1/e after so many mean stays of a job under "
        "the cloned policy",
    )
    trace: float | None = Field(
        0.3,
        gt=0,
        le=1000,
        description="mean stays of a job after which what follows is 1/e measured and the rest told from the backlog "
        "(generalised advantage); null: all of it is measured",
    )
    curriculum: float | None = Field(
        None,
        gt=0,
        le=1000,
        description="rollouts are cut at a time drawn from an exponential distribution, its mean so many mean stays "
        "of a job at first and 10 times as many at the end; null: they run to their end",
    )
    epochs: Count = Field(2, description="most passes over the decisions of an iteration")
    target_kl: float | None = Field(
        0.02,
        gt=0,
        le=10,
        description="no further step in an iteration once the choices have moved so far from those that were drawn, "
        "in nats a decision; null: no such end",
    )
    batch_size: Count = Field(1024, description="decisions in a step")
    learning_rate: Rate = Field(3e-4, description="step size of Adam at the start; it falls to 0 in a straight line")
    entropy: float = Field(0.003, ge=0, le=10, description="weight of the entropy bonus at the start, per nat")
    entropy_end: float = Field(0.0, ge=0, le=10, description="that at the end; a straight line lies between")
    anchor: float = Field(
        0.0, ge=0, le=100, description="weight of the divergence from the clone, per nat: keeps the steps near to it"
    )
    clip: Rate = Field(0.2, description="largest change of a decision's probability ratio that is rewarded")
    gradient_norm: float = Field(1.0, gt=0, le=1000, description="gradients are clipped to this norm")
    average: float = Field(
        0.8,
        ge=0,
        lt=1,
        description="share of the past in the running mean of the weights after each iteration, which is tried on the "
        "validation episodes too; 0: no such mean",
    )
    validate_every: Count = Field(3, description="iterations between two checks on the validation episodes")


class PublishedParams(Section):
    """A network that others trained and published, in place of one of ours."""

    name: str | None = Field(None, description="which one")  # of those that the problem knows (params.composing)
    path: str | None = Field(
        None, min_length=1, max_length=4096, description="its checkpoint, a local file; empty: it is downloaded"
    )


class TeacherParams(Section):
    """The network that the students learn from."""

    source: Literal["train", "shipped", "published"] = Field(
        "train",
        description="train: a network is trained; shipped: one that comes with the package; published: one that others "
        "published",
    )
    shipped: str | None = Field(
        None, min_length=1, max_length=64, description="scenario whose shipped teacher is taken; empty: the run's own"
    )
    published: PublishedParams = PublishedParams()
    network: NetworkParams = NetworkParams()
    clone: CloneParams = CloneParams()
    improve: ImproveParams = ImproveParams()
    seeds: int = Field(3, ge=1, le=100, description="networks that are trained; the best on validation is kept")
    device: Literal["auto", "cpu", "cuda"] = Field(
        "cpu",
        description="where the network is trained; auto: on a GPU if there is one, which is slower for such sizes",
    )
    checkpoint_s: float = Field(
        60.0, ge=0, le=86400, description="time between two checkpoints, s; results do not depend on it"
    )
    live: bool = Field(False, description="whether metrics are written with DVCLive as training goes")
    guard: GuardParams = GuardParams()
