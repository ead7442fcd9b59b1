"""How LangGraph's items are kept: in the metadata of the memory that has their words.

Several items that say the same share a memory; each has its own value, exactly as it was put.
"""

import json
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langgraph.store.base import GetOp, Item, MatchCondition, PutOp, SearchItem
from memlift_client import Memory, ServedMemory

ITEMS = "langgraph"
"""Where a memory's metadata keeps the items that it stands for."""
TEXT_LENGTH = 4_000
"""Characters of a memory's words that a server takes."""
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    f"${name}": getattr(operator, name) for name in ("eq", "ne", "gt", "lt")
} | {"$gte": operator.ge, "$lte": operator.le}


class ServedItem(SearchItem):
    """An item with what it takes to report how its use went."""

    __slots__ = ("memory_id", "receipt")

    def __init__(self, item: Item, score: float, memory_id: str, receipt: str) -> None:
        super().__init__(**parts(item), score=score)
        self.memory_id = memory_id
        self.receipt = receipt


def place(op: PutOp | GetOp) -> str:
    return ".".join(op.namespace)


def as_entry(op: PutOp, value: Mapping[str, Any]) -> dict[str, str]:
    """An item as metadata keep it: of any depth, and exactly."""
    return {"place": place(op), "key": op.key, "value": json.dumps(dict(value))}


def is_entry(entry: Mapping[str, str], op: PutOp) -> bool:
    return (entry["place"], entry["key"]) == (place(op), op.key)


def is_at(item: Item, op: GetOp) -> bool:
    return (item.namespace, item.key) == (op.namespace, op.key)


def entries_of(memory: Memory | ServedMemory) -> list[dict[str, str]]:
    found: Any = memory.metadata.get(ITEMS, [])
    return list(found)


def items_of(memory: Memory | ServedMemory) -> Iterator[Item]:
    for one in entries_of(memory):
        yield Item(
            value=json.loads(one["value"]),
            key=one["key"],
            namespace=tuple(one["place"].split(".")),
            created_at=memory.learned_at,
            updated_at=memory.learned_at,
        )


def parts(item: Item) -> dict[str, Any]:
    return {name: getattr(item, name) for name in Item.__slots__}


def words_of(value: Mapping[str, Any]) -> tuple[str, str]:
    """When it applies, and what it says; both the same where the item does not tell them apart."""
    text = value.get("content")
    lesson = value.get("lesson") or (text if isinstance(text, str) else json.dumps(dict(value)))
    return str(value.get("situation") or lesson)[:TEXT_LENGTH], str(lesson)[:TEXT_LENGTH]


def fits(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an item passes a filter: equal, or compared by `{"$gt": …}` and its kind."""
    for name, bound in wanted.items():
        by = bound if isinstance(bound, dict) else {"$eq": bound}
        if not all(COMPARED[sign](value.get(name), limit) for sign, limit in by.items()):
            return False
    return True


def matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return len(part) == len(path) and all(
        want in ("*", have) for want, have in zip(path, part, strict=True)
    )
