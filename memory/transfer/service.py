"""A namespace leaves as a file, and comes back from one.

Export: one snapshot → a member for each table → the manifest → the file. Import: the manifest →
what can be read → in one transaction, table by table: each line checked, laid beside the table,
what it names looked up, moved in → what the namespace says of itself.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO
from uuid import UUID

from memory.constraints.taxonomy import find_described
from memory.inference.store import ModelStore
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.ports import ModelIdentity
from memory.kernel.postgres.database import Connection, Database, undone
from memory.kernel.postgres.migrate import head
from memory.memories.store.centroids import CentroidStore
from memory.tenancy.entities import AuditEvent, Namespace, NamespaceDraft
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.namespaces import NamespaceStore
from memory.transfer.archive import (
    Archive,
    NumberedLine,
    Spool,
    exhaust,
    fault_at,
    open_archive,
    write_archive,
)
from memory.transfer.embedding_again import EmbeddedAgain
from memory.transfer.entities import (
    FORMAT,
    ExportSubject,
    Imported,
    ImportRequest,
    Manifest,
    MemberFacts,
    OnConflict,
)
from memory.transfer.reading_back import find_difference, require_rows_read
from memory.transfer.rules import present, require_known, require_readable, revoke
from memory.transfer.shapes import Renaming, Row, Shape, check_row, read_line
from memory.transfer.soundness import require_sound
from memory.transfer.store.catalogue import VECTORS, TransferTable, transfer_tables
from memory.transfer.store.reading import ExportStore
from memory.transfer.store.staging import Destination, ImportStore, LineFault
from memory.transfer.store.subjects import ABOUT

_ROWS_AT_ONCE, _BYTES_AT_ONCE = 500, 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """What is to leave, and where it may lie until the file is whole; with a
    subject what is about it alone.
    """

    namespace: str
    folder: Path
    gz: bool = False
    vectors: bool = True
    about: ExportSubject | None = None

    @property
    def tables(self) -> tuple[TransferTable, ...]:
        found = transfer_tables(vectors=self.vectors)
        if self.about is None:
            return tuple(found)
        return tuple(one for one in found if one.name in ABOUT[self.about.kind])


async def export_namespace(
    database: Database, request: ExportRequest, out: IO[bytes], now: datetime
) -> Manifest:
    """Write the file of a namespace, as it stands at one moment. Raises NotFound, and Moved or
    Unavailable where it is not served here: what lies here then is old, or not whole.
    """
    async with database.transaction() as connection:
        found = await NamespaceStore(connection).by_slug(request.namespace)
    async with database.transaction(found.id):
        pass
    with contextlib.ExitStack() as closing:
        spools: dict[str, Spool] = {}
        for table in request.tables:
            spools[table.name] = closing.enter_context(contextlib.closing(Spool(request.folder)))
        async with database.snapshot(found.id) as connection:
            store = ExportStore(connection, found.id)
            manifest = await _read_out(connection, store, spools, request, now)
        write_archive(out, manifest, list(spools.values()), gz=request.gz)
    async with database.transaction() as connection:
        about = None if request.about is None else str(request.about)
        detail = {"rows": manifest.rows, "about": about}
        event = AuditEvent("namespace.export", found.slug, detail)
        await CallStore(connection).record(event, None, found.id, now)
    return manifest


async def _read_out(
    connection: Connection,
    store: ExportStore,
    spools: Mapping[str, Spool],
    request: ExportRequest,
    now: datetime,
) -> Manifest:
    space = await NamespaceStore(connection).by_slug(request.namespace)
    models = await store.models()
    about = None if request.about is None else await store.find(request.about)
    members: list[MemberFacts] = []
    for table in request.tables:
        spool = spools[table.name]
        async for lines in store.lines(table, vectors=request.vectors, about=about):
            spool.add(lines)
        members.append(spool.facts(table.name, list(table.shapes)))
    return Manifest(
        format=FORMAT,
        schema=head(),
        exported_at=now,
        vectors=request.vectors,
        namespace=NamespaceDraft(
            space.slug, space.clock, space.learning, space.policy, space.settings
        ),
        created_at=space.created_at,
        bank_version=space.bank_version,
        newest_known_at=space.newest_known_at,
        signal=space.signal,
        model_id=space.model_id,
        models=models,
        members=tuple(members),
        agent=about.name if about and about.kind == "agent" else None,
        key_id=about.id if about and about.kind == "key" else None,
        task_id=about.id if about and about.kind == "task" else None,
    )


def read_manifest(file: Path) -> Manifest:
    """What the file says of itself. Raises Rejected."""
    with open_archive(file) as archive:
        return archive.manifest


MANY_ROWS = 10_000
"""So many rows in one file are more than the planner of the database takes on unnoticed."""


async def import_namespace(
    database: Database,
    file: Path,
    request: ImportRequest,
    salt: int,
    now: datetime,
    engine: Engine | None = None,
) -> Imported:
    """Read a file in: all of it, or nothing. `salt` is any number of 62 bits, which new ids are
    made with; the `engine` embeds texts again where the file has no vectors. Raises Rejected where
    the file is not what it should be, and Conflict where what is there does not admit it.
    """
    manifest = read_manifest(file)
    require_readable(manifest, head(), request)
    tables = {one.name: one for one in transfer_tables(vectors=manifest.vectors)}
    require_known(manifest, head(), {name: one.shapes for name, one in tables.items()})
    slug = NamespaceDraft(request.namespace or manifest.namespace.slug).slug
    async with contextlib.AsyncExitStack() as stack:
        again = None
        if not manifest.vectors:
            # Before the transaction: a model thinks for long.
            again = stack.enter_context(contextlib.closing(EmbeddedAgain.of(engine, file.parent)))
            await again.embed(file)
        namespace_id = await _find_id(database, slug)
        connection = await stack.enter_async_context(database.transaction(namespace_id))
        if request.dry_run:
            await stack.enter_async_context(undone(connection))
        archive = stack.enter_context(open_archive(file))
        if archive.manifest != manifest:
            raise Conflict("the file was changed while it was read", code="file_changed")
        reading = _Reading(connection, namespace_id, slug, request, manifest, now, again)
        await reading.begin(salt)
        for member in manifest.members:
            await reading.read(archive, member, tables[member.table])
        archive.require_end()
        imported = await reading.end()
    if not request.dry_run and manifest.rows >= MANY_ROWS:
        await database.gather_statistics(list(tables))
    return imported


async def _find_id(database: Database, slug: str) -> UUID:
    """That of the namespace of this name, or a new one."""
    async with database.transaction() as connection:
        try:
            return (await NamespaceStore(connection).by_slug(slug)).id
        except NotFound:
            return new_id()


@dataclass(slots=True)
class _Reading:
    """One file on its way in, inside one transaction."""

    connection: Connection
    namespace_id: UUID
    slug: str
    request: ImportRequest
    manifest: Manifest
    now: datetime
    again: EmbeddedAgain | None = None
    names: Renaming = field(default_factory=lambda: Renaming({}))
    written: dict[str, int] = field(default_factory=dict[str, int])
    skipped: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def widths(self) -> Mapping[str, int]:
        return {str(one.id): one.width for one in self.manifest.models}

    @property
    def store(self) -> ImportStore:
        return ImportStore(self.connection, self.namespace_id)

    @property
    def skips(self) -> bool:
        return self.request.on_conflict is OnConflict.SKIP

    async def begin(self, salt: int) -> None:
        """The namespace is there, and its models are known."""
        destination = await self.store.find_destination()
        if destination is None:
            await self.store.create(self.slug, self.manifest)
        elif destination.is_empty:
            await self.store.take_over(self.manifest)
        else:
            self._require_same(destination)
        models: dict[str, str] = {}
        for one in self.manifest.models:
            identity = ModelIdentity(one.name, one.revision, one.sha256, one.width)
            known = await ModelStore(self.connection).know(identity, one.calibration, self.now)
            models[str(one.id)] = str(known)
        if self.again is not None:
            models[str(self.again.model_id)] = str(self.again.model_id)
        renews = self.request.on_conflict is OnConflict.NEW_IDS
        self.names = Renaming(models, salt % 2**62 if renews else None)

    def _require_same(self, destination: Destination) -> None:
        """Only `skip` adds to what is there, and only to a namespace that learns alike."""
        if not self.skips:
            raise Conflict(
                f"namespace {self.slug} is not empty: name another one by --namespace, or read in "
                "what it does not have by --conflict skip",
                code="namespace_not_empty",
                field="namespace",
            )
        told = self.manifest.namespace
        here = destination
        if (here.clock, here.policy) != (told.clock, told.policy):
            raise Conflict(
                f"namespace {self.slug} has clock {here.clock} and policy {here.policy}, "
                f"the file has {told.clock} and {told.policy}",
                code="other_namespace",
            )

    async def read(self, archive: Archive, member: MemberFacts, table: TransferTable) -> None:
        """One table of the file goes in."""
        lines = archive.lines(member)
        if self.again is not None and member.table in VECTORS:
            archive.skip(member)
            member, lines = self.again.member(member.table)
            table = next(one for one in transfer_tables() if one.name == member.table)
        shapes = present(member.columns, table.shapes)
        columns = list(shapes)
        if not member.rows:
            exhaust(lines)
            return
        try:
            await self.store.open_stage(table, columns)
            await self._lay(lines, member, shapes)
            await self.store.require_references(table, columns)
            moved = await self.store.move(table, columns, skip=self.skips)
        except LineFault as fault:
            raise self._told(fault, member) from fault
        self.written[table.name] = moved
        if moved < member.rows:
            self.skipped[table.name] = member.rows - moved

    async def _lay(
        self, lines: Iterator[NumberedLine], member: MemberFacts, shapes: Mapping[str, Shape]
    ) -> None:
        waiting: list[Row] = []
        size = 0
        for line in lines:
            try:
                row = self._checked(line.text, member, shapes)
            except Rejected as fault:
                raise fault_at(member, line.number, fault.detail) from fault
            waiting.append({**row, "line": line.number})
            size += len(line.text)
            if len(waiting) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
                await self.store.lay(waiting, list(shapes))
                waiting, size = [], 0
        if waiting:
            await self.store.lay(waiting, list(shapes))

    def _checked(self, line: bytes, member: MemberFacts, shapes: Mapping[str, Shape]) -> Row:
        row = read_line(line)
        check_row(row, shapes)
        require_sound(member.table, row)
        if (row.get("bank_version") or 0) > self.manifest.bank_version:
            raise Rejected("is of a later version of the bank than the manifest says")
        if member.table == "api_key":
            revoke(row, self.now.isoformat())
            self.names.keys.add(row["id"])
        self._require_width(row)
        self.names.rename(row, shapes)
        return row

    def _require_width(self, row: Row) -> None:
        if (vector := row.get("vector")) is None:
            return
        found, wanted = vector.count(",") + 1, self.widths.get(row["model_id"])
        if wanted is not None and found != wanted:
            raise Rejected(f"has a vector of {found} components, its model has {wanted}")

    def _told(self, fault: LineFault, member: MemberFacts) -> Conflict | Rejected:
        told = fault_at(member, fault.line, fault.why)
        if not fault.conflict:
            return told
        why = told.detail
        if fault.owner is not None:
            why = (
                f"the ids of this file belong to namespace {fault.owner}: make a copy with ids of "
                "its own, in a new namespace, by --conflict new_ids"
            )
        return Conflict(why, code="id_taken", field=member.name)

    async def end(self) -> Imported:
        """The namespace says what its rows say, all of them can be read, and learning comes to what
        the ledger gives.
        """
        await self.store.finish(self.manifest, self._model_id())
        if self.again is not None:
            centroids = CentroidStore(self.connection, self.namespace_id)
            await centroids.recount()
            described = await find_described(
                self.connection, self.namespace_id, self.again.descriptions
            )
            await centroids.describe(described, self.again.model_id)
        await require_rows_read(self.connection, self.namespace_id)
        await self._require_exact(await NamespaceStore(self.connection).get(self.namespace_id))
        detail = {"rows": sum(self.written.values()), "on_conflict": self.request.on_conflict.value}
        event = AuditEvent("namespace.import", self.slug, detail)
        await CallStore(self.connection).record(event, None, self.namespace_id, self.now)
        return Imported(self.slug, self.request.dry_run, self.written, self.skipped)

    def _model_id(self) -> UUID | None:
        if self.again is not None:
            return self.again.model_id
        model_id = self.manifest.model_id
        known = None if model_id is None else self.names.models.get(str(model_id))
        return None if known is None else UUID(known)

    async def _require_exact(self, namespace: Namespace) -> None:
        other = await find_difference(self.connection, namespace)
        if other is None:
            return
        if self.skipped:
            raise Conflict(
                f"namespace {self.slug} has learned what the file does not have, or the other way "
                "round: the two cannot be joined",
                code="other_ledger",
            )
        raise Rejected(f"the file's ledger does not give the belief it has of {other}")
