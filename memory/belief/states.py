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

VERDICT = 0.1
"""The lift a verdict claims, in added reward."""


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
    """All that one observation may move.

    `deviations` are this agent's and `influences` the reporting party's; one may be missing.
    """

    memories: Mapping[UUID, State]
    deviations: Mapping[UUID, State]
    cell: State
    noise: State
    influences: Mapping[UUID, State] = field(default_factory=dict[UUID, State])


@dataclass(frozen=True, slots=True)
class Observation:
    """One effective outcome, as learning sees it. Rewards lie in [0, 1], larger is better.

    `memories` are those that stood in the compiled guideline, `author_of` those among them that
    the reporter wrote, so that its word about them does not count. Verdicts (`helpful`, `harmful`)
    count for memories that stood in the guideline. `now` is when the outcome became known.
    `party`: whose word it is, where the influence of one party is bounded; `own`: the memories that
    this party wrote, about which it is not. `exposure`: how far each memory could have acted, in
    [-1, 1], 1 where it is not named, below 0 only for a meta-guideline that its coin left out; None
    where the outcome was applied before this was decided.
    `nothing_served`: coins left the run without memory, or no guideline had room for any; so it
    shows what is reached without.
    """

    evidence: Evidence
    reward_on: float | None
    reward_off: float | None
    memories: tuple[UUID, ...]
    author_of: frozenset[UUID]
    helpful: tuple[UUID, ...]
    harmful: tuple[UUID, ...]
    now: datetime
    party: UUID | None = None
    own: frozenset[UUID] = frozenset()
    exposure: Mapping[UUID, float] | None = None
    nothing_served: bool = False

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
    def is_about_others(self) -> bool:
        """Whether it tells more than what a reporter says of its own memories: a run without memory
        at random, or a memory about which its word counts.
        """
        without = self.evidence is Evidence.CONTROL or self.nothing_served
        return without or not self.author_of.issuperset(self.counted)

    @property
    def reward_without(self) -> float | None:
        """What was reached without memory, in either run."""
        if self.reward_off is None and self.nothing_served:
            return self.reward_on
        return self.reward_off

    @property
    def effect(self) -> float:
        """How much of what memory adds in a cell the run with memory shows: all or nothing."""
        return 0.0 if self.nothing_served else 1.0

    @property
    def counted(self) -> tuple[UUID, ...]:
        """The memories this outcome is about, each once, by id: none where none was served."""
        if self.evidence in (Evidence.CONTROL, Evidence.NONE):
            return ()
        return tuple(sorted(set(self.memories)))

    @property
    def exposed(self) -> dict[UUID, float]:
        """How far each of them could have acted, without those that could not at all."""
        known = self.exposure
        found = {i: 1.0 if known is None else known.get(i, 1.0) for i in self.counted}
        return {i: exposure for i, exposure in found.items() if exposure != 0.0}

    def credit(self, residual: float, lifts: Mapping[UUID, float]) -> dict[UUID, float]:
        """How far a residual is the doing of each exposed memory, of which `lifts` says what it is
        believed to add: by its exposure, but not at all where a verdict speaks against it. What
        went well was so in spite of a harmful memory, what went badly in spite of a helpful one;
        until as much is believed as the verdict claims.
        """
        exposed = self.exposed
        if self.exposure is None:
            return exposed
        verdicts = {i: (i in self.helpful) - (i in self.harmful) for i in exposed}
        spared = {
            i
            for i, verdict in verdicts.items()
            if verdict * residual < 0.0 and verdict * lifts[i] < VERDICT
        }
        return {i: 0.0 if i in spared else h for i, h in exposed.items()}


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
