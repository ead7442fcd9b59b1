"""A namespace moves to another embedding model while it is served.

texts without a vector of the model → batches → vectors beside those in use → the fit is checked →
one transaction switches the namespace → the former vectors stay until they are dropped.

The tables are the record of how far it is: what was embedded before a run was ended is there, and
what is written meanwhile has no vector of the new model and is found by the next look.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from uuid import UUID

from memory.constraints.store.taxonomies import TaxonomyStore
from memory.constraints.taxonomy import DescriptionVectors, embed_descriptions, find_described
from memory.constraints.taxonomy_entities import TaxonomyDraft
from memory.inference.store import ModelStore
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, NotFound, Overloaded, Rejected
from memory.kernel.ports import tell_apart
from memory.kernel.postgres.database import Connection, Database
from memory.memories.store.centroids import CentroidStore
from memory.memories.store.memories import MemoryStore, Stamp
from memory.reembedding.entities import (
    MAX_WIDTH,
    DroppedVectors,
    ModelFit,
    ModelVectors,
    MoveProgress,
    MoveState,
    NamespaceMove,
    NamespaceVectors,
    ReembedRequest,
)
from memory.reembedding.rules import judge_fit
from memory.reembedding.store import FIRST, ReembeddingStore, UnembeddedText, VectorKey
from memory.tenancy.entities import AuditEvent, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.moves import find_move, why_elsewhere
from memory.tenancy.store.namespaces import NamespaceStore

AT_ONCE = 64
"""Texts that are embedded and stored at a time: so much of the work a process that dies loses."""


COMPARED = 500
"""Memories at most that the check of the calibration compares."""


SWITCHES = 20
"""Attempts to switch while others write: after each the texts that came meanwhile are embedded."""


Report = Callable[[MoveProgress], None]
Clock = Callable[[], datetime]
Lister = Callable[[ReembeddingStore, VectorKey], Awaitable[list[UnembeddedText]]]


async def re_embed(
    engine: Engine, request: ReembedRequest, clock: Clock, report: Report
) -> list[NamespaceMove]:
    """Move namespaces to the engine's model, one after the other; what was done with each.

    Raises Rejected for a model that no column of vectors can hold, and before anything is done
    where a namespace is unknown or not served here; Overloaded where writers leave no moment for a
    switch. What stops it on the way says of several namespaces how far each is. Whatever is raised,
    what was embedded stays, and a later call goes on from there.
    """
    width = engine.model.identity.width
    if width > MAX_WIDTH:
        raise Rejected(
            f"the model makes vectors of {width} components, and the database holds at most "
            f"{MAX_WIDTH}",
            field="model",
            limit=MAX_WIDTH,
        )
    pace, moves = _Rate(request.rate), list[NamespaceMove]()
    namespaces = await _find_namespaces(engine.database, request.namespaces)
    for n, namespace in enumerate(namespaces):
        try:
            moves.append(await _Move(engine, namespace, request, pace, report).run(clock))
        except MemoryFault as fault:
            if len(namespaces) > 1:
                fault.detail = _say_where_stopped(moves, namespaces[n:], fault)
            raise
    return moves


def _say_where_stopped(
    moves: Sequence[NamespaceMove], left: Sequence[Namespace], fault: MemoryFault
) -> str:
    """What stopped it, and which namespaces were switched before, and which were not."""
    switched = [one.namespace for one in moves if one.state is MoveState.SWITCHED]
    others = [one.namespace for one in moves if one.state is not MoveState.SWITCHED]
    others += [one.slug for one in left]
    return (
        f"{left[0].slug}: {fault.detail}\n"
        f"switched to the model: {', '.join(switched) or 'none'}\n"
        f"not switched: {', '.join(others)}; called again, it goes on from there"
    )


async def list_vectors(database: Database, slugs: Sequence[str] = ()) -> list[NamespaceVectors]:
    """Which models each namespace holds vectors of, and how many."""
    found: list[NamespaceVectors] = []
    for namespace in await _find_namespaces(database, slugs):
        async with database.transaction(namespace.id) as connection:
            models = await ReembeddingStore(connection, namespace.id).models()
        found.append(NamespaceVectors(namespace.slug, models))
    return found


async def drop_vectors(
    database: Database, state: str, slugs: Sequence[str], now: datetime
) -> list[DroppedVectors]:
    """Vectors of all models of a state go: `former` ones after a switch, `prepared` ones instead of
    one. Those that a namespace is searched by stay.
    """
    dropped: list[DroppedVectors] = []
    for namespace in await _find_namespaces(database, slugs):
        async with database.transaction(namespace.id) as connection:
            models = await ReembeddingStore(connection, namespace.id).models()
        gone = [one for one in models if one.state == state]
        counts = [await _drop(database, namespace, one, now) for one in gone]
        names = tuple(tell_apart([one.model for one in gone]))
        dropped.append(DroppedVectors(namespace.slug, sum(counts), names))
    return dropped


async def _find_namespaces(database: Database, slugs: Sequence[str]) -> tuple[Namespace, ...]:
    """Those that are served here. Raises Rejected that names every other one that is asked for."""
    if not slugs:
        async with database.transaction() as connection:
            return await NamespaceStore(connection).all()
    found: list[Namespace] = []
    faults: list[str] = []
    for slug in dict.fromkeys(slugs):
        try:
            async with database.transaction() as connection:
                found.append(await NamespaceStore(connection).by_slug(slug))
        except NotFound as fault:
            faults.append(fault.detail)
        [rows] = await database.exchange([find_move(slug)])
        if (elsewhere := why_elsewhere(rows)) is not None:
            faults.append(f"{slug}: {elsewhere.detail}")
    if faults:
        others = "; nothing was done with the others" if len(slugs) > len(faults) else ""
        raise Rejected("; ".join(faults) + others, field="namespace")
    return tuple(found)


async def _drop(
    database: Database, namespace: Namespace, model: ModelVectors, now: datetime
) -> int:
    """Some at a time, so that nobody waits long."""
    dropped = 0
    while True:
        async with database.transaction(namespace.id) as connection:
            await ModelStore(connection).hold_vectors(namespace.id)
            store = ReembeddingStore(connection, namespace.id)
            some = await store.drop_some(model.model_id)
            dropped += some
            if some == 0:
                await store.forget_former(model.model_id)
                detail = {"model": model.model.label, "state": model.state, "vectors": dropped}
                event = AuditEvent("namespace.drop_vectors", namespace.slug, detail)
                await CallStore(connection).record(event, None, namespace.id, now)
                return dropped


@dataclass(slots=True)
class _Rate:
    """At most so many texts a second over the whole run."""

    rate: float | None
    began: float = field(default_factory=monotonic)
    done: int = 0

    @property
    def at_once(self) -> int:
        return AT_ONCE if self.rate is None else max(1, min(AT_ONCE, math.ceil(self.rate)))

    async def wait(self, texts: int) -> None:
        """Until so many more may come after those there were."""
        if self.rate is not None:
            await asyncio.sleep(max(0.0, self.began + self.done / self.rate - monotonic()))
        self.done += texts


@dataclass(frozen=True, slots=True)
class _Described:
    """The vectors of a version of the taxonomy; 0 where none was brought."""

    version: int = 0
    vectors: DescriptionVectors = field(default_factory=dict)


@dataclass(slots=True)
class _Move:
    """One namespace on its way to the engine's model."""

    engine: Engine
    namespace: Namespace
    request: ReembedRequest
    pace: _Rate
    report: Report
    embedded: int = 0

    @property
    def model_id(self) -> UUID:
        return self.engine.model.id

    async def run(self, clock: Clock) -> NamespaceMove:
        await self._embed_missing()
        if self.namespace.model_id == self.model_id:
            return self._end(MoveState.CURRENT)
        fit = await self._check_fit()
        if fit.misfits and not self.request.accept_misfit:
            return self._end(MoveState.MISFIT, fit)
        if not self.request.switch:
            return self._end(MoveState.PREPARED, fit)
        for _ in range(SWITCHES):
            described = await self._describe()
            version = await self._switch(described, clock())
            if version is not None:
                return self._end(MoveState.SWITCHED, fit, version)
            await self._embed_missing()
        raise Overloaded(
            f"namespace {self.namespace.slug} is written to faster than its texts are embedded; "
            "all but the newest have their vectors: call again",
            code="contention",
            retry_after=1,
        )

    def _end(
        self, state: MoveState, fit: ModelFit | None = None, version: int | None = None
    ) -> NamespaceMove:
        label = self.engine.model.identity.label
        return NamespaceMove(self.namespace.slug, label, self.embedded, state, fit, version)

    async def _embed_missing(self) -> None:
        """From the first to the last, again until a look finds nothing."""
        async with self.engine.database.transaction(self.namespace.id) as connection:
            missing = await ReembeddingStore(connection, self.namespace.id).count_missing(
                self.model_id
            )
        progress = MoveProgress(self.namespace.slug, missing)
        self.report(progress)

        async def memories(store: ReembeddingStore, after: VectorKey) -> list[UnembeddedText]:
            return await store.list_missing(self.model_id, after, self.pace.at_once)

        async def tasks(store: ReembeddingStore, after: VectorKey) -> list[UnembeddedText]:
            return await store.list_missing_tasks(self.model_id, after, self.pace.at_once)

        for lister in (memories, tasks):
            await self._embed_listed(lister, progress)

    async def _embed_listed(self, lister: Lister, progress: MoveProgress) -> None:
        after = FIRST
        while True:
            async with self.engine.database.transaction(self.namespace.id) as connection:
                texts = await lister(ReembeddingStore(connection, self.namespace.id), after)
            if not texts:
                return
            await self.pace.wait(len(texts))
            made = await self.engine.embedder.embed([one.text for one in texts])
            async with self.engine.database.transaction(self.namespace.id) as connection:
                await ModelStore(connection).hold_vectors(self.namespace.id)
                await ReembeddingStore(connection, self.namespace.id).add(
                    texts, made, self.model_id
                )
            after = texts[-1].key
            self.embedded += len(texts)
            progress.done += len(texts)
            self.report(progress)

    async def _check_fit(self) -> ModelFit:
        """What the model finds alike, beside what the namespace's own does."""
        own = self.namespace.model_id
        async with self.engine.database.transaction(self.namespace.id) as connection:
            store = ReembeddingStore(connection, self.namespace.id)
            q99 = self.engine.model.calibration["q99"]
            after = await store.sample(self.model_id, own, q99, COMPARED)
            if own is None:
                return judge_fit(q99, None, after)
            measured = (await ModelStore(connection).calibration(own)).get("q99", 1.0)
            before = await store.sample(own, self.model_id, measured, COMPARED)
            return judge_fit(q99, before, after)

    async def _describe(self) -> _Described:
        """The descriptions of the taxonomy in force, by the model; no transaction is open."""
        async with self.engine.database.transaction(self.namespace.id) as connection:
            current = await TaxonomyStore(connection, self.namespace.id).current()
        if current is None:
            return _Described()
        draft = TaxonomyDraft(current.categories, current.allow_new)
        return _Described(current.version, await embed_descriptions(self.engine, draft))

    async def _switch(self, described: _Described, now: datetime) -> int | None:
        """The version of the bank that it made; None where something was written meanwhile."""
        here = self.namespace.id
        async with self.engine.database.transaction(here) as connection:
            await ModelStore(connection).hold_vectors_alone(here)
            store = ReembeddingStore(connection, here)
            taxonomy = await TaxonomyStore(connection, here).current()
            is_same = (taxonomy.version if taxonomy else 0) == described.version
            if not is_same or await store.lacks(self.model_id):
                return None
            await self._place_categories(connection, described)
            version = await NamespaceStore(connection).bump(self.namespace)
            await store.switch(self.model_id)
            await MemoryStore(connection, here).feed(Stamp(None, now, version), "model", [])
            detail = {"model": self.engine.model.identity.label, "model_id": str(self.model_id)}
            event = AuditEvent("namespace.switch_model", self.namespace.slug, detail)
            await CallStore(connection).record(event, None, here, now)
        return version

    async def _place_categories(self, connection: Connection, described: _Described) -> None:
        """Where each category lies among the new vectors."""
        centroids = CentroidStore(connection, self.namespace.id)
        await centroids.recount(self.model_id)
        ids = await find_described(connection, self.namespace.id, described.vectors)
        await centroids.describe(ids, self.model_id)
