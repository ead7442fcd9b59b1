"""Statements of one transaction in one round trip, by libpq's own pipeline.

SQLAlchemy and the driver's cursors take some two milliseconds of processor time for what a database
answers in a fraction of one. Here a statement is prepared once a connection, all of them are sent
at once, and answers are read as they come by one callback a connection. The driver still connects,
and turns values into what is sent and back.
"""

import asyncio
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Statement:
    """What the driver is given as it stands, with values by name."""

    text: bytes
    values: Mapping[str, object]


BEGIN, COMMIT, ROLLBACK = Statement(b"BEGIN", {}), Statement(b"COMMIT", {}), b"ROLLBACK"
BINARY = 1
PREPARED_AT_MOST = 250
"""A connection with more prepared statements is not used again: their memory is the server's."""

_VALUE = re.compile(rb"%(?:\((?P<name>\w+)\)s|(?P<percent>%))")


@dataclass(frozen=True, slots=True)
class _Wire:
    """A statement as the protocol has it: values by number, and which value each number is."""

    text: bytes
    names: tuple[str, ...]


@lru_cache(maxsize=1_024)
def _to_wire(text: bytes) -> _Wire:
    names: dict[str, int] = {}

    def numbered(found: re.Match[bytes]) -> bytes:
        if found["percent"]:
            return b"%"
        name = found["name"].decode()
        return b"$%d" % names.setdefault(name, len(names) + 1)

    return _Wire(_VALUE.sub(numbered, text), tuple(names))


@dataclass(slots=True)
class _Asked:
    """What is under way on a connection: whom to tell, and what each answer will be of; None for
    the preparation of the statement behind it.
    """

    answer: "asyncio.Future[list[PGresult]]"
    kinds: list[tuple[bytes, tuple[int, ...]] | None] = field(
        default_factory=list[tuple[bytes, tuple[int, ...]] | None]
    )
    results: list[PGresult] = field(default_factory=list[PGresult])


class PipelineConnection:
    """One connection, for one transaction at a time. Used from the loop that opened it."""

    def __init__(self, connection: "psycopg.AsyncConnection[Any]") -> None:
        self._connection = connection
        self._libpq = connection.pgconn
        self._adapter = Transformer.from_context(connection)
        self._prepared: dict[tuple[bytes, tuple[int, ...]], bytes] = {}
        self._numbers = count(1)
        self._asked: _Asked | None = None
        self._writes = False
        self._loop = asyncio.get_running_loop()
        self._socket = self._libpq.socket
        self.is_usable = True
        self._libpq.nonblocking = 1
        self._libpq.enter_pipeline_mode()
        self._loop.add_reader(self._socket, self._read)

    @classmethod
    async def open(cls, url: str, options: Mapping[str, Any]) -> "PipelineConnection":
        return cls(await psycopg.AsyncConnection.connect(url, autocommit=True, **options))

    async def exchange(self, statements: Sequence[Statement]) -> list[Rows]:
        """The rows of each statement, all in one transaction. Raises the driver's fault of the
        first that failed, and nothing is kept; the connection goes on where it can.
        """
        try:
            results = await self._send([BEGIN, *statements, COMMIT])
        except BaseException:
            # Somebody may have left in the middle: what comes back is nobody's.
            self.close()
            raise
        failed = next((one for one in results if one.status == ExecStatus.FATAL_ERROR), None)
        if failed is not None:
            await self._recover()
            raise error_from_result(failed, self._adapter.encoding)
        if results[-1].command_status != b"COMMIT":
            self.close()
            raise psycopg.OperationalError("the transaction was not committed")
        return [self._rows(one) for one in results[1:-1]]

    def close(self) -> None:
        """Let it go, whatever is under way."""
        if self.is_usable:
            self.is_usable = False
            self._loop.remove_reader(self._socket)
            if self._writes:
                self._loop.remove_writer(self._socket)
            self._libpq.finish()

    @property
    def is_full(self) -> bool:
        return len(self._prepared) > PREPARED_AT_MOST

    async def _send(self, statements: Sequence[Statement]) -> list[PGresult]:
        self._asked = asked = _Asked(self._loop.create_future())
        for statement in statements:
            self._put(statement, asked)
        self._libpq.pipeline_sync()
        self._write()
        results = await asked.answer
        kept: list[PGresult] = []
        for kind, result in zip(asked.kinds, results, strict=True):
            if kind is None:
                kept.append(result)
            elif result.status == ExecStatus.COMMAND_OK:
                continue
            else:
                self._prepared.pop(kind, None)
                if result.status == ExecStatus.FATAL_ERROR:
                    kept.append(result)
        return kept

    def _put(self, statement: Statement, asked: _Asked) -> None:
        wire = _to_wire(statement.text)
        values = [statement.values[name] for name in wire.names]
        sent: Sequence[Buffer | None] = self._adapter.dump_sequence(
            values, [PyFormat.AUTO] * len(values)
        )
        types, formats = tuple(self._adapter.types or ()), self._adapter.formats
        key = (wire.text, types)
        name = self._prepared.get(key)
        if name is None:
            name = self._prepared[key] = b"ml%d" % next(self._numbers)
            self._libpq.send_prepare(name, wire.text, types)
            asked.kinds.append(key)
        self._libpq.send_query_prepared(name, sent, formats, result_format=BINARY)
        asked.kinds.append(None)

    async def _recover(self) -> None:
        """Out of a transaction that failed."""
        if self._libpq.transaction_status == TransactionStatus.IDLE:
            return
        try:
            await self._send([Statement(ROLLBACK, {})])
        except BaseException:
            self.close()
            raise
        if self._libpq.transaction_status != TransactionStatus.IDLE:
            self.close()

    def _write(self) -> None:
        """As much as the socket takes; the rest when it takes more."""
        try:
            waits = self._libpq.flush() != 0
        except psycopg.Error as fault:
            self._fail(fault)
            return
        if waits != self._writes:
            self._writes = waits
            if waits:
                self._loop.add_writer(self._socket, self._write)
            else:
                self._loop.remove_writer(self._socket)

    def _read(self) -> None:
        """What has come. With nobody asking, it can only be that the connection ends."""
        try:
            self._libpq.consume_input()
            asked = self._asked
            while asked is not None and not self._libpq.is_busy():
                result = self._libpq.get_result()
                if result is None:
                    # One statement's answers end; those of the next, where they have come, follow.
                    result = None if self._libpq.is_busy() else self._libpq.get_result()
                    if result is None:
                        break
                if result.status == ExecStatus.PIPELINE_SYNC:
                    self._asked = None
                    if not asked.answer.done():
                        asked.answer.set_result(asked.results)
                    break
                asked.results.append(result)
        except psycopg.Error as fault:
            self._fail(fault)

    def _fail(self, fault: psycopg.Error) -> None:
        asked, self._asked = self._asked, None
        self.close()
        if asked is not None and not asked.answer.done():
            asked.answer.set_exception(fault)

    def _rows(self, result: PGresult) -> Rows:
        if result.status != ExecStatus.TUPLES_OK:
            return []
        names = [(result.fname(place) or b"").decode() for place in range(result.nfields)]
        self._adapter.set_pgresult(result)
        return self._adapter.load_rows(
            0, result.ntuples, lambda values: dict(zip(names, values, strict=True))
        )


class PipelineConnections:
    """At most so many connections; whoever finds none free waits for one, in the order of coming.

    Raises TimeoutError after `timeout` seconds of waiting, psycopg.OperationalError where none can
    be opened.
    """

    def __init__(self, url: str, options: Mapping[str, Any], most: int, timeout: float) -> None:
        self._url, self._options, self._timeout = url, options, timeout
        self._free: deque[PipelineConnection] = deque()
        self._places = asyncio.Semaphore(most)
        self.most = most
        self.out = 0

    @property
    def kept(self) -> int:
        """How many are open and free."""
        return len(self._free)

    async def exchange(self, statements: Sequence[Statement]) -> list[Rows]:
        """As `PipelineConnection.exchange`."""
        if self._places.locked():
            await asyncio.wait_for(self._places.acquire(), self._timeout)
        else:
            await self._places.acquire()
        self.out += 1
        try:
            try:
                return await self._exchange(self._take(), statements)
            except psycopg.errors.FeatureNotSupported:
                # A table was changed since a statement on it was prepared; nothing was kept.
                return await self._exchange(None, statements)
        finally:
            self.out -= 1
            self._places.release()

    async def _exchange(
        self, connection: PipelineConnection | None, statements: Sequence[Statement]
    ) -> list[Rows]:
        connection = connection or await PipelineConnection.open(self._url, self._options)
        try:
            return await connection.exchange(statements)
        except psycopg.errors.FeatureNotSupported:
            connection.close()
            raise
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Those that are free; the others end with what is under way on them."""
        while self._free:
            self._free.pop().close()
        self.most = 0

    def _take(self) -> PipelineConnection | None:
        while self._free:
            # The one used last: its memory is warm, and the others may be let go.
            connection = self._free.pop()
            if connection.is_usable:
                return connection
        return None

    def _give_back(self, connection: PipelineConnection) -> None:
        if connection.is_full or not self.most:
            connection.close()
        if connection.is_usable:
            self._free.append(connection)
