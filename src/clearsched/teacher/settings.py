"""What a user may choose of the teacher: the section `teacher` of params.yaml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clearsched.section import Section

Rate = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class NetworkParams(Section):
    """Size of the network."""

    embedding: int = Field(16, ge=1, le=512, description="width of an embedding")
    hidden: int = Field(32, ge=1, le=1024, description="width of hidden layers")
    rounds: int = Field(4, ge=1, le=64, description="rounds of message passing, where the network reads a graph")


class CloneParams(Section):
    """Imitation of a heuristic, before the network learns on its own."""

    heuristic: str = Field(  # best, or one of the problem's (params.composing)
        "best", description="heuristic that is imitated; best: the one that the tuning found best"
    )
    episodes: Count = Field(16, description="training episodes whose decisions are imitated")
    dagger_rounds: int = Field(
        1, ge=0, le=20, description="rounds in which the clone schedules other episodes and the heuristic corrects it"
    )
    epochs: Count = Field(6, description="passes over the decisions in each round")
    learning_rate: Rate = Field(2e-3, description="step size of Adam")
    batch_size: Count = Field(128, description="decisions in a step")


class ImproveParams(Section):
    """Policy gradient; the baseline of a rollout is the mean over the rollouts of the same job sequence."""

    iterations: int = Field(16, ge=0, description="iterations; 0 keeps the clone")
    sequences: Count = Field(8, description="job sequences in an iteration")
    rollouts: int = Field(4, ge=2, description="rollouts of each job sequence")
    exploration: float = Field(
        0.25,
        gt=0,
        le=5,
        description="mean entropy of the first choice at the start in nats: a clone that is sure of all tries nothing",
    )
    horizon: float = Field(
        1.0,
        gt=0,
        le=1000,
        description="a decision is judged by what follows, discounted to 1/e after so many mean stays of a job under "
        "the heuristic",
    )
    epochs: Count = Field(1, description="passes over the decisions of an iteration")
    batch_size: Count = Field(1024, description="decisions in a step")
    learning_rate: Rate = Field(1e-3, description="step size of Adam")
    entropy: float = Field(0.01, ge=0, le=10, description="weight of the entropy bonus, per nat")
    clip: Rate = Field(0.2, description="largest change of a decision's probability ratio that is rewarded")
    gradient_norm: float = Field(1.0, gt=0, le=1000, description="gradients are clipped to this norm")
    validate_every: Count = Field(4, description="iterations between two checks on the validation episodes")


class TeacherParams(Section):
    """The network that the students learn from."""

    source: Literal["train", "shipped"] = Field(
        "train", description="train: a network is trained; shipped: one that comes with the package"
    )
    shipped: str | None = Field(
        None, min_length=1, max_length=64, description="scenario whose shipped teacher is taken; empty: the run's own"
    )
    network: NetworkParams = NetworkParams()
    clone: CloneParams = CloneParams()
    improve: ImproveParams = ImproveParams()
