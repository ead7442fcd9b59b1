"""What was erased is in no column of the database, whatever was under way when it was erased."""

import asyncio
import random
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import psycopg
import pytest
from private_bank import OWNER, TASK, WORDS, Bank, a_bank, sent
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.inference.service import register_model
from memory.retrieval.entities import Advice
from memory.retrieval.service import get_receipt, retrieve
from memory.tenancy.entities import Attempt, Recorded
from memory.tenancy.service import ensure_operator_key
from memory.tenancy.store.calls import CallStore
from tests.fixtures.builders import a_draft, an_ask
from tests.fixtures.engine import NOON, an_engine
from tests.fixtures.language_model import Script
from tests.storage.steps import remembered

COLUMNS = """
    SELECT c.table_name, c.column_name FROM information_schema.columns c
    JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE table_schema = 'public' AND t.table_type = 'BASE TABLE'
      AND c.data_type IN ('text', 'jsonb', 'json', 'ARRAY', 'bytea', 'character varying')
"""


def kept_words(superuser_url: str, database_url: str, words: list[str]) -> list[str]:
    """Where any of the words stands, in all columns that may hold text, of all tables."""
    database = str(conninfo_to_dict(database_url)["dbname"])
    found: list[str] = []
    with psycopg.connect(make_conninfo(superuser_url, dbname=database)) as server:
        for table, column in server.execute(COLUMNS).fetchall():
            text = sql.SQL("encode({}, 'escape')") if _is_bytes(server, table, column) else None
            name = sql.Identifier(column)
            shown = sql.SQL("{}::text").format(name) if text is None else text.format(name)
            query = sql.SQL("SELECT count(*) FROM {} WHERE {} LIKE ANY(%s)")
            patterns = [f"%{word}%" for word in words]
            [count] = server.execute(query.format(sql.Identifier(table), shown), [patterns])
            if count[0]:
                found.append(f"{table}.{column}")
    return sorted(found)


def _is_bytes(server: psycopg.Connection, table: str, column: str) -> bool:
    [kind] = server.execute(
        "SELECT data_type FROM information_schema.columns"
        " WHERE table_schema = 'public' AND table_name = %s AND column_name = %s",
        [table, column],
    )
    return kind[0] == "bytea"


@pytest.fixture
async def bank(migrated_database, language_model, tmp_path) -> AsyncGenerator[tuple[Bank, str]]:
    """In a database of its own, so that no other test's words are in it."""
    url = migrated_database()
    engine = an_engine(url)
    await register_model(engine, NOON)
    token = await ensure_operator_key(engine, None, NOON)
    await engine.close()
    async for made in a_bank(url, str(token), language_model, tmp_path):
        yield made, url


async def is_asked(script: Script) -> None:
    while not script.asked:  # noqa: ASYNC110 - the model answers in a thread of its own
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("by", ["memory", "agent", "key"])
async def test_no_column_of_any_table_keeps_words_that_were_erased(bank, superuser_url, by):
    filled, url = bank
    before = kept_words(superuser_url, url, list(WORDS.values()))
    # All of it is there to be found, so that finding nothing says something.
    assert {"memory_version.lesson", "audit.detail", "writing.answer", "retrieval.lines"} <= {
        *before
    }
    assert {"idempotency.response", "outcome.lesson", "ticket.guideline"} <= {*before}

    async with filled.client("operator") as operator:
        keys = (await operator.get("/v1/keys", params={"limit": 200})).json()["items"]
        owner_key = next(key["id"] for key in keys if key["name"] == OWNER)
        subjects = {
            "memory": [{"memory_id": one} for one in filled.secret],
            "agent": [{"agent": OWNER}],
            "key": [{"key_id": owner_key}],
        }
        for subject in subjects[by]:
            await sent(operator, filled.path("/erasures"), subject)

    assert kept_words(superuser_url, url, list(WORDS.values())) == []
    async with filled.client("operator") as operator:
        trail = (await operator.get(filled.path("/audit"), params={"limit": 200})).json()["items"]
    assert {"memory.suspend", "memory.restore", "erase"} <= {entry["action"] for entry in trail}


async def test_dead_rows_are_gone_from_the_file_after_the_vacuum_that_the_page_names(
    bank, superuser_url
):
    filled, url = bank
    async with filled.client("operator") as operator:
        await sent(operator, filled.path("/erasures"), {"agent": OWNER})
    page = Path(__file__).parents[2] / "docs/how-to/erase-what-was-said.md"
    command = re.search(r"VACUUM \(FULL, ANALYZE\)", page.read_text())
    assert command is not None
    before = bytes_of(superuser_url, url, "memory_version")

    # As the login that serves: it may do what the owner of the tables may. A row goes once no
    # transaction is left that began before the erasure; others may be under way here.
    with psycopg.connect(url, autocommit=True) as login:
        for _ in range(20):
            login.execute(sql.SQL(f"{command[0]} memory_version"))
            after = bytes_of(superuser_url, url, "memory_version")
            if b"obsidianfern" not in after:
                break
            await asyncio.sleep(0.5)

    assert b"obsidianfern" in before
    assert b"obsidianfern" not in after


def bytes_of(superuser_url: str, database_url: str, table: str) -> bytes:
    """The table's file as it lies on the disk."""
    database = str(conninfo_to_dict(database_url)["dbname"])
    with psycopg.connect(make_conninfo(superuser_url, dbname=database), autocommit=True) as server:
        server.execute("CHECKPOINT")
        read = "SELECT pg_read_binary_file(pg_relation_filepath(%s))"
        [[content]] = server.execute(read, [table]).fetchall()
        return bytes(content)


async def test_what_a_slow_model_writes_is_not_kept_once_its_source_was_erased(
    bank, superuser_url, script
):
    filled, url = bank
    async with filled.client(OWNER) as owner, filled.client("operator") as operator:
        script.say("slow")
        ask = {"agent": OWNER, "task": TASK, "arm": "on", "k": 8}
        again = {"Idempotency-Key": "slow"}
        compiling = asyncio.create_task(sent(owner, filled.path("/retrievals"), ask, **again))
        await is_asked(script)
        for memory_id in filled.secret:
            await sent(operator, filled.path("/erasures"), {"memory_id": memory_id})
        answer = await compiling

    assert answer["compiler"] == "deterministic/1"
    assert "look up the base rate of rain first" in answer["guideline"]["text"]
    assert not filled.told(str(answer["guideline"]))
    assert kept_words(superuser_url, url, list(WORDS.values())) == []


async def test_what_was_retired_while_a_model_wrote_is_left_out_of_the_guideline(bank, script):
    filled, _ = bank
    secret = filled.secret[0]
    async with filled.client(OWNER) as owner:
        script.say("slow")
        ask = {"agent": OWNER, "task": TASK, "arm": "on", "k": 8}
        compiling = asyncio.create_task(sent(owner, filled.path("/retrievals"), ask))
        await is_asked(script)
        await sent(owner, filled.path(f"/experiences/{secret}/retire"), {"reason": "wrong"})
        answer = await compiling
        receipt = await owner.get(filled.path(f"/retrievals/{answer['retrieval_id']}"))

    assert answer["compiler"] == "deterministic/1"
    assert secret not in str(answer["guideline"])
    assert secret not in {item["memory_id"] for item in receipt.json()["items"]}
    assert receipt.json()["guideline"] == answer["guideline"]


async def test_a_receipt_that_is_stored_while_its_memory_is_erased_keeps_no_word_of_it(
    engine, calls, wall
):
    """Whichever of the two comes first: an erasure waits for the receipt, or the receipt for it."""
    chance = random.Random(5)
    call = await calls(wall)
    for turn in range(12):
        word = f"gossamer{turn}"
        draft = a_draft(lesson=f"look up the {word} before anything else")
        [made] = await remembered(engine, call, draft)
        await remembered(engine, call, a_draft(lesson=f"keep what is {turn}"))

        async def erased(memory_id=made.id) -> None:
            await asyncio.sleep(chance.random() / 30)
            await erase(engine, call, Erasure(memory_id=memory_id))

        asking = [retrieve(engine, call, [an_ask(k=8, max_tokens=4_000)]) for _ in range(6)]
        *answers, _ = await asyncio.gather(*asking, erased())
        for [answer] in answers:
            assert isinstance(answer, Advice)
            kept = await get_receipt(engine, call, answer.receipt.retrieval_id)
            assert word not in (kept.guideline.text or "")
            assert all(word not in line.text for line in kept.guideline.lines)


async def test_an_answer_under_way_during_an_erasure_is_not_kept_for_repeats(engine, calls, wall):
    call = await calls(wall)
    [made] = await remembered(engine, call, a_draft())
    attempt = Attempt(call.key.id, "POST", "/there", "k", b"body", call.namespace.id, NOON)
    async with engine.database.transaction() as connection:
        await CallStore(connection).begin(attempt)

    await erase(engine, call, Erasure(memory_id=made.id))
    async with engine.database.transaction() as connection:
        await CallStore(connection).finish(attempt, Recorded(201, b"words"))

    async with engine.database.transaction() as connection:
        again = await CallStore(connection).begin(attempt)
    assert again == Recorded(201, b'{"erased":true}')
