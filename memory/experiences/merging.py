"""What says the same becomes one: memories changed since the last run → pairs that are near or have
one normal form → one. What is only alike is listed, and stays two: a person decides, or a language
model where there is one.

The survivor keeps its own belief, so nothing is written to the ledger; the other's evidence and
origins carry over, and its record stays. Nothing is held while texts are compared: an edit that
comes in between wins, and its memory is looked at again by the next run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast
from uuid import UUID

from memory.experiences.judging import PairJudgement, judge_pairs, stays_two
from memory.experiences.store import (
    START,
    ChangedMemories,
    Merge,
    MergeMember,
    MergePosition,
    NearPair,
    TwinStore,
)
from memory.kernel.engine import Engine
from memory.kernel.likeness import TWIN, says_the_same
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import WorkStore
from memory.memories.store.memories import MemoryStore, Stamp
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore

NAME = "merge"


LIMIT = 500
"""Changed memories that one run looks at; the rest waits for the next."""


TEXTS_COMPLETED = 20_000
"""Texts of an earlier release whose normal form and terms one run computes."""


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a run would merge, or merged; and what it left as it was because it had changed."""

    changed: ChangedMemories
    through: MergePosition
    merges: Sequence[Merge]
    alike: Sequence[NearPair]
    judgement: PairJudgement
    skipped: Sequence[Merge] = ()

    def result(self) -> dict[str, object]:
        """As the run's record says it; `through` is where the next run goes on."""
        return {
            "examined": self.changed.examined,
            "left": self.changed.left,
            "through": [self.through.bank_version, str(self.through.memory_id)],
            "changes": [
                *(_change(merge, "merged") for merge in self.merges),
                *(_change(merge, "kept: it was changed meanwhile") for merge in self.skipped),
            ],
            "alike": [[str(pair.one.id), str(pair.other.id)] for pair in self.alike],
            "judged": {"answered": self.judgement.asked, "open": self.judgement.unasked},
        }


def _change(merge: Merge, change: str) -> dict[str, object]:
    return {
        "memory_id": str(merge.merged.id),
        "change": change,
        "into": str(merge.survivor.id),
    }


async def judge_alike(
    engine: Engine, namespace: Namespace, times: tuple[datetime, datetime]
) -> PairJudgement:
    """What a language model says of the pairs that a run would only list."""
    if engine.llm is None:
        return PairJudgement()
    async with engine.database.transaction(namespace.id) as connection:
        near = await _find_near(connection, namespace, times[0])
    return await judge_pairs(engine, namespace, near.pairs, times[1])


async def merge_twins(
    connection: Connection,
    namespace: Namespace,
    times: tuple[datetime, datetime],
    *,
    dry: bool,
    plan: PairJudgement,
) -> MergeResult:
    """Merge the near-twins among what changed since the last run, as of `times[0]`."""
    now, recorded_at = times
    near = await _find_near(connection, namespace, now)
    store, merges = TwinStore(connection, namespace.id), choose_merges(near.pairs, plan)
    changed, through, alike = near.changed, near.through, list_alike(near.pairs, merges)
    if dry or not merges:
        return MergeResult(changed, through, merges, alike, plan)
    version = await NamespaceStore(connection).bump(namespace, memories=-len(merges))
    await store.hold([member.id for merge in merges for member in (merge.survivor, merge.merged)])
    merged = [merge for merge in merges if await store.merge(merge, version)]
    await NamespaceStore(connection).recount(namespace.id, len(merges) - len(merged))
    subjects = sorted({member.id for merge in merged for member in (merge.survivor, merge.merged)})
    stamp = Stamp(None, recorded_at, version)
    await MemoryStore(connection, namespace.id).feed(stamp, "merged", subjects)
    skipped = [merge for merge in merges if merge not in merged]
    return MergeResult(changed, through, merged, alike, plan, skipped)


@dataclass(frozen=True, slots=True)
class NearMemories:
    """The pairs among what changed since the last run, and where the next run goes on."""

    changed: ChangedMemories
    through: MergePosition
    pairs: Sequence[NearPair]


async def _find_near(connection: Connection, namespace: Namespace, now: datetime) -> NearMemories:
    store = TwinStore(connection, namespace.id)
    await store.complete_texts(TEXTS_COMPLETED)
    after = _read_position(await WorkStore(connection).last_result(NAME, namespace.id))
    changed = await store.find_changed(after, now, LIMIT)
    through = changed.through or after
    pairs = await store.find_pairs(after, through, now, cosine=TWIN)
    return NearMemories(changed, through, pairs)


def choose_merges(pairs: Sequence[NearPair], judgement: PairJudgement) -> list[Merge]:
    """Which pairs are twins, and which of the two survives; what is merged takes no further part.

    The survivor is the pinned one, else the one with more credit, else the older. Two pinned ones
    stay two, and so do two that someone took apart again by restoring.
    """
    merges: list[Merge] = []
    gone: set[UUID] = set()
    for pair in pairs:
        merge = _choose_survivor(pair, judgement)
        if merge is not None and not gone & {merge.survivor.id, merge.merged.id}:
            merges.append(merge)
            gone.add(merge.merged.id)
    return merges


def list_alike(pairs: Sequence[NearPair], merges: Sequence[Merge]) -> list[NearPair]:
    """Pairs that stay two, of memories that are still in use."""
    gone = {merge.merged.id for merge in merges}
    return [pair for pair in pairs if not gone & {pair.one.id, pair.other.id}]


def _choose_survivor(pair: NearPair, judgement: PairJudgement) -> Merge | None:
    written_alike = says_the_same(pair.one.text, pair.other.text, pair.cosine)
    if stays_two(pair) or not (written_alike or judgement.calls_the_same(pair)):
        return None
    survivor, merged = sorted((pair.one, pair.other), key=_survival_order)
    return Merge(survivor, merged)


def _survival_order(member: MergeMember) -> tuple[bool, int, datetime, UUID]:
    return (not member.pinned, -member.credited, member.learned_at, member.id)


def _read_position(last: Mapping[str, object] | None) -> MergePosition:
    if last is None:
        return START
    version, memory_id = cast("tuple[int, str]", last["through"])
    return MergePosition(version, UUID(memory_id))
