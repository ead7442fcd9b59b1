"""Every state is a fold of the ledger: the same entries in the same order give the same bits.

The fold is told what happened, never what it came to: entries of outcomes that were superseded,
and the `set` events that a correction appended, are left out by the caller.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from memory.belief.effect import ArmOutcome, add_outcome, initial_day
from memory.belief.exposure import note_usage
from memory.belief.guard import Losses, initial_record, learn_losses, sampled_losses
from memory.belief.policy import Policy
from memory.belief.rankers import Draw
from memory.belief.states import Evidence, Observation, State, States
from memory.belief.strength import StrengthInput, initial_strength, learn_strength

FIRST_ARITHMETIC, ARITHMETIC = 1, 3
"""How an outcome is folded: as the first release did; since strength forgets; and since a
meta-guideline is credited against its own absence. An outcome keeps the one of its time, so that a
rebuild gives the states that it gave then."""


USUAL = 0.5  # the reward to be expected where a policy knows of none


Deviant = tuple[UUID, UUID]  # (memory, agent)


Influence = tuple[UUID, UUID]  # (memory, party)


Cell = tuple[UUID, UUID]  # (agent, category)


Day = tuple[UUID, UUID, date]  # (agent, category, feedback date)


class Operation(StrEnum):
    """What a `set` event did to a memory's belief, to every agent's deviation from it and to every
    party's influence on it.
    """

    CREATED = "created"  # starts anew at `start_weight`, whatever was there
    EDIT = "edit"  # its text changed
    DECAY = "decay"  # its age was written down


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """What an outcome says beside its rewards: for the effect, the strength and the guard.

    `numeric` is d·e and d² of a numeric pair, d from the answer without memory to the one had
    memory been followed wholly, e to the truth. `losses` has one entry a ranker of that time,
    where each gave an answer of its own; `draw` says which one served, where one was drawn.
    `arithmetic` is the one by which strength is folded.
    """

    arm_outcome: ArmOutcome
    numeric: tuple[float, float] | None = None
    losses: Losses | None = None
    draw: Draw | None = None
    own_information: bool = False
    arithmetic: int = ARITHMETIC


@dataclass(frozen=True, slots=True)
class Learn:
    """An effective outcome, applied. The agent is the one that acted.

    `absent`: memories that were near enough to be served in its run with memory, and were not, or
    were not used; they are counted, nothing more. `named_used`: whether it names which memories
    were used; None where nothing was served, and where it was applied before anybody could.
    """

    agent: UUID
    category: UUID
    reward_kind: str
    observation: Observation
    auxiliary: Auxiliary | None = None
    absent: tuple[UUID, ...] = ()
    named_used: bool | None = None

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
    """All states of a namespace, by subject. What has no entry is at its start and is not here.

    The record of the whole namespace has the key None.
    """

    memories: Mapping[UUID, State] = field(default_factory=dict[UUID, State])
    deviations: Mapping[Deviant, State] = field(default_factory=dict[Deviant, State])
    influences: Mapping[Influence, State] = field(default_factory=dict[Influence, State])
    cells: Mapping[Cell, State] = field(default_factory=dict[Cell, State])
    noises: Mapping[str, State] = field(default_factory=dict[str, State])
    strengths: Mapping[Cell, State] = field(default_factory=dict[Cell, State])
    effects: Mapping[Day, State] = field(default_factory=dict[Day, State])
    records: Mapping[UUID | None, State] = field(default_factory=dict[UUID | None, State])
    usages: Mapping[Cell, State] = field(default_factory=dict[Cell, State])

    @property
    def by_kind(self) -> Mapping[str, Mapping[Any, State]]:
        """The same by kind of subject, as the ledger names kinds."""
        return {
            "memory": self.memories,
            "deviation": self.deviations,
            "influence": self.influences,
            "cell": self.cells,
            "noise": self.noises,
            "strength": self.strengths,
            "effect": self.effects,
            "record": self.records,
            "usage": self.usages,
        }

    @classmethod
    def of_kinds(cls, kinds: Mapping[str, Mapping[Any, State]]) -> "Learned":
        """What `by_kind` says."""
        return cls(
            memories=kinds["memory"],
            deviations=kinds["deviation"],
            influences=kinds["influence"],
            cells=kinds["cell"],
            noises=kinds["noise"],
            strengths=kinds["strength"],
            effects=kinds["effect"],
            records=kinds["record"],
            usages=kinds["usage"],
        )


def fold(
    policy: Policy,
    entries: Iterable[Entry],
    *,
    start: Learned | None = None,
    until: datetime | None = None,
    watch: Callable[[Learn, States], None] | None = None,
) -> Learned:
    """The states after `entries` in their order, from `start` or from nothing.

    With `until`, only what was known by then: the states as of that moment, not yet aged to it.
    `watch` is given each outcome with the states that it reads, before it moves them.
    """
    states = _MutableStates(policy, start or Learned())
    for entry in entries:
        if until is None or entry.now <= until:
            if watch is not None and isinstance(entry, Learn):
                watch(entry, states.before(entry))
            states.apply(entry)
    return states.frozen()


def day_of(entry: Learn) -> Day:
    """The feedback date an outcome belongs to, in its cell."""
    return (entry.agent, entry.category, feedback_date(entry.now))


def feedback_date(known_at: datetime) -> date:
    """The UTC day on which a fact became known."""
    return known_at.astimezone(UTC).date()


def learn_outcome(policy: Policy, start: Learned, entry: Learn) -> tuple[Learned, float | None]:
    """The states after one outcome, and what it showed beyond what those before it expected."""
    states = _MutableStates(policy, start)
    residual = policy.residual(states.before(entry), entry.observation)
    states.apply(entry)
    return states.frozen(), residual


def states_before(policy: Policy, start: Learned, entry: Learn) -> States:
    """The states that one outcome reads, as they were before it."""
    return _MutableStates(policy, start).before(entry)


def other_strengths(strengths: Mapping[Cell, State], agent: UUID, category: UUID) -> list[State]:
    """The strengths of the agent's other cells, in id order."""
    return [strengths[key] for key in sorted(strengths) if key[0] == agent and key[1] != category]


def sibling_cells(cells: Mapping[Cell, State], agent: UUID, category: UUID) -> list[State]:
    """The cells a new one starts from, in id order: its category's; else its agent's; else all.

    A cell that starts cold at .5 lets an agent's ability leak into the weights of what it is served
    until the baseline has caught up.
    """
    order = sorted(cells)
    nearest = [key for key in order if key[1] == category]
    nearest = nearest or [key for key in order if key[0] == agent] or order
    return [cells[key] for key in nearest]


class _MutableStates:
    """Copies of the states, written in place, so that a fold is linear in its entries."""

    def __init__(self, policy: Policy, start: Learned) -> None:
        self._policy = policy
        self._memories = dict(start.memories)
        self._deviations = dict(start.deviations)
        self._deviants = defaultdict[UUID, set[Deviant]](set)
        for deviant in start.deviations:
            self._deviants[deviant[0]].add(deviant)
        self._influences = dict(start.influences)
        self._influenced = defaultdict[UUID, set[Influence]](set)
        for influence in start.influences:
            self._influenced[influence[0]].add(influence)
        self._cells = dict(start.cells)
        self._noises = dict(start.noises)
        self._strengths = dict(start.strengths)
        self._effects = dict(start.effects)
        self._records = dict(start.records)
        self._usages = dict(start.usages)

    def frozen(self) -> Learned:
        return Learned(
            memories=self._memories,
            deviations=self._deviations,
            influences=self._influences,
            cells=self._cells,
            noises=self._noises,
            strengths=self._strengths,
            effects=self._effects,
            records=self._records,
            usages=self._usages,
        )

    def apply(self, entry: Entry) -> None:
        if isinstance(entry, Learn):
            self._learn(entry)
        elif entry.operation is Operation.CREATED:
            self._memories[entry.memory] = self._policy.initial_memory(entry.start_weight)
            for influence in self._influenced.pop(entry.memory, ()):
                del self._influences[influence]
        else:
            self._set(entry)

    def _learn(self, entry: Learn) -> None:
        if entry.observation.evidence is Evidence.NONE:
            return
        before = self.before(entry)
        after = self._policy.update(before, entry.observation)
        # What the policy left alone is not written: a subject without an event has no row.
        if after.cell is not before.cell:
            self._cells[entry.agent, entry.category] = after.cell
        if after.noise is not before.noise:
            self._noises[entry.reward_kind] = after.noise
        if after.memories is not before.memories:
            self._memories |= after.memories
        for memory, state in after.deviations.items():
            self._deviations[memory, entry.agent] = state
            self._deviants[memory].add((memory, entry.agent))
        if (party := entry.observation.party) is not None:
            for memory, state in after.influences.items():
                self._influences[memory, party] = state
                self._influenced[memory].add((memory, party))
        if entry.named_used is not None:
            cell = (entry.agent, entry.category)
            self._usages[cell] = note_usage(
                self._usages.get(cell), entry.now, named=entry.named_used
            )
        if entry.auxiliary is not None:
            self._learn_strength(entry, entry.auxiliary, before)
            self._count(entry, entry.auxiliary)
            self._score(entry, self._losses(entry, entry.auxiliary, before))

    def _learn_strength(self, entry: Learn, auxiliary: Auxiliary, before: States) -> None:
        measurements = self._policy.measurements(before, entry.observation)
        if auxiliary.numeric is None and not measurements:
            return
        cell = (entry.agent, entry.category)
        seen = StrengthInput(
            auxiliary.numeric,
            measurements,
            entry.now,
            acted=auxiliary.arm_outcome,
            forgets=auxiliary.arithmetic > FIRST_ARITHMETIC,
        )
        self._strengths[cell] = learn_strength(
            self._strengths.get(cell) or self._initial_strength(before),
            seen,
            other_strengths(self._strengths, *cell),
            own_information=auxiliary.own_information,
        )

    def _initial_strength(self, before: States) -> State:
        baseline = self._policy.baseline(before)
        return initial_strength() if baseline is None else initial_strength(baseline)

    def _count(self, entry: Learn, auxiliary: Auxiliary) -> None:
        day = day_of(entry)
        known = self._effects.get(day) or initial_day()
        self._effects[day] = add_outcome(known, auxiliary.arm_outcome, entry.now)

    def _losses(self, entry: Learn, auxiliary: Auxiliary, before: States) -> Losses | None:
        reward = entry.observation.reward_on
        if auxiliary.draw is None or reward is None:
            return auxiliary.losses
        usual = self._policy.baseline(before)
        return sampled_losses(auxiliary.draw, reward, USUAL if usual is None else usual)

    def _score(self, entry: Learn, losses: Losses | None) -> None:
        if losses is None:
            return
        for scope in (entry.category, None):
            record = self._records.get(scope) or initial_record(losses)
            self._records[scope] = learn_losses(record, losses, entry.now)

    def before(self, entry: Learn) -> States:
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
            influences=self._influences_of(entry.observation.party, served),
        )

    def _influences_of(self, party: UUID | None, served: Iterable[UUID]) -> dict[UUID, State]:
        if party is None:
            return {}
        pairs = ((memory, (memory, party)) for memory in served)
        return {m: self._influences[pair] for m, pair in pairs if pair in self._influences}

    def _memory(self, memory: UUID) -> State:
        return self._memories.get(memory) or self._policy.initial_memory()

    def _cell(self, agent: UUID, category: UUID) -> State:
        known = self._cells.get((agent, category))
        return known or self._policy.initial_cell(sibling_cells(self._cells, agent, category))

    def _set(self, entry: Set) -> None:
        edit = entry.operation is Operation.EDIT
        policy = self._policy
        memory_rule = policy.edited_memory if edit else policy.age_memory
        deviation_rule = policy.edited_deviation if edit else policy.age_deviation
        self._memories[entry.memory] = memory_rule(self._memory(entry.memory), entry.now)
        for deviant in self._deviants[entry.memory]:
            self._deviations[deviant] = deviation_rule(self._deviations[deviant], entry.now)
        influence_rule = policy.edited_influence if edit else policy.age_influence
        for influence in self._influenced[entry.memory]:
            self._influences[influence] = influence_rule(self._influences[influence], entry.now)
