"""What is made of memories shows of each only what a key may read: one rule, for every answer.

An answer is looked through for ids. Instead of the id of a memory that the key may not read stands
`HIDDEN`, instead of words made of it `PRIVATE`; numbers stay. A noun that holds words of memories
says by `hide` how they go; ids go wherever they stand, in texts too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol, TypeVar, cast, runtime_checkable
from uuid import UUID

from memory.memories.entities import HIDDEN
from memory.tenancy.entities import AuditEntry

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Mask:
    """Of the memories that an answer names: those that may be read, and those that may not."""

    readable: frozenset[UUID] = frozenset()
    hidden: frozenset[UUID] = frozenset()

    def hides(self, memory_ids: Iterable[UUID]) -> bool:
        """Whether words made of these go: all that are made of one not known to be readable."""
        return not self.readable.issuperset(memory_ids)

    def apply(self, answer: Answer) -> Answer:
        """The answer without what it tells of memories that may not be read."""
        return cast("Answer", self._without(answer))

    def _without(self, part: object) -> object:
        if isinstance(part, UUID):
            return HIDDEN if part in self.hidden else part
        # A word of an enumeration names no memory.
        if type(part) is str:
            return _ID.sub(lambda found: str(self._without(UUID(found[0]))), part)
        if isinstance(part, Mapping):
            pairs = cast("Mapping[object, object]", part).items()
            return {self._without(key): self._without(value) for key, value in pairs}
        if isinstance(part, list | tuple):
            kept = [self._without(one) for one in cast("Iterable[object]", part)]
            return kept if isinstance(part, list) else tuple(kept)
        if is_dataclass(part) and not isinstance(part, type):
            return self._without_words(part)
        return part

    def _without_words(self, noun: Any) -> object:
        worded: Any = noun.hide(self) if isinstance(noun, Worded) else noun
        if isinstance(noun, AuditEntry):
            worded = _hide_reasons(noun, self)
        parts = {one.name: getattr(worded, one.name) for one in fields(worded) if one.init}
        made = {name: self._without(part) for name, part in parts.items()}
        differing = {name: part for name, part in made.items() if part != parts[name]}
        return replace(worded, **differing) if differing else worded


@runtime_checkable
class Worded(Protocol):
    """A noun that holds words of memories, and takes out those that a mask hides."""

    def hide(self, mask: Mask) -> object: ...


def _hide_reasons(entry: AuditEntry, mask: Mask) -> AuditEntry:
    """Why something was done to a memory may quote it."""
    return entry if mask.hidden.isdisjoint(ids_in(entry)) else replace(entry, detail={})


def ids_in(part: object) -> Iterator[UUID]:
    """Every id in an answer, whatever it names, in texts too."""
    if isinstance(part, UUID):
        yield part
    elif type(part) is str:
        yield from (UUID(found[0]) for found in _ID.finditer(part))
    elif isinstance(part, Mapping):
        for pair in cast("Mapping[object, object]", part).items():
            yield from ids_in(pair)
    elif isinstance(part, tuple | list):
        for one in cast("Iterable[object]", part):
            yield from ids_in(one)
    elif is_dataclass(part) and not isinstance(part, type):
        for one in fields(part):
            yield from ids_in(getattr(part, one.name))
