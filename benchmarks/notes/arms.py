"""The arms: how each remembers, and which of the notes that it is given the agent listens to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from memlift_client import NamespaceSettingsFields, Retrieval, ServedMemory

from benchmarks.notes.data import Note
from benchmarks.notes.vote import Voice

GOOD, BAD = 2.0, 0.1
"""Where the oracle's notes start: the ends of the scale."""

WEIGHTED = "weighted/none"

# No language model writes guidelines here.
PLAIN = NamespaceSettingsFields(meta_guidelines=False)
# As many as were asked for, however little alike they are.
OPEN = NamespaceSettingsFields(raw_gate=0.0, score_floor=0.0)
# Exploring is a part of learning: what only compares gives no place away.
STILL = PLAIN | NamespaceSettingsFields(slot_rate=0.0)


@dataclass(frozen=True, slots=True)
class Heard:
    """What the agent listens to: a list of notes for each ranker it answers by, the strongest
    first, and the share of each ranker's answer. Most arms have one list.
    """

    lists: Mapping[str, Sequence[Voice]]
    shares: Mapping[str, float]

    @property
    def voices(self) -> list[Voice]:
        """Every note once."""
        return list({one.note: one for some in self.lists.values() for one in some}.values())


NOTHING = Heard({"": ()}, {"": 1.0})


def by_server(retrieval: Retrieval) -> Heard:
    """What was served, by weight times similarity. A memory that has learned nothing weighs 1."""
    voices = [
        _voice(memory, memory.effective_weight * memory.similarity)
        for memory in retrieval.memories
        if memory.cited
    ]
    return Heard({retrieval.ranker: voices}, {retrieval.ranker: 1.0})


def by_fit(retrieval: Retrieval) -> Heard:
    """What was served, by weight alone: for what fits is applied wholly, however alike its example
    is.
    """
    voices = [_voice(one, one.effective_weight) for one in retrieval.memories if one.cited]
    return Heard({retrieval.ranker: voices}, {retrieval.ranker: 1.0})


def by_weight(retrieval: Retrieval) -> Heard:
    """What the ranker by weight alone would serve, whatever the record of the weights."""
    return Heard({WEIGHTED: _list_of(retrieval, WEIGHTED)}, {WEIGHTED: 1.0})


def by_record(retrieval: Retrieval) -> Heard:
    """What each ranker would serve, by its own score, mixed by its record."""
    if not retrieval.memories:
        return NOTHING
    lists = {ranker: _list_of(retrieval, ranker) for ranker in retrieval.rankers}
    return Heard(lists, retrieval.rankers)


def _list_of(retrieval: Retrieval, ranker: str) -> list[Voice]:
    scored = [
        (score, memory)
        for memory in retrieval.memories
        if (score := (memory.scores or {}).get(ranker)) is not None
    ]
    return [_voice(memory, score) for score, memory in sorted(scored, key=lambda pair: -pair[0])]


def _voice(memory: ServedMemory, strength: float) -> Voice:
    known = memory.metadata
    return Voice(
        memory.memory_id, str(known["note"]), memory.situation, str(known["says"]), strength
    )


def _neutral(_: Note) -> float:
    return 1.0


def _by_truth(note: Note) -> float:
    return GOOD if note.right else BAD


@dataclass(frozen=True, slots=True)
class Arm:
    """A namespace of its own. `start` says what weight a note begins with; `tells_used`, whether
    the reports name the notes that the agent went by.
    """

    name: str
    policy: Literal["belief", "paper", "steps", "delta"] = "belief"
    learning: Literal["on", "frozen"] = "on"
    settings: NamespaceSettingsFields = field(default_factory=lambda: PLAIN)
    all_rankers: bool = False
    listen: Callable[[Retrieval], Heard] = by_server
    start: Callable[[Note], float] = _neutral
    tells_used: bool = False


NONE, SIMILARITY, MEMLIFT, PAPER, ORACLE = "none", "similarity", "memlift", "paper", "oracle"
RANKERS = "rankers"
"""As `memlift`, but the agent answers by every ranker and mixes these answers by their record, as a
forecaster of streams does, instead of by the one that the server drew.
"""

USED = "used"
"""As `memlift`, and the reports name what the agent went by."""

_ALL = (
    Arm(SIMILARITY, learning="frozen", settings=STILL),
    Arm(MEMLIFT),
    Arm(RANKERS, all_rankers=True, listen=by_record),
    Arm(PAPER, policy="paper"),
    Arm(
        ORACLE,
        learning="frozen",
        settings=STILL,
        all_rankers=True,
        listen=by_weight,
        start=_by_truth,
    ),
)
REMEMBERING: Mapping[str, Arm] = {arm.name: arm for arm in _ALL}
ARMS = (NONE, *REMEMBERING)
