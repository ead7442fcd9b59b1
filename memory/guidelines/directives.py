"""The deterministic part of a meta-guideline: which entries its directives leave out, and in which
order the rest stands.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

from memory.guidelines.entities import (
    CrossCategory,
    Entry,
    Guidance,
    OnDisagreement,
    Order,
)
from memory.receipts.guideline_entities import CutReason

EXPERIENCE = "experience"


Cuts = dict[UUID, CutReason]


def left_out(strongest: Sequence[Entry], guidance: Guidance) -> Cuts:
    """Which of the entries, given strongest first, the directives cut, and why."""
    cuts: Cuts = {}
    for cut, reason in (
        (_foreign, CutReason.CATEGORY),
        (_disagreeing, CutReason.DISAGREEMENT),
        (_beyond, CutReason.MAX_MEMORIES),
    ):
        left = [entry for entry in strongest if entry.id not in cuts]
        cuts |= {entry.id: reason for entry in cut(left, guidance)}
    return cuts


def _foreign(entries: Sequence[Entry], guidance: Guidance) -> list[Entry]:
    allowed = guidance.directives.cross_category is CrossCategory.ALLOW
    if allowed or guidance.category is None:
        return []
    return [e for e in entries if e.kind == EXPERIENCE and e.category != guidance.category]


def _disagreeing(entries: Sequence[Entry], guidance: Guidance) -> list[Entry]:
    signed = [entry for entry in entries if entry.sign]
    if not disagree(entries):
        return []
    match guidance.directives.on_disagreement:
        case OnDisagreement.DROP:
            return signed
        case OnDisagreement.STRONGEST:
            return [entry for entry in signed if entry.sign != signed[0].sign]
        case _:
            return []


def _beyond(entries: Sequence[Entry], guidance: Guidance) -> list[Entry]:
    most = guidance.directives.max_memories
    return [] if most is None else list(entries[most:])


def disagree(entries: Sequence[Entry]) -> bool:
    """Whether the evidence of some points up and that of others down."""
    return {-1, 1} <= {entry.sign for entry in entries}


PLACES: dict[Order, Callable[[Entry], tuple[float, ...]]] = {
    Order.STRONGEST: lambda entry: (-entry.score,),
    Order.NEWEST: lambda entry: (-entry.learned_at.timestamp(), -entry.score),
    Order.AS_RANKED: lambda entry: (entry.rank,),
}


def place(entry: Entry, order: Order) -> tuple[tuple[float, ...], str]:
    """Where an entry stands; ties go by id."""
    return PLACES[order](entry), entry.id.hex
