"""A file may come from anybody: what is wrong with it is said by member and line, and nothing of it
is left.
"""

import asyncio
import json
import tarfile
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from uuid import uuid4

import pytest
from hostile_files import (
    Members,
    first_row,
    members_of,
    packed,
    with_line,
    with_lines,
    with_manifest,
    with_row,
    write_members,
)
from transfer_builders import exported, imported, opened, shared

from memory.kernel.errors import Conflict, MemoryFault, NotFound, Rejected
from memory.kernel.postgres.database import Database
from memory.kernel.postgres.migrate import upgrade
from memory.transfer.entities import MAX_DEPTH, OnConflict
from memory.transfer.store.catalogue import transfer_tables
from tests.migrations.first_release import restore

AGENT = [table.name for table in transfer_tables()].index("agent")
DEEP = "[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2)
ROWS = """
    SELECT count(*)::text FROM (
        SELECT id FROM namespace UNION ALL SELECT id FROM embedding_model
        UNION ALL SELECT id FROM api_key UNION ALL SELECT id FROM audit) x
"""


@pytest.fixture(scope="module")
async def good(
    fresh_database: Callable[[], str],
    superuser_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Members:
    url = fresh_database()
    await asyncio.to_thread(restore, superuser_url, url)
    await asyncio.to_thread(upgrade, url)
    file = tmp_path_factory.mktemp("good") / "a.tar"
    async with opened(url) as database:
        await exported(database, "wall", file)
    return members_of(file)


@pytest.fixture(scope="module")
async def elsewhere(migrated_database: Callable[[], str]) -> str:
    return await asyncio.to_thread(migrated_database)


@pytest.fixture
async def target(elsewhere: str) -> AsyncGenerator[Database]:
    """A database in which nothing may be left."""
    before = await shared(elsewhere, ROWS)
    async with opened(elsewhere) as database:
        yield database
    assert await shared(elsewhere, ROWS) == before


Change = Callable[[Members], Members]
CHANGES: dict[str, tuple[Change, str]] = {
    "a newer schema": (
        lambda good: with_manifest(good, lambda told: told.update(schema="9999")),
        r"the file has schema 9999, this version of memlift knows \d{4}: import it with",
    ),
    "an older schema": (
        lambda good: with_manifest(good, lambda told: told.update(schema="0003")),
        r"the file has schema 0003, this version of memlift reads \d{4} and later",
    ),
    "another format": (
        lambda good: with_manifest(good, lambda told: told.update(format=2)),
        "the file's format is 2, this version of memlift reads 1",
    ),
    "no manifest": (
        lambda good: {name: text for name, text in good.items() if name != "manifest.json"},
        "where manifest.json should be, the file has 'api_key.jsonl'",
    ),
    "a manifest that is no JSON": (
        lambda good: good | {"manifest.json": b"{"},
        "manifest.json is not JSON",
    ),
    "a deep manifest": (
        lambda good: good | {"manifest.json": b"[" * 100_000},
        "manifest.json is not JSON",
    ),
    "a large manifest": (
        lambda good: good | {"manifest.json": b" " * 2_000_000},
        "manifest.json has more than 1048576 bytes",
    ),
    "an unknown setting": (
        lambda good: with_manifest(good, lambda told: told["namespace"].update(root=True)),
        "manifest.json: namespace.root",
    ),
    "a wrong setting": (
        lambda good: with_manifest(
            good, lambda told: told["namespace"]["settings"].update(max_memories="many")
        ),
        "manifest.json: namespace.settings.max_memories",
    ),
    "a slug that is a path": (
        lambda good: with_manifest(good, lambda told: told["namespace"].update(slug="../x")),
        "slug",
    ),
    "an unknown table": (
        lambda good: with_manifest(
            good, lambda told: told["members"][0].update(table="embedding_model")
        ),
        "the file has a table that is not known: embedding_model",
    ),
    "a table that is a path": (
        lambda good: with_manifest(
            good, lambda told: told["members"][0].update(table="../../etc/passwd")
        ),
        "manifest.json: members.0.table",
    ),
    "a table twice": (
        lambda good: with_manifest(good, lambda told: told["members"].append(told["members"][0])),
        "the tables of the file are not in their order",
    ),
    "a missing table": (
        lambda good: with_manifest(good, lambda told: told["members"].pop()),
        "the file lacks the table",
    ),
    "an unknown column": (
        lambda good: with_manifest(
            good, lambda told: told["members"][0]["columns"].append("sha256")
        ),
        "api_key.jsonl has a column that is not known: sha256",
    ),
    "another sha256": (
        lambda good: with_manifest(
            good, lambda told: told["members"][AGENT].update(sha256="0" * 64)
        ),
        "agent.jsonl is not what its manifest says: another sha256",
    ),
    "more rows than it says": (
        lambda good: with_manifest(good, lambda told: told["members"][AGENT].update(rows=1)),
        "agent.jsonl, line 2: is beyond the 1 of the manifest",
    ),
    "fewer rows than it says": (
        lambda good: with_manifest(good, lambda told: told["members"][AGENT].update(rows=10**6)),
        "agent.jsonl has . lines, its manifest says 1000000",
    ),
    "another size": (
        lambda good: with_manifest(good, lambda told: told["members"][AGENT].update(bytes=7)),
        "agent.jsonl has .* bytes, its manifest says 7",
    ),
    "a member too many": (
        lambda good: good | {"more.jsonl": b"{}\n"},
        "the file has a member that its manifest does not name",
    ),
    "a line that is no JSON": (
        lambda good: with_line(good, "agent", b"{]"),
        "agent.jsonl, line 1: is not JSON",
    ),
    "a line that is a number": (
        lambda good: with_line(good, "agent", b"1"),
        "agent.jsonl, line 1: is not a JSON object",
    ),
    "a line that is not UTF-8": (
        lambda good: with_line(good, "agent", b'{"name": "\xff"}'),
        "agent.jsonl, line 1: is not UTF-8",
    ),
    "an infinite number": (
        lambda good: with_line(good, "agent", b'{"name": Infinity}'),
        "agent.jsonl, line 1: is not JSON",
    ),
    "a number beyond all": (
        lambda good: with_line(good, "agent", b'{"name": 1e999}'),
        "agent.jsonl, line 1: is not JSON",
    ),
    "a number with many digits": (
        lambda good: with_line(good, "agent", b'{"name": ' + b"9" * 9999 + b"}"),
        "agent.jsonl, line 1: is not JSON",
    ),
    "a deep line": (
        lambda good: with_line(good, "agent", b'{"name": ' + b"[" * 10**5 + b"]" * 10**5 + b"}"),
        "agent.jsonl, line 1: is nested more than 64 deep",
    ),
    "a deep document": (
        lambda good: with_row(good, "memory", 2, metadata=DEEP),
        "memory.jsonl, line 2: is nested more than 64 deep",
    ),
    "a NUL": (
        lambda good: with_row(good, "agent", 2, name="a\0b"),
        "agent.jsonl, line 2: holds a NUL or half a character",
    ),
    "half a character": (
        lambda good: with_row(good, "agent", 2, name="\ud800"),
        "agent.jsonl, line 2: holds a NUL or half a character",
    ),
    "a NUL in a document": (
        lambda good: with_row(good, "memory", 2, metadata='{"a": "\\u0000"}'),
        "memory.jsonl, line 2: has something else for metadata than JSON in a text",
    ),
    "a column of its own": (
        lambda good: with_row(good, "agent", namespace_id=str(uuid4())),
        "agent.jsonl, line 1: has a column that is not known: 'namespace_id'",
    ),
    "a column too few": (
        lambda good: with_line(good, "agent", b"{}"),
        "agent.jsonl, line 1: lacks the column id",
    ),
    "null where none may be": (
        lambda good: with_row(good, "agent", name=None),
        "agent.jsonl, line 1: has null for name",
    ),
    "a number for a text": (
        lambda good: with_row(good, "agent", name=3),
        "agent.jsonl, line 1: has something else for name than a text",
    ),
    "true for a number": (
        lambda good: with_row(good, "agent", version=True),
        "agent.jsonl, line 1: has something else for version than a whole number of 32 bits",
    ),
    "a time without a zone": (
        lambda good: with_row(good, "agent", created_at="2026-01-01T00:00:00"),
        "agent.jsonl, line 1: has something else for created_at than a time with its zone",
    ),
    "words for a vector": (
        lambda good: with_row(good, "embedding", vector="[1,2,'); DROP TABLE memory; --]"),
        "embedding.jsonl, line 1: has something else for vector than a vector",
    ),
    "a vector of another width": (
        lambda good: with_row(good, "embedding", vector="[1,2,3]"),
        "embedding.jsonl, line 1: has a vector of 3 components, its model has",
    ),
    "a word that is not in the list": (
        lambda good: with_row(good, "memory", 3, status="king"),
        'memory.jsonl, line 3: .*violates check constraint "ck_memory_status"',
    ),
    "an id twice": (
        lambda good: with_row(good, "agent", 2, id=first_row(good, "agent")["id"]),
        "agent.jsonl, line 2: shares its id, or another key, with another row of the file or of ",
    ),
    "an array that is no number": (
        lambda good: with_row(good, "memory_weight", state=[1, "x"]),
        "memory_weight.jsonl, line 1: has something else for state than a list, each a finite",
    ),
    "a row of nobody": (
        lambda good: with_row(good, "memory", 2, agent_id=str(uuid4())),
        "memory.jsonl, line 2: agent_id names a row of agent that is not there",
    ),
    "a model of nobody": (
        lambda good: with_row(good, "retrieval", 2, model_id=str(uuid4())),
        "retrieval.jsonl, line 2: names a model that the manifest does not",
    ),
    "a parent of nobody": (
        lambda good: with_row(good, "category", parent_id=str(uuid4())),
        "category.jsonl, line 1: parent_id names a row of category that is not there",
    ),
    "a later version of the bank": (
        lambda good: with_row(good, "memory", 2, bank_version=2**40),
        "memory.jsonl, line 2: is of a later version of the bank than the manifest says",
    ),
    "an operator's key": (
        lambda good: with_row(good, "api_key", role="operator"),
        "api_key.jsonl, line 1: is a key of an operator",
    ),
    "a date beyond all": (
        lambda good: with_row(good, "effect_day", day="10000-01-01"),
        "effect_day.jsonl, line 1: has something else for day than a date",
    ),
    "a reward beyond 1": (
        lambda good: with_row(good, "outcome", reward=7),
        "outcome.jsonl, line 1: has a reward that is not between 0 and 1",
    ),
    "a ranker of nobody": (
        lambda good: with_row(good, "retrieval", 2, ranker="bogus"),
        "retrieval.jsonl, line 2: has a ranker that is not known",
    ),
    "rankers without names": (
        lambda good: with_row(good, "retrieval", 2, rankers="[1]"),
        "retrieval.jsonl, line 2: has something else for rankers",
    ),
    "lines that are none": (
        lambda good: with_row(good, "retrieval", 2, lines='{"a": 1}'),
        "retrieval.jsonl, line 2: has something else for lines",
    ),
    "a line without its memories": (
        lambda good: with_row(good, "retrieval", 2, lines='[{"text": "a"}]'),
        "retrieval.jsonl: row .* cannot be read",
    ),
    "a search that is none": (
        lambda good: with_row(good, "retrieval", 2, search="[[1]]"),
        "retrieval.jsonl, line 2: has something else for search",
    ),
    "a search for nothing": (
        lambda good: with_row(good, "retrieval", 2, search="{}"),
        "retrieval.jsonl: row .* cannot be read",
    ),
    "an exposure of no memory": (
        lambda good: with_row(good, "outcome", exposure='{"a": 1}'),
        "outcome.jsonl: row .* cannot be read",
    ),
    "a lesson of a book": (
        lambda good: with_row(good, "memory_version", 2, lesson="a" * 5_000_000),
        "memory_version.jsonl, line 2: lesson has 5000000 characters; the limit is 4000",
    ),
    "a lesson that was not cleaned": (
        lambda good: with_row(good, "memory_version", 2, lesson="e\u0301"),
        "memory_version.jsonl, line 2: has a lesson that is not in Unicode's form NFC",
    ),
    "a task of a book": (
        lambda good: with_row(good, "task", text="a" * 8001),
        "task.jsonl, line 1: text has 8001 characters; the limit is 8000",
    ),
    "a long name": (
        lambda good: with_row(good, "api_key", name="a" * 201),
        "api_key.jsonl, line 1: name has 201 characters; the limit is 200",
    ),
    "no belief": (
        lambda good: with_row(good, "memory_weight", state=[]),
        "the file's ledger does not give the belief it has of memory [0-9a-f-]{36}",
    ),
    "another belief": (
        lambda good: with_row(good, "memory_weight", state=[9, 0.5]),
        "the file's ledger does not give the belief it has of memory [0-9a-f-]{36}",
    ),
    "a ledger that cannot be folded": (
        lambda good: with_lines(
            good, "outcome", lambda lines: [with_value(one, "evidence", "paired") for one in lines]
        ),
        "the file's ledger cannot be folded: These rewards are no evidence of kind paired",
    ),
    "a calibration that is no number": (
        lambda good: with_manifest(
            good, lambda told: told["models"][0]["calibration"].update(q99=float("nan"))
        ),
        "manifest.json: models.0.calibration.q99: Input should be a finite number",
    ),
    "a line without an end": (
        lambda good: with_lines(good, "agent", lambda lines: [*lines[:-1], lines[-1].rstrip()]),
        r"agent.jsonl, line \d: does not end in a line break",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
async def test_a_fault_is_named_and_nothing_is_left(
    good: Members, target: Database, tmp_path: Path, what: str
) -> None:
    change, told = CHANGES[what]
    file = write_members(tmp_path / "a.tar", change(dict(good)))

    for how in ({}, {"on_conflict": OnConflict.NEW_IDS}):
        with pytest.raises(MemoryFault, match=told):
            await imported(target, file, **how)


async def test_the_good_one_is_taken(good: Members, target: Database, tmp_path: Path) -> None:
    file = write_members(tmp_path / "a.tar", good)

    assert (await imported(target, file, dry_run=True)).rows["memory"] > 3


async def test_a_row_of_another_namespace_is_not_reached(
    good: Members, migrated_database: Callable[[], str], tmp_path: Path
) -> None:
    """By its id alone the database would let a row in that names it."""
    url = await asyncio.to_thread(migrated_database)
    async with opened(url) as database:
        whole = write_members(tmp_path / "whole.tar", good)
        await imported(database, whole, namespace="theirs")
        reaching = dict(good)
        for table in (table.name for table in transfer_tables() if table.name != "cell"):
            reaching = with_lines(reaching, table, lambda _: [])
        file = write_members(tmp_path / "a.tar", reaching)
        told = "cell.jsonl, line 1: agent_id names a row of agent that is not there"
        with pytest.raises(Rejected, match=told):
            await imported(database, file, namespace="mine")
        for conflict in (OnConflict.FAIL, OnConflict.SKIP):
            with pytest.raises(
                Conflict, match=r"^the ids of this file belong to namespace theirs: .* new_ids$"
            ):
                await imported(database, whole, namespace="mine", on_conflict=conflict)
        with pytest.raises(NotFound):
            await exported(database, "mine", tmp_path / "b.tar")


async def test_what_is_no_plain_tar_is_refused(
    good: Members, target: Database, tmp_path: Path
) -> None:
    good_file = write_members(tmp_path / "good.tar", good)
    text = good_file.read_bytes()
    link = tmp_path / "link.tar"
    with tarfile.open(link, "w") as tar:
        header = tarfile.TarInfo("manifest.json")
        header.type, header.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(header)
    long = tmp_path / "long.tar"
    with tarfile.open(long, "w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo("x" * 300))
    files = {
        "manifest.json is a link: an export holds plain files alone": link,
        "where manifest.json should be, the file has ": long,
        "the file is empty": _file(tmp_path / "empty", b""),
        "the file ends before all of it was read: it was cut": _file(tmp_path / "cut", text[:600]),
        "the file ends before all of it was read": packed(tmp_path / "whole.gz", text),
        "the file ends where manifest.json should be": _file(tmp_path / "zeros", bytes(10_240)),
        r"memory.jsonl, line \d+: the file ends within it: it was cut short": _file(
            tmp_path / "within", text[: text.index(b"memory.jsonl", 4096) + 512 + 700]
        ),
        "the file is no export: it is no tar": _file(tmp_path / "zip", b"PK" * 999),
        "the file is a backup of a whole database, .* `memlift restore` reads it": write_members(
            tmp_path / "backup.tar", {"manifest.json": b'{"format": 1, "dump": {}}'}
        ),
        "the header of manifest.json is damaged": _file(
            tmp_path / "sum", text[:124] + b"7" * 11 + text[135:]
        ),
    }
    half = files["the file ends before all of it was read"]
    half.write_bytes(half.read_bytes()[:5000])
    for told, file in files.items():
        with pytest.raises(Rejected, match=told):
            await imported(target, file)
    with pytest.raises(NotFound, match="there is no file"):
        await imported(target, tmp_path / "nothing.tar")


async def test_more_than_the_operator_allows_is_not_begun(
    good: Members, target: Database, tmp_path: Path
) -> None:
    file = write_members(tmp_path / "a.tar", good)

    with pytest.raises(Rejected, match=r"bytes unpacked, and at most 1000 are read"):
        await imported(target, file, max_bytes=1000)


async def test_an_older_file_lacks_what_has_a_default(
    good: Members, migrated_database: Callable[[], str], tmp_path: Path, monkeypatch
) -> None:
    """As a release would read one that was made before a column and a table were there."""
    monkeypatch.setattr("memory.transfer.rules.OLDEST_READ", "0001")
    url = await asyncio.to_thread(migrated_database)
    older = with_manifest(dict(good), lambda told: told.update(schema="0001"))
    older = with_lines(older, "embedding", lambda lines: [without(one) for one in lines])
    older = with_lines(older, "health_sample", lambda _: [])
    del older["health_sample.jsonl"]

    def tell(told: dict) -> None:
        told["members"] = [one for one in told["members"] if one["table"] != "health_sample"]
        [facts] = [one for one in told["members"] if one["table"] == "embedding"]
        facts["columns"].remove("unknown_share")

    file = write_members(tmp_path / "a.tar", with_manifest(older, tell))
    async with opened(url) as database:
        done = await imported(database, file)
        assert done.rows["embedding"] > 0
        assert "health_sample" not in done.rows


def with_value(line: bytes, name: str, value: object) -> bytes:
    return json.dumps(json.loads(line) | {name: value}).encode() + b"\n"


def without(line: bytes) -> bytes:
    row = json.loads(line)
    del row["unknown_share"]
    return json.dumps(row).encode() + b"\n"


def _file(path: Path, text: bytes) -> Path:
    path.write_bytes(text)
    return path
