"""A category gets another name. What is learned in it is kept by its id and stays; what says the
name follows: the taxonomy in force, the vector of its description, and the copies of its memories.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from memory.constraints.store.taxonomies import TaxonomyStore
from memory.constraints.taxonomy import (
    DescriptionVectors,
    displaced,
    embed_descriptions,
    find_described,
)
from memory.constraints.taxonomy_entities import Branch, TaxonomyDraft, TaxonomyVersion
from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Rejected, StaleEdit
from memory.kernel.fields import INPUT, Name
from memory.kernel.postgres.database import Connection
from memory.kernel.text import cleaned_name
from memory.memories.store.centroids import CentroidStore
from memory.memories.store.memories import MemoryStore, Stamp
from memory.tasks.entities import GENERAL_KEPT, GENERAL_NAME, Category, claims_general
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore


@dataclass(frozen=True, slots=True)
class CategoryRename:
    """Another name for a category or a subcategory."""

    __pydantic_config__ = INPUT

    name: Name
    """How it is to be known among those of its level."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", cleaned_name(self.name, "name"))


@dataclass(frozen=True, slots=True)
class RenamedTaxonomy:
    """The taxonomy with the new name in it, over the version that was read, and its vectors."""

    over: int
    draft: TaxonomyDraft
    vectors: DescriptionVectors


async def rename_category(
    engine: Engine, call: Call, category_id: UUID, rename: CategoryRename
) -> Category:
    """The category under its new name. Raises Rejected for `general`, for the name that it has and
    for one that an earlier taxonomy gave up, Conflict for one that another of its level has, and
    StaleEdit where a taxonomy is brought meanwhile.
    """
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        before = await ActorStore(connection, call.namespace.id).get_category(category_id)
        versions = await TaxonomyStore(connection, call.namespace.id).versions()
    _require_other(before, rename.name)
    renamed = await _embed_renamed(engine, call, versions, _Names.of(before, rename))
    _require_kept(before, rename.name, versions, renamed)
    async with engine.database.effect(call.namespace.id) as connection:
        # Held from here on: a taxonomy that comes waits, and then sees this one.
        version = await NamespaceStore(connection).bump(call.namespace)
        await _require_unchanged(connection, call, versions)
        store = ActorStore(connection, call.namespace.id)
        await _require_free(store, before, rename.name)
        await store.rename_category(category_id, rename.name)
        if renamed is not None:
            await _bring(connection, engine, call, renamed)
        memories = MemoryStore(connection, call.namespace.id)
        moved = await memories.touch_category(category_id, version)
        await memories.feed(Stamp(call.key.id, call.now, version), "relabelled", moved)
        detail = {"from": before.name, "to": rename.name, "within": before.parent}
        event = AuditEvent("category.rename", str(category_id), detail)
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
        return await store.get_category(category_id)


@dataclass(frozen=True, slots=True)
class _Names:
    """Which name becomes which; `parent` is that of the category above, where there is one."""

    parent: str | None
    old: str
    new: str

    @classmethod
    def of(cls, before: Category, rename: CategoryRename) -> "_Names":
        return cls(before.parent, before.name, rename.name)

    def in_branch(self, branch: Branch) -> Branch:
        if self.parent is None:
            name = self.new if branch.name == self.old else branch.name
            related = tuple(self.new if one == self.old else one for one in branch.related)
            return replace(branch, name=name, related=related)
        if branch.name != self.parent:
            return branch
        below = tuple(
            replace(one, name=self.new) if one.name == self.old else one
            for one in branch.subcategories
        )
        return replace(branch, subcategories=below)


async def _embed_renamed(
    engine: Engine, call: Call, versions: Sequence[TaxonomyVersion], names: _Names
) -> RenamedTaxonomy | None:
    """None where the taxonomy in force does not say the name."""
    if not versions:
        return None
    current = versions[-1]
    branches = tuple(names.in_branch(branch) for branch in current.categories)
    if branches == current.categories:
        return None
    require_model(engine, call.namespace)
    draft = TaxonomyDraft(branches, current.allow_new)
    return RenamedTaxonomy(current.version, draft, await embed_descriptions(engine, draft))


def _require_other(before: Category, name: str) -> None:
    if before.parent is None and (before.name == GENERAL_NAME or claims_general(name)):
        raise Rejected(GENERAL_KEPT, field="name")
    if name == before.name:
        raise Rejected(f"the category is called {name} already", field="name")


def _require_kept(
    before: Category,
    name: str,
    versions: Sequence[TaxonomyVersion],
    renamed: RenamedTaxonomy | None,
) -> None:
    """Raises Rejected for a name whose tasks the job `relabel` would move elsewhere."""
    if before.parent is None and renamed is None and name in displaced({name}, versions):
        raise Rejected(
            f"the taxonomy in force does not name {name}: what is called so is moved to other"
            " categories; bring a taxonomy that names it first",
            field="name",
        )


async def _require_unchanged(
    connection: Connection, call: Call, versions: Sequence[TaxonomyVersion]
) -> None:
    current = await TaxonomyStore(connection, call.namespace.id).current()
    if (current.version if current else 0) != (versions[-1].version if versions else 0):
        raise StaleEdit("a taxonomy was brought meanwhile; rename again", field="category_id")


async def _require_free(store: ActorStore, before: Category, name: str) -> None:
    parent_id = None if before.parent is None else await store.find_category(before.parent)
    if await store.find_category(name, parent_id) is not None:
        raise Conflict(
            f"there is a category called {name} already; to join two, bring a taxonomy without"
            " the one that is to go, and the job relabel moves its tasks",
            code="category_exists",
            field="name",
        )


async def _bring(
    connection: Connection, engine: Engine, call: Call, renamed: RenamedTaxonomy
) -> None:
    """The taxonomy's next version, and the vectors of its descriptions, which say their names."""
    store = TaxonomyStore(connection, call.namespace.id)
    await store.add(renamed.draft, renamed.over + 1, call.key.id, call.now)
    model_id = await adopt_model(connection, engine, call.namespace)
    vectors = await find_described(connection, call.namespace.id, renamed.vectors)
    await CentroidStore(connection, call.namespace.id).describe(vectors, model_id)
