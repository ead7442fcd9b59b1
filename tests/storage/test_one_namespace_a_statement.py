"""Every statement of the hot path names the one namespace it is about, so that the database looks
into one partition, or asks one server, whatever the policies of its tables add.

The statements are those that were sent in a real run over tables of eight partitions. Each is
planned for a superuser, whom no policy binds: only what the statement itself says narrows it down.
"""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import ClientCursor
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import event

from memory.experiences.service import remember
from memory.inference.service import register_model
from memory.kernel.engine import Engine
from memory.kernel.postgres import database as database_module
from memory.kernel.postgres.database import Database, Driver, Rows, Statement, ask_together
from memory.kernel.postgres.migrate import upgrade
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport
from memory.outcomes.service import report
from memory.retrieval.entities import Advice
from memory.retrieval.resident.namespaces import ResidentNamespaces
from memory.retrieval.service import retrieve
from memory.schema import ISOLATED
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call
from memory.tenancy.service import authenticate, ensure_operator_key, open_namespace
from tests.fixtures.builders import a_draft, a_report, an_ask
from tests.fixtures.database import Databases
from tests.fixtures.engine import NOON, RESIDENT_BYTES, a_namespace, an_engine

PARTS = 8
PART = re.compile(r"(\w+)_p(\d+)")
Ask = Callable[[Driver, Sequence[Statement]], Awaitable[list[Rows]]]
NAMES = re.compile(rf"\b({'|'.join(table.name for table in ISOLATED)})\b")


@dataclass(slots=True)
class Sent:
    """What was sent to the database: each statement once, with values of it."""

    statements: dict[str, Any] = field(default_factory=dict[str, Any])

    def note(self, statement: str, values: object) -> None:
        if NAMES.search(statement):
            self.statements.setdefault(statement, values)

    def watching(self, ask: Ask) -> Ask:
        async def asked(driver: Driver, statements: Sequence[Statement]) -> list[Rows]:
            for one in statements:
                self.note(one.text.decode(), one.values)
            return await ask(driver, statements)

        return asked


class Watched(Database):
    """Keeps what it sends: by SQLAlchemy, and by exchanges."""

    def __init__(self, url: str, sent: Sent) -> None:
        super().__init__(url)
        self.sent = sent
        event.listen(self._engine.sync_engine, "before_cursor_execute", self._note)

    def _note(self, *args: Any) -> None:
        _, _, statement, values, _, _ = args
        self.sent.note(statement, values[0] if isinstance(values, list) else values)

    async def exchange(
        self, statements: Sequence[Statement], namespace_id: UUID | None = None
    ) -> list[Rows]:
        for one in statements:
            self.sent.note(one.text.decode(), one.values)
        return await super().exchange(statements, namespace_id)


@pytest.fixture(scope="module")
def spread_url(fresh_database: Databases) -> str:
    url = fresh_database()
    upgrade(url, PARTS)
    return url


@pytest.fixture
def sent() -> Sent:
    return Sent()


@pytest.fixture(params=[RESIDENT_BYTES, 0], ids=["copy", "database"])
async def watched(
    spread_url: str,
    sent: Sent,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncGenerator[Engine]:
    """Over copies of namespaces, and over the database alone."""
    monkeypatch.setattr(database_module, "ask_together", sent.watching(ask_together))
    database = Watched(spread_url, sent)
    resident = ResidentNamespaces(database, request.param)
    engine = an_engine(spread_url, database=database, resident=resident)
    await register_model(engine, NOON)
    yield engine
    await engine.close()


@pytest.fixture(scope="module")
def operator_keys() -> dict[str, str]:
    return {}


@pytest.fixture
async def call(watched: Engine, operator_keys: dict[str, str]) -> Call:
    if (made := await ensure_operator_key(watched, None, NOON)) is not None:
        operator_keys["token"] = str(made)
    operator = await authenticate(watched, operator_keys["token"], NOON)
    slug = await a_namespace(watched, operator)
    return Call(operator, await open_namespace(watched, operator, slug), NOON)


async def test_each_looks_into_one_partition(
    watched: Engine, call: Call, sent: Sent, spread_url: str, superuser_url: str
) -> None:
    sent.statements.clear()
    await the_loop(watched, call)

    faults = [
        f"{sorted(parts)} of {statement}"
        for statement, parts in looked_into(superuser_url, spread_url, sent.statements)
        if len(parts) > 1
    ]

    assert len(sent.statements) > 40
    assert not faults, "\n\n".join(faults)


async def the_loop(engine: Engine, call: Call) -> None:
    """Remember, again in the same words, retrieve, report and apply, twice; with all that hangs on
    it.
    """
    drafts = [a_draft(lesson=f"start from the rate of month {n}") for n in range(4)]
    for _ in range(2):
        assert len(await remember(engine, call, drafts)) == len(drafts)
        asks = [
            an_ask(task=TaskDraft("a forecast of rain", category="weather", key=f"k{n}"))
            for n in range(2)
        ]
        served = [one for one in await retrieve(engine, call, asks) if isinstance(one, Advice)]
        assert [bool(one.memories) for one in served] == [True] * len(asks)
        said = a_report(without={"reward": 0.2})
        told = [ReceiptReport(one.receipt.retrieval_id, said) for one in served]
        assert len(await report(engine, call, told)) == len(asks)
        assert (await apply_now(engine, call)).applied == 2


def looked_into(
    superuser_url: str, url: str, statements: Mapping[str, Any]
) -> Iterator[tuple[str, set[str]]]:
    """By statement, the partitions that its plan reads or changes."""
    inside = make_conninfo(superuser_url, dbname=conninfo_to_dict(url)["dbname"])
    with psycopg.connect(inside, autocommit=True, cursor_factory=ClientCursor) as connection:
        for statement, values in statements.items():
            explain = f"EXPLAIN (FORMAT JSON, COSTS OFF) {statement}"
            [[[plan]]] = connection.execute(explain.encode(), values).fetchall()
            yield statement, set(parts_of(plan["Plan"]))


def parts_of(node: Mapping[str, Any]) -> Iterator[str]:
    for place in (node, *node.get("Target Tables", ())):
        if found := PART.fullmatch(place.get("Relation Name", "")):
            yield found[2]
    if node.get("Subplans Removed"):
        yield "those left out when it is run"
    for below in node.get("Plans", ()):
        yield from parts_of(below)
