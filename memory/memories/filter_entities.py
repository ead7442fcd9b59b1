"""Which memories a retrieval may serve, where its caller narrows that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from pydantic import Field

from memory.kernel.errors import Rejected
from memory.kernel.fields import BOTH_WAYS, Name
from memory.kernel.text import known_name
from memory.memories.entities import Kind
from memory.tasks.entities import CategoryName, category_of

MAX_NAMES = 16
"""So many tags, or authors, may be named."""

TAGS = "tags"
"""The member of a memory's metadata that holds its tags."""

_ONE_AT_LEAST = {"minItems": 1}
Names = Annotated[
    tuple[Name, ...],
    Field(max_length=MAX_NAMES, json_schema_extra=_ONE_AT_LEAST),  # pyright: ignore[reportArgumentType] - JSON values
]
Kinds = Annotated[
    tuple[Kind, ...],
    Field(max_length=len(Kind), json_schema_extra=_ONE_AT_LEAST),  # pyright: ignore[reportArgumentType] - JSON values
]


@dataclass(frozen=True, slots=True)
class RetrievalFilter:
    """Which memories may be served: those that match every part that is given; one that is null is
    not given. A name that nobody has matches nothing.
    """

    __pydantic_config__ = BOTH_WAYS

    category: Name | None = None
    """The category that it was learned in."""
    subcategory: Name | None = None
    """The second level of it."""
    tags: Names | None = None
    """It has one of these, in `tags` of its metadata."""
    authors: Names | None = None
    """One of these agents learned it; `memlift-contrast` distilled constraints of pairs."""
    kinds: Kinds | None = None
    """It is of one of these kinds. Meta-guidelines heed this part alone."""

    def __post_init__(self) -> None:
        name = category_of(self.category, self.subcategory)
        object.__setattr__(self, "category", None if name is None else name.name)
        object.__setattr__(self, "subcategory", None if name is None else name.subcategory)
        object.__setattr__(self, "tags", _clean_names(self.tags, "tags"))
        object.__setattr__(self, "authors", _clean_names(self.authors, "authors"))
        object.__setattr__(self, "kinds", _read_kinds(self.kinds))

    @property
    def category_name(self) -> CategoryName | None:
        return category_of(self.category, self.subcategory)

    @property
    def narrows(self) -> bool:
        """Whether any part is given."""
        return bool(self.category or self.tags or self.authors or self.kinds)

    def allows(self, kind: Kind) -> bool:
        return self.kinds is None or kind in self.kinds

    def stored(self) -> dict[str, object]:
        """The parts that are given, as JSON."""
        names = {"category": self.category, "subcategory": self.subcategory}
        lists = {"tags": self.tags, "authors": self.authors, "kinds": self.kinds}
        given = {name: list(map(str, some)) for name, some in lists.items() if some}
        return {**{name: one for name, one in names.items() if one is not None}, **given}

    @classmethod
    def read(cls, stored: Mapping[str, object] | None) -> "RetrievalFilter | None":
        """As it was stored."""
        if stored is None:
            return None
        lists = {
            name: tuple(cast("Sequence[str]", stored[name])) if stored.get(name) else None
            for name in ("tags", "authors", "kinds")
        }
        return cls(
            category=cast("str | None", stored.get("category")),
            subcategory=cast("str | None", stored.get("subcategory")),
            tags=lists["tags"],
            authors=lists["authors"],
            kinds=_read_kinds(lists["kinds"]),
        )


def _require_some(names: Sequence[str], field: str) -> None:
    """An empty list could be meant as "any" and as "none"."""
    if not names:
        raise Rejected(
            f"{field} is empty: name at least one, or leave it out", field=field, limit=1
        )


def tags_in(metadata: Mapping[str, object]) -> frozenset[str]:
    """The tags of a memory: the texts of the list `tags`, or the one text that it is."""
    tags = metadata.get(TAGS)
    if isinstance(tags, str):
        return frozenset((tags,))
    some = cast("Sequence[object]", tags) if isinstance(tags, list) else ()
    return frozenset(one for one in some if isinstance(one, str))


def _clean_names(names: Sequence[str] | None, field: str) -> tuple[str, ...] | None:
    if names is None:
        return None
    _require_some(names, field)
    clean = [known_name(one, f"{field}.{place}") for place, one in enumerate(names)]
    if len(clean) > MAX_NAMES:
        raise Rejected(
            f"{field} must not have more than {MAX_NAMES} names", field=field, limit=MAX_NAMES
        )
    return tuple(dict.fromkeys(clean))


def _read_kinds(kinds: Sequence[str] | None) -> tuple[Kind, ...] | None:
    if kinds is None:
        return None
    _require_some(kinds, "kinds")
    known = [kind.value for kind in Kind]
    if any(one not in known for one in kinds):
        raise Rejected(f"kinds are of {', '.join(known)}", field="kinds", limit=known)
    return tuple(dict.fromkeys(map(Kind, kinds)))
