"""A taxonomy is brought: descriptions → vectors → categories that tasks are routed to."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import cast
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.constraints.store.taxonomies import TaxonomyStore
from memory.constraints.taxonomy_entities import Branch, TaxonomyDraft, TaxonomyVersion
from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import StaleEdit
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.memories.store.centroids import CentroidStore
from memory.memories.store.memories import MemoryStore, Stamp
from memory.tasks.entities import GENERAL_NAME, CategoryName
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Act, AuditEvent, Call
from memory.tenancy.namespace_settings import Taxonomy
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore


def shipped() -> TaxonomyVersion:
    """Version 0: mathematics, programming, forecasting and agent work, open to new categories."""
    text = resources.files("memory.constraints").joinpath("taxonomy.json").read_text("utf-8")
    stored = cast("Sequence[Mapping[str, object]]", json.loads(text))
    branches = tuple(Branch.read(one) for one in stored)
    return TaxonomyVersion(0, branches, allow_new=True, recorded_at=None)


def displaced(known: Collection[str], versions: Sequence[TaxonomyVersion]) -> set[str]:
    """Of the known categories, those whose tasks are to be routed anew.

    Always `general`. In a closed taxonomy, the last of `versions`, all that it does not name; in
    an open one those that an earlier version named and it does not: a category that a caller named
    stands.
    """
    current = {branch.name for branch in versions[-1].categories} if versions else set[str]()
    gone = {GENERAL_NAME}
    if versions and not versions[-1].allow_new:
        gone |= set(known) - current
    for version in versions[:-1]:
        gone |= {branch.name for branch in version.categories} - current
    return gone & set(known)


Vector = npt.NDArray[np.float64]


DescriptionVectors = dict[CategoryName, Vector]


async def get_taxonomy(engine: Engine, call: Call) -> TaxonomyVersion:
    """The taxonomy in force; the shipped one, as version 0, where none was brought."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await TaxonomyStore(connection, call.namespace.id).current() or shipped()


async def list_taxonomies(engine: Engine, call: Call) -> list[TaxonomyVersion]:
    """All that were brought, oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        return await TaxonomyStore(connection, call.namespace.id).versions()


def shipped_draft(*, allow_new: bool) -> TaxonomyDraft:
    """The shipped taxonomy, to be brought like any other."""
    return TaxonomyDraft(shipped().categories, allow_new)


async def replace_taxonomy(
    engine: Engine, call: Call, draft: TaxonomyDraft, over: int | None
) -> TaxonomyVersion:
    """The next version, unless the one in force says the same; `over`: the one its author saw."""
    call.key.require(Act.MANAGE)
    require_model(engine, call.namespace)
    vectors = await embed_descriptions(engine, draft)
    async with engine.database.effect(call.namespace.id) as connection:
        store = TaxonomyStore(connection, call.namespace.id)
        model_id = await adopt_model(connection, engine, call.namespace)
        # Held from here on: of two that bring one, the second sees the first.
        bank_version = await NamespaceStore(connection).bump(call.namespace)
        known = await store.current()
        seen = known.version if known is not None else 0
        if over is not None and over != seen:
            raise StaleEdit(f"the taxonomy is at version {seen}", field="If-Match")
        if known is None or _is_different(known, draft):
            known = await store.add(draft, seen + 1, call.key.id, call.now)
        ids = await _ensure_categories(connection, call, draft, vectors)
        await CentroidStore(connection, call.namespace.id).describe(ids, model_id)
        await _set_openness(connection, call, draft)
        stamp = Stamp(call.key.id, call.now, bank_version)
        await MemoryStore(connection, call.namespace.id).feed(stamp, "taxonomy", [])
        event = AuditEvent("taxonomy.bring", str(known.version), {"allow_new": draft.allow_new})
        await CallStore(connection).record(event, call.key.id, call.namespace.id, call.now)
    return known


def _is_different(known: TaxonomyVersion, draft: TaxonomyDraft) -> bool:
    return (known.categories, known.allow_new) != (draft.categories, draft.allow_new)


async def embed_descriptions(engine: Engine, draft: TaxonomyDraft) -> DescriptionVectors:
    """A vector of each entry: a category is where its own description and its subcategories'
    lie.
    """
    found: DescriptionVectors = {}
    for branch in draft.categories:
        made = await engine.embedder.embed(_texts(branch))
        for one, vector in zip(branch.subcategories, made[1:], strict=True):
            found[CategoryName(branch.name, one.name)] = np.asarray(vector.vector, dtype=np.float64)
        found[CategoryName(branch.name)] = _direction_of(made)
    return found


def _texts(branch: Branch) -> list[str]:
    """What is read to learn what a category is: its name says as much as its description."""
    below = [f"{one.name}: {one.description}" for one in branch.subcategories]
    return [f"{branch.name}: {branch.description}", *below]


def _direction_of(made: Sequence[Embedding]) -> Vector:
    """The direction of the mean, as one example."""
    total = np.sum([np.asarray(one.vector, dtype=np.float64) for one in made], axis=0)
    return total / np.linalg.norm(total)


async def find_described(
    connection: Connection, namespace_id: UUID, vectors: DescriptionVectors
) -> dict[UUID, Vector]:
    """The vectors of descriptions, by the categories that the namespace has."""
    store = ActorStore(connection, namespace_id)
    found: dict[UUID, Vector] = {}
    for name, vector in vectors.items():
        id_ = await store.find_category(name.name)
        if id_ is not None and name.subcategory is not None:
            id_ = await store.find_category(name.subcategory, id_)
        if id_ is not None:
            found[id_] = vector
    return found


async def _ensure_categories(
    connection: Connection, call: Call, draft: TaxonomyDraft, vectors: DescriptionVectors
) -> dict[UUID, Vector]:
    """The vectors by the ids of their categories, made where they are missing."""
    store = ActorStore(connection, call.namespace.id)
    found: dict[UUID, Vector] = {}
    for branch in draft.categories:
        for below in (None, *(one.name for one in branch.subcategories)):
            name = CategoryName(branch.name, below)
            ids = await store.ensure_category(name, call.key.id, call.now)
            found[ids.deepest] = vectors[name]
    return found


async def _set_openness(connection: Connection, call: Call, draft: TaxonomyDraft) -> None:
    """Whether the namespace takes categories that the taxonomy does not name."""
    store = NamespaceStore(connection)
    namespace = await store.get(call.namespace.id)
    wanted = Taxonomy.OPEN if draft.allow_new else Taxonomy.CLOSED
    if namespace.settings.categories is not wanted:
        settings = replace(namespace.settings, categories=wanted)
        await store.change(namespace, {"settings": settings.stored()}, namespace.version)
