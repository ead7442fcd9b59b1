"""LangGraph: a store, for `compile(store=…)`, `create_agent(…, store=…)` and the tools of LangMem.

    store = MemLiftStore(memory)

An item's words (its `situation` and `lesson`, its `content`, else its JSON) become a memory; items
that say the same share one. A search with a query is a retrieval: `store.report(found, reward=1)`
says how the run went in which those items were used. A namespace of LangGraph is a filter over one
of MemLift's, and no wall.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from memlift_client import MemLift, Memory, TaskFields

from memlift_agents import _items as kept
from memlift_agents._items import ServedItem

MOST_SERVED = 64
"""What one retrieval gives; a search pages, filters and looks for namespaces within these."""


class MemLiftStore(BaseStore):
    """Keeps items in memories, and finds them by what proved to help."""

    def __init__(self, memory: MemLift, *, category: str | None = None, arm: Any = "on") -> None:
        """`arm="auto"` now and then finds nothing, which measures what the memory is worth."""
        self._memory = memory
        self._category = category
        self._arm = arm

    def report(self, found: Sequence[Item], reward: float, **said: Any) -> None:
        """How a run went, 0 to 1, that used these items of one search or several; `said` is what
        else `MemLift.report` takes.
        """
        served = [item for item in found if isinstance(item, ServedItem)]
        for receipt in dict.fromkeys(item.receipt for item in served):
            used = [item.memory_id for item in served if item.receipt == receipt]
            self._memory.report(receipt, reward=reward, used=used, **said)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return [self._do(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _do(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = (item for memory in self._find(op) for item in kept.items_of(memory))
                return next((item for item in found if kept.is_at(item, op)), None)
            case PutOp():
                return self._put(op)
            case SearchOp():
                found = self._served(op) if op.query else self._walk(op.namespace_prefix)
                fitting = [item for item in found if kept.fits(item.value, op.filter or {})]
                return fitting[op.offset : op.offset + op.limit]
            case ListNamespacesOp():
                return self._list_namespaces(op)

    def _find(self, op: GetOp | PutOp) -> Iterator[Memory]:
        wanted = {"place": kept.place(op), "key": op.key}
        found = self._memory.each_experience(metadata={kept.ITEMS: [wanted]})
        return (one for one in found if one.status != "retired")

    def _walk(self, prefix: tuple[str, ...]) -> list[SearchItem]:
        """All items below a namespace, the newest first."""
        memories = self._memory.each_experience(metadata={kept.ITEMS: []})
        found = (item for one in memories if one.status != "retired" for item in kept.items_of(one))
        below = [
            SearchItem(**kept.parts(one)) for one in found if one.namespace[: len(prefix)] == prefix
        ]
        return sorted(below, key=lambda item: item.updated_at, reverse=True)

    def _served(self, op: SearchOp) -> list[SearchItem]:
        task: TaskFields = {"text": str(op.query)}
        if self._category is not None:
            task["category"] = self._category
        served = self._memory.retrieve(task=task, k=MOST_SERVED, format="memories", arm=self._arm)
        prefix = op.namespace_prefix
        return [
            ServedItem(item, one.score, one.memory_id, served.receipt)
            for one in served.memories
            for item in kept.items_of(one)
            if item.namespace[: len(prefix)] == prefix
        ]

    def _put(self, op: PutOp) -> None:
        """Words that change are a new version of their memory, where it holds no other item."""
        for memory in list(self._find(op)):
            others = [one for one in kept.entries_of(memory) if not kept.is_entry(one, op)]
            if others:
                self._hold(memory, others)
            elif op.value is None:
                self._memory.retire(memory.id)
            else:
                situation, lesson = kept.words_of(op.value)
                entry = kept.as_entry(op, op.value)
                self._hold(memory, [entry], situation=situation, lesson=lesson)
                return
        if op.value is not None:
            self._keep(op, op.value)

    def _keep(self, op: PutOp, value: Mapping[str, Any]) -> None:
        situation, lesson = kept.words_of(value)
        stored = self._memory.remember(
            agent=self._memory.agent,
            situation=situation,
            lesson=lesson,
            category=self._category,
            metadata={kept.ITEMS: [kept.as_entry(op, value)]},
        )
        if stored.deduplicated:
            memory = self._memory.get_experience(stored.id)
            self._hold(memory, [*kept.entries_of(memory), kept.as_entry(op, value)])

    def _hold(self, memory: Memory, items: Sequence[object], **words: Any) -> None:
        metadata = {**memory.metadata, kept.ITEMS: items}
        self._memory.edit_experience(memory.id, memory.version, metadata=metadata, **words)

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        found = {
            item.namespace[: op.max_depth]
            for item in self._walk(())
            if all(kept.matches(item.namespace, one) for one in conditions)
        }
        return sorted(found)[op.offset : op.offset + op.limit]
