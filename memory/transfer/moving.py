"""A namespace moves to another deployment while it is used.

Nobody else moves it → the target takes nothing in for it but this → rounds of copying what changed
→ all rows compared, the ledger folded at the target → pause → the last round, compared again →
the source gives it away → the target opens it.

Each step may be the last one before the process dies: what was done is written in the databases
themselves, a pause ends by itself, and the same call goes on from there. Once the source has given
the namespace away there is no way back, and before that nothing that cannot be undone.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic
from uuid import UUID

from memory.inference.store import ModelStore
from memory.kernel.errors import Conflict, NotFound, Unavailable
from memory.kernel.ports import ModelIdentity
from memory.kernel.postgres.database import Connection, Database
from memory.kernel.text import counted
from memory.tenancy.entities import AuditEvent, Namespace
from memory.tenancy.store.calls import CallStore
from memory.tenancy.store.moves import MoveStore, Relocation
from memory.tenancy.store.namespaces import NamespaceStore
from memory.transfer.places import alone, find_space, relocation_of, require_two
from memory.transfer.reading_back import find_difference
from memory.transfer.store.moving import (
    APPENDED,
    BELIEFS,
    MovedTable,
    RowSource,
    RowsRefused,
    RowTarget,
    TableFacts,
    enter,
    moment,
    moved_tables,
    still_running,
)
from memory.transfer.store.reading import ExportStore

PAUSE = timedelta(seconds=5)
"""For so long at most the namespace answers 503."""
ROUNDS = 20
QUICK = 0.2
"""Of the pause: a round that takes longer is followed by another one before the pause."""
FOLDED_WITHIN = 0.5
"""Of the pause: a ledger that folds in less is folded again while nobody writes."""
LOOK_SECONDS = 0.02
CALLS_WITHIN = 0.3
"""Of the pause: calls that have not answered by then are refused like all others."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """Which namespace is to move, and where its callers find it then."""

    namespace: str
    url: str
    """The address of the server at the target, told to whoever asks the old one."""
    pause: timedelta = PAUSE


@dataclass(frozen=True, slots=True)
class NamespaceMoved:
    """What a move did."""

    namespace: str
    url: str
    rows: int
    """All rows that it has at the target."""
    rounds: int
    """How often it was read until little enough had changed."""
    copied: int
    """Rows that were carried over in all rounds."""
    last: int
    """Rows of them that were carried over while nobody could write."""
    paused_seconds: float
    """From when the source refused the first caller until the target took one."""
    folded_in_pause: bool
    """Whether the ledger was folded in the pause too; else it was before, and the beliefs and the
    numbers of rows were compared in the pause.
    """


@dataclass(frozen=True, slots=True)
class Round:
    """What one reading of the source carried over."""

    copied: int
    seconds: float
    rows: int = 0


async def move_namespace(
    source: Database, target: Database, request: MoveRequest, now: datetime, say: Say
) -> NamespaceMoved:
    """Move it, or go on with a move that was interrupted. Raises NotFound, Conflict where the
    target has a namespace of that name with something in it, and Unavailable where it could not be
    done in the time: then the source serves it as before.
    """
    await require_two(source, target)
    space = await find_space(source, request.namespace)
    async with alone(source, target, space.id):
        before = await relocation_of(source, space.id)
        if before is not None and before.state == "moved":
            return await _finish(source, target, before, request, now, say)
        move = _Carrying(source, target, space, request, say)
        await move.arrive(now)
        return await move.carry_over(now)


async def _finish(
    source: Database,
    target: Database,
    before: Relocation,
    request: MoveRequest,
    now: datetime,
    say: Say,
) -> NamespaceMoved:
    """The source has given it away; only the target may still keep its callers out, and callers be
    told of another address than the one it has.
    """
    async with target.transaction() as connection:
        try:
            await NamespaceStore(connection).get(before.namespace_id)
        except NotFound as fault:
            raise Conflict(
                f"namespace {request.namespace} has moved to {before.url}, and the database of --to"
                " does not have it",
                code="namespace_moved",
            ) from fault
        store = MoveStore(connection)
        there = await store.find(before.namespace_id)
        # It may have moved on from there since.
        opened = there is not None and there.state == "arriving"
        if opened:
            await store.open(before.namespace_id)
    say("it had moved, and is open now" if opened else f"it has moved already, to {before.url}")
    if request.url != before.url:
        await _tell_another_address(source, before, request, now)
        say(f"callers of the old place are told {request.url} from now on")
    return NamespaceMoved(request.namespace, request.url, 0, 0, 0, 0, 0.0, folded_in_pause=False)


async def _tell_another_address(
    source: Database, before: Relocation, request: MoveRequest, now: datetime
) -> None:
    async with source.transaction() as connection:
        await MoveStore(connection).tell(before.namespace_id, request.url)
        detail = {"url": request.url, "instead_of": before.url}
        event = AuditEvent("namespace.address_changed", request.namespace, detail)
        await CallStore(connection).record(event, None, before.namespace_id, now)


@dataclass(slots=True)
class _Carrying:
    """One namespace between two databases."""

    source: Database
    target: Database
    space: Namespace
    request: MoveRequest
    say: Say
    models: Mapping[UUID, UUID] = field(default_factory=dict[UUID, UUID])

    async def arrive(self, now: datetime) -> None:
        """The target knows the namespace, and lets nobody in."""
        async with self.source.snapshot(self.space.id) as reading:
            await self._learn_models(reading, now)
            async with self.target.transaction(self.space.id, wherever=True) as writing:
                store = MoveStore(writing)
                there = await store.find(self.space.id)
                if there is not None and there.state != "moved":
                    self.say("going on with the move that was begun")
                    return
                if there is None:
                    await self._make_room(writing)
                else:
                    # It comes back to where it was before.
                    await RowTarget(writing, self.space.id).clear(kept=())
                    await store.open(self.space.id)
                rows = RowSource(reading, self.space.id, self.models)
                own = moved_tables_of("namespace")
                await RowTarget(writing, self.space.id).take(reading, rows.rows(own, None), own)
                await store.arrive(self.space.id, self.request.url, now)

    async def carry_over(self, now: datetime) -> NamespaceMoved:
        done = [await self._round()]
        await self.target.gather_statistics([table.name for table in moved_tables()])
        while not self._is_quick(done[-1]) and len(done) < ROUNDS:
            done.append(await self._round())
        if not self._is_quick(done[-1]):
            raise Unavailable(
                f"reading what changed takes {done[-1].seconds:.1f} s, too long for a pause of "
                f"{self._pause:.0f} s: name a longer one, or move it when less is written"
            )
        done.append(await self._round(compared=True))
        folding = await self._fold()
        self.say(f"all rows are equal, and the ledger refolds to the same bits in {folding:.1f} s")
        paused_at = monotonic()
        folded = folding < FOLDED_WITHIN * self._pause
        done.append(await self._switch(now, folded=folded))
        return NamespaceMoved(
            namespace=self.space.slug,
            url=self.request.url,
            rows=done[-1].rows,
            rounds=len(done),
            copied=sum(one.copied for one in done),
            last=done[-1].copied,
            paused_seconds=monotonic() - paused_at,
            folded_in_pause=folded,
        )

    @property
    def _pause(self) -> float:
        return self.request.pause.total_seconds()

    def _is_quick(self, done: Round) -> bool:
        return done.seconds < QUICK * self._pause

    async def _make_room(self, writing: Connection) -> None:
        """A first start makes an empty `default`; one in which something is stays."""
        store = NamespaceStore(writing)
        try:
            there = await store.by_slug(self.space.slug)
        except NotFound:
            return
        if (move := await MoveStore(writing).find(there.id)) is not None:
            raise self._name_taken(move)
        # Its rows are only seen from within it.
        await enter(writing, there.id)
        if not await RowTarget(writing, there.id).is_empty():
            raise Conflict(
                f"the new database has a namespace {self.space.slug} with something in it",
                code="namespace_not_empty",
            )
        await store.delete(there.id)
        await enter(writing, self.space.id)

    def _name_taken(self, move: Relocation) -> Conflict:
        """By another namespace that arrives there, or has moved on."""
        why = (
            f"has moved to {move.url}"
            if move.state == "moved"
            else "has begun to arrive: call that move off by --call-off"
        )
        return Conflict(
            f"the new database has another namespace {self.space.slug}, which {why}",
            code="namespace_not_empty",
        )

    async def _learn_models(self, reading: Connection, now: datetime) -> None:
        """What the target calls the models that rows of the source name."""
        named: dict[UUID, UUID] = {}
        async with self.target.transaction() as writing:
            for one in await ExportStore(reading, self.space.id).models():
                identity = ModelIdentity(one.name, one.revision, one.sha256, one.width)
                named[one.id] = await ModelStore(writing).know(identity, one.calibration, now)
        self.models = named

    async def _round(self, *, compared: bool = False, last: bool = False) -> Round:
        """What changed since the round before. A target that was written in an order that the
        source did not have may refuse a row for one that is gone by now: it is told what is gone.
        """
        began = monotonic()
        try:
            copied, rows = await self._read(compared=compared, last=last, pruned=False)
        except RowsRefused:
            copied, rows = await self._read(compared=compared, last=last, pruned=True)
        done = Round(copied, monotonic() - began, rows)
        self.say(f"{counted(copied, 'row')} in {done.seconds:.1f} s")
        return done

    async def _read(self, *, compared: bool, last: bool, pruned: bool) -> tuple[int, int]:
        async with self.source.snapshot(self.space.id) as reading:
            await self._learn_models(reading, datetime.now(UTC))
            rows = RowSource(reading, self.space.id, self.models)
            place = await rows.place()
            arriving = await relocation_of(self.target, self.space.id)
            if arriving is None:
                raise Conflict("the move was called off meanwhile", code="not_moving")
            if pruned:
                await self._prune(reading, rows, list(moved_tables()))
            changed = await rows.changed(arriving.places)
            copied = 0
            for table in changed:
                since = arriving.places.get(table.name)
                copied += await self._take(reading, rows, table, since=since, place=place)
            await self._note_place(changed, place)
            if not (compared or last):
                return copied, 0
            return copied, await self._compare(reading, rows, whole=compared)

    async def _take(
        self,
        reading: Connection,
        rows: RowSource,
        table: MovedTable,
        *,
        since: str | None,
        place: str,
    ) -> int:
        async with self.target.transaction(self.space.id, wherever=True) as writing:
            target = RowTarget(writing, self.space.id)
            taken = await target.take(reading, rows.rows(table, since), table)
            await MoveStore(writing).reached(self.space.id, [table.name], place)
        return taken

    async def _note_place(self, changed: Sequence[MovedTable], place: str) -> None:
        others = [one.name for one in moved_tables() if one not in changed]
        async with self.target.transaction() as writing:
            await MoveStore(writing).reached(self.space.id, others, place)

    async def _prune(self, reading: Connection, rows: RowSource, tables: list[MovedTable]) -> None:
        """Children first."""
        for table in reversed(tables):
            if table.name not in ("namespace", APPENDED):
                async with self.target.transaction(self.space.id, wherever=True) as writing:
                    target = RowTarget(writing, self.space.id)
                    await target.prune(reading, rows.keys(table), table)

    async def _compare(self, reading: Connection, rows: RowSource, *, whole: bool) -> int:
        """How many rows there are. Raises Conflict where the two differ; rows that the source has
        no more go first.
        """
        names = [one.name for one in moved_tables() if one.name != APPENDED]
        digested = names if whole else BELIEFS
        here = await rows.facts(digested)
        there = await self._facts(digested)
        more = [one for one in moved_tables() if there[one.name].rows > here[one.name].rows]
        if more:
            await self._prune(reading, rows, more)
            there = await self._facts(digested)
        for name in names:
            if here[name] != there[name]:
                raise Conflict(
                    f"the rows of {name} are not those of the old place: call the move off and "
                    "begin it anew",
                    code="copy_differs",
                )
        return sum(one.rows for one in here.values())

    async def _facts(self, digested: Sequence[str]) -> dict[str, TableFacts]:
        async with self.target.transaction(self.space.id, wherever=True) as writing:
            return await RowTarget(writing, self.space.id).facts(digested)

    async def _fold(self) -> float:
        """The seconds that it took. Raises Conflict where the ledger gives other beliefs."""
        began = monotonic()
        async with self.target.transaction(self.space.id, wherever=True) as writing:
            space = await NamespaceStore(writing).get(self.space.id)
            other = await find_difference(writing, space)
        if other is not None:
            raise Conflict(
                f"the ledger at the new place does not give the belief it has of {other}",
                code="copy_differs",
            )
        return monotonic() - began

    async def _switch(self, now: datetime, *, folded: bool) -> Round:
        """While nobody enters: the last round, and the change of places. Whatever fails before the
        source has given the namespace away, it is served there again.
        """
        async with self.source.transaction() as connection:
            await MoveStore(connection).pause(self.space.id, self.request.url, self.request.pause)
        try:
            await self._drain()
            done = await self._round(last=True)
            if folded:
                await self._fold()
            await self._leave(done, now)
        except BaseException:
            await asyncio.shield(self._serve_again())
            raise
        async with self.target.transaction() as connection:
            await MoveStore(connection).open(self.space.id)
            event = AuditEvent("namespace.arrived", self.space.slug, {"rows": done.rows})
            await CallStore(connection).record(event, None, self.space.id, now)
        return done

    async def _leave(self, done: Round, now: datetime) -> None:
        async with self.source.transaction() as connection:
            store = MoveStore(connection)
            # The lock in a statement of its own: who came in after the pause is waited for, and the
            # clock is read after that.
            await store.find(self.space.id, lock=True)
            if not await store.leave(self.space.id):
                raise Unavailable(
                    f"the last round took longer than the pause of {self._pause:.0f} s: the "
                    "namespace is served where it was. Move it again, or name a longer pause"
                )
            detail = {"url": self.request.url, "rows": done.rows}
            event = AuditEvent("namespace.move", self.space.slug, detail)
            await CallStore(connection).record(event, None, self.space.id, now)

    async def _serve_again(self) -> None:
        async with self.source.transaction() as connection:
            store = MoveStore(connection)
            found = await store.find(self.space.id, lock=True)
            if found is not None and found.state == "paused":
                await store.open(self.space.id)

    async def _drain(self) -> None:
        """Until whoever came in before the pause is out. Raises Unavailable."""
        began = monotonic()
        async with self.source.login() as connection:
            since = await moment(connection)
        while True:
            async with self.source.login() as connection:
                found = await still_running(connection, self.space.id, since)
            if found.hidden:
                raise Unavailable(
                    f"the database hides what {counted(found.hidden, 'connection')} of other "
                    "logins do: grant pg_read_all_stats to this login"
                )
            waited = monotonic() - began
            if not found.transactions and (not found.calls or waited > CALLS_WITHIN * self._pause):
                return
            if waited > FOLDED_WITHIN * self._pause:
                raise Unavailable(
                    f"{counted(found.transactions, 'transaction')} did not end within the pause: "
                    "the namespace is served where it was. End what runs for long, then try again"
                )
            await asyncio.sleep(LOOK_SECONDS)


def moved_tables_of(name: str) -> MovedTable:
    return next(one for one in moved_tables() if one.name == name)
