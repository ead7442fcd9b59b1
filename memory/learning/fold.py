"""Every state is a fold of the ledger: the same entries in the same order give the same bits.

The fold is told what happened, never what it came to: entries of outcomes that were superseded,
and the `set` events that a correction appended, are left out by the caller.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from memory.learning.policy import Policy
from memory.learning.states import Evidence, Observation, State, States

Deviant = tuple[UUID, UUID]  # (memory, agent)
Cell = tuple[UUID, UUID]  # (agent, category)


class Operation(StrEnum):
    """What a `set` event did to a memory's belief and to every agent's deviation from it."""

    CREATED = "created"  # starts anew at `start_weight`, whatever was there
    EDIT = "edit"  # its text changed
    DECAY = "decay"  # its age was written down


@dataclass(frozen=True, slots=True)
class Learn:
    """An effective outcome, applied. The agent is the one that acted."""

    agent: UUID
    category: UUID
    reward_kind: str
    observation: Observation

    @property
    def now(self) -> datetime:
        return self.observation.now


@dataclass(frozen=True, slots=True)
class Set:
    """A state set by something other than an outcome."""

    memory: UUID
    operation: Operation
    now: datetime
    start_weight: float = 1.0


Entry = Learn | Set


@dataclass(frozen=True, slots=True)
class Learned:
    """All states of a namespace, by subject. What has no entry is at its start and is not here."""

    memories: Mapping[UUID, State] = field(default_factory=dict[UUID, State])
    deviations: Mapping[Deviant, State] = field(default_factory=dict[Deviant, State])
    cells: Mapping[Cell, State] = field(default_factory=dict[Cell, State])
    noises: Mapping[str, State] = field(default_factory=dict[str, State])


def fold(
    policy: Policy,
    entries: Iterable[Entry],
    *,
    start: Learned | None = None,
    until: datetime | None = None,
) -> Learned:
    """The states after `entries` in their order, from `start` or from nothing.

    With `until`, only what was known by then: the states as of that moment, not yet aged to it.
    """
    book = _Book(policy, start or Learned())
    for entry in entries:
        if until is None or entry.now <= until:
            book.write(entry)
    return book.read()


def siblings(cells: Mapping[Cell, State], agent: UUID, category: UUID) -> list[State]:
    """The cells a new one starts from, in id order: its category's; else its agent's; else all.

    A cell that starts cold at .5 lets an agent's ability leak into the weights of what it is served
    until the baseline has caught up.
    """
    order = sorted(cells)
    nearest = [key for key in order if key[1] == category]
    nearest = nearest or [key for key in order if key[0] == agent] or order
    return [cells[key] for key in nearest]


class _Book:
    """Copies of the states, written in place, so that a fold is linear in its entries."""

    def __init__(self, policy: Policy, start: Learned) -> None:
        self._policy = policy
        self._memories = dict(start.memories)
        self._deviations = dict(start.deviations)
        self._cells = dict(start.cells)
        self._noises = dict(start.noises)

    def read(self) -> Learned:
        return Learned(self._memories, self._deviations, self._cells, self._noises)

    def write(self, entry: Entry) -> None:
        if isinstance(entry, Learn):
            self._learn(entry)
        elif entry.operation is Operation.CREATED:
            self._memories[entry.memory] = self._policy.initial_memory(entry.start_weight)
        else:
            self._set(entry)

    def _learn(self, entry: Learn) -> None:
        if entry.observation.evidence is Evidence.NONE:
            return
        before = self._before(entry)
        after = self._policy.update(before, entry.observation)
        # What the policy left alone is not written: a subject without an event has no row.
        if after.cell is not before.cell:
            self._cells[entry.agent, entry.category] = after.cell
        if after.noise is not before.noise:
            self._noises[entry.reward_kind] = after.noise
        if after.memories is not before.memories:
            self._memories |= after.memories
        self._deviations |= {(m, entry.agent): state for m, state in after.deviations.items()}

    def _before(self, entry: Learn) -> States:
        served = entry.observation.counted
        return States(
            memories={m: self._memory(m) for m in served},
            deviations={
                m: self._deviations[m, entry.agent]
                for m in served
                if (m, entry.agent) in self._deviations
            },
            cell=self._cell(entry.agent, entry.category),
            noise=self._noises.get(entry.reward_kind) or self._policy.initial_noise(),
        )

    def _memory(self, memory: UUID) -> State:
        return self._memories.get(memory) or self._policy.initial_memory()

    def _cell(self, agent: UUID, category: UUID) -> State:
        known = self._cells.get((agent, category))
        return known or self._policy.initial_cell(siblings(self._cells, agent, category))

    def _set(self, entry: Set) -> None:
        edit = entry.operation is Operation.EDIT
        policy = self._policy
        memory_rule = policy.edited_memory if edit else policy.age_memory
        deviation_rule = policy.edited_deviation if edit else policy.age_deviation
        self._memories[entry.memory] = memory_rule(self._memory(entry.memory), entry.now)
        for deviant in [d for d in self._deviations if d[0] == entry.memory]:
            self._deviations[deviant] = deviation_rule(self._deviations[deviant], entry.now)
