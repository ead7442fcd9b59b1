"""What learning remembers and what it learns from: states, and one observation at a time.

A state is a row of float64 numbers whose meaning belongs to the policy, and the moment it last
moved. Everything here is a value; one step of learning is `policy.update(states, observation)`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from math import isfinite
from uuid import UUID

from memory.kernel.errors import Rejected


class Evidence(StrEnum):
    """What kind of comparison an outcome offers."""

    PAIRED = "paired"  # the same task was run with and without memory
    CONTROL = "control"  # one run, without memory at random
    SINGLE = "single"  # one run, with memory
    NONE = "none"  # kept and counted, moves nothing


@dataclass(frozen=True, slots=True)
class State:
    """A policy's numbers about one subject; `touched` is None until the first event moves them.

    `by_ranker`: in a record of rankers, the two numbers of each; empty in any other state.
    """

    values: tuple[float, ...]
    touched: datetime | None = None
    by_ranker: Mapping[str, tuple[float, float]] = field(
        default_factory=dict[str, tuple[float, float]]
    )


@dataclass(frozen=True, slots=True)
class States:
    """All that one observation may move. `deviations` are this agent's; one may be missing."""

    memories: Mapping[UUID, State]
    deviations: Mapping[UUID, State]
    cell: State
    noise: State


@dataclass(frozen=True, slots=True)
class Observation:
    """One effective outcome, as learning sees it. Rewards lie in [0, 1], larger is better.

    `memories` are those that stood in the compiled guideline, `author_of` those among them that
    the reporter wrote, so that its word about them does not count. Verdicts (`helpful`, `harmful`)
    count for memories that stood in the guideline. `now` is when the outcome became known.
    """

    evidence: Evidence
    reward_on: float | None
    reward_off: float | None
    memories: tuple[UUID, ...]
    author_of: frozenset[UUID]
    helpful: tuple[UUID, ...]
    harmful: tuple[UUID, ...]
    now: datetime

    def __post_init__(self) -> None:
        for name, reward in (("reward_on", self.reward_on), ("reward_off", self.reward_off)):
            if reward is not None and not 0.0 <= reward <= 1.0:
                raise Rejected("A reward lies between 0 and 1.", field=name, limit=[0, 1])
        if self.evidence is not Evidence.NONE and self._shape() is not self.evidence:
            raise Rejected(
                f"These rewards are no evidence of kind {self.evidence}.", field="evidence"
            )

    def _shape(self) -> Evidence:
        """What kind of evidence the rewards that are present can be."""
        match (self.reward_on is not None, self.reward_off is not None):
            case (True, True):
                return Evidence.PAIRED
            case (True, False):
                return Evidence.SINGLE
            case (False, True):
                return Evidence.CONTROL
            case _:
                return Evidence.NONE

    @property
    def counted(self) -> tuple[UUID, ...]:
        """The memories this outcome is about, each once, by id: none where none was served."""
        if self.evidence in (Evidence.CONTROL, Evidence.NONE):
            return ()
        return tuple(sorted(set(self.memories)))


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one reward says of two unknowns: what memory adds in a cell, and what is reached
    without.

    `value` is `effect` times what memory adds, plus `baseline` times what is reached without, plus
    noise; `noise` is the variance of what neither explains.
    """

    value: float
    effect: float
    baseline: float
    noise: float

    def __post_init__(self) -> None:
        if not all(map(isfinite, (self.value, self.effect, self.baseline, self.noise))):
            raise Rejected("A measurement is made of finite numbers.", field="measurement")
        if self.noise <= 0.0:
            raise Rejected("A measurement has a positive variance.", field="measurement")


def later(touched: datetime | None, now: datetime) -> datetime:
    """When a subject was last touched, once `now` has touched it: time never runs back."""
    return now if touched is None else max(touched, now)
