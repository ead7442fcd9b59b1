"""Near-twins become one: memories changed since the last run → nearest neighbours → pairs → one.

The survivor keeps its own belief, so nothing is written to the ledger; the other's evidence and
origins carry over, and its record stays. Nothing is held while texts are compared: an edit that
comes in between wins, and its memory is looked at again by the next run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from memory.experiences.store.twins import START, Changed, Member, MergingStore, Pair, Place, Union
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import WorkStore
from memory.memories.rules import TWIN, is_twin
from memory.memories.store.memories import MemoryStore, Stamp
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore

NAME = "merge"


LIMIT = 500
"""Changed memories that one run looks at; the rest waits for the next."""


@dataclass(frozen=True, slots=True)
class Merging:
    """What a run would merge, or merged; and what it left as it was because it had changed."""

    changed: Changed
    through: Place
    unions: Sequence[Union]
    voided: Sequence[Union] = ()

    def result(self) -> dict[str, object]:
        """As the run's record says it; `through` is where the next run goes on."""
        return {
            "examined": self.changed.examined,
            "left": self.changed.left,
            "through": [self.through.bank_version, str(self.through.memory_id)],
            "changes": [
                *(_change(union, "merged") for union in self.unions),
                *(_change(union, "kept: it was changed meanwhile") for union in self.voided),
            ],
        }


def _change(union: Union, change: str) -> dict[str, object]:
    return {
        "memory_id": str(union.merged.id),
        "change": change,
        "into": str(union.survivor.id),
    }


async def merge(
    connection: Connection, namespace: Namespace, times: tuple[datetime, datetime], *, dry: bool
) -> Merging:
    """Merge the near-twins among what changed since the last run, as of `times[0]`."""
    now, recorded_at = times
    store = MergingStore(connection, namespace.id)
    last = await WorkStore(connection).last_result(NAME, namespace.id)
    after = _place(last)
    changed = await store.changed(after, now, LIMIT)
    through = changed.through or after
    pairs = await store.pairs(after, through, now, TWIN)
    unions = unions_of(pairs)
    if dry or not unions:
        return Merging(changed, through, unions)
    version = await NamespaceStore(connection).bump(namespace.id, memories=-len(unions))
    await store.hold([member.id for union in unions for member in (union.survivor, union.merged)])
    merged = [union for union in unions if await store.merge(union, version)]
    await NamespaceStore(connection).recount(namespace.id, len(unions) - len(merged))
    subjects = sorted({member.id for union in merged for member in (union.survivor, union.merged)})
    stamp = Stamp(None, recorded_at, version)
    await MemoryStore(connection, namespace.id).feed(stamp, "merged", subjects)
    voided = [union for union in unions if union not in merged]
    return Merging(changed, through, merged, voided)


def unions_of(pairs: Sequence[Pair]) -> list[Union]:
    """Which pairs are twins, and which of the two survives; what is merged takes no further part.

    The survivor is the pinned one, else the one with more credit, else the older. Two pinned ones
    stay two, and so do two that someone took apart again by restoring.
    """
    unions: list[Union] = []
    gone: set[UUID] = set()
    for pair in pairs:
        union = _union(pair)
        if union is not None and not gone & {union.survivor.id, union.merged.id}:
            unions.append(union)
            gone.add(union.merged.id)
    return unions


def _union(pair: Pair) -> Union | None:
    if not is_twin(pair.one.text, pair.other.text, pair.cosine):
        return None
    survivor, merged = sorted((pair.one, pair.other), key=_standing)
    if (
        merged.pinned
        or merged.merged_into == str(survivor.id)
        or (survivor.merged_into == str(merged.id))
    ):
        return None
    return Union(survivor, merged)


def _standing(member: Member) -> tuple[bool, int, datetime, UUID]:
    return (not member.pinned, -member.credited, member.learned_at, member.id)


def _place(last: Mapping[str, object] | None) -> Place:
    if last is None:
        return START
    version, memory_id = cast("tuple[int, str]", last["through"])
    return Place(version, UUID(memory_id))
