"""A namespace of everything leaves one database and is the same in another."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_files import members_of
from transfer_builders import (
    centres,
    content,
    exported,
    imported,
    opened,
    serving,
    shared,
    states,
    write,
)

from memory.inference.service import register_model
from memory.kernel.errors import Conflict, NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.postgres.migrate import upgrade
from memory.tenancy.service import ensure_operator_key
from memory.transfer.entities import ExportSubject, OnConflict, SubjectKind
from tests.fixtures.engine import NOON, an_engine
from tests.fixtures.language_model import Script
from tests.migrations.first_release import restore
from tests.migrations.surviving import SLUGS
from tests.privacy.private_bank import TASK, Bank, a_bank, sent


@pytest.fixture(scope="module")
def lived_in(fresh_database: Callable[[], str], superuser_url: str) -> str:
    """Six namespaces that the first release filled, at the head."""
    url = fresh_database()
    restore(superuser_url, url)
    upgrade(url)
    return url


@pytest.mark.parametrize("slug", SLUGS)
async def test_every_row_comes_back(
    lived_in: str, migrated_database: Callable[[], str], tmp_path: Path, slug: str
) -> None:
    empty = await asyncio.to_thread(migrated_database)
    async with opened(lived_in) as source, opened(empty) as target:
        before = await content(source, slug)
        manifest = await exported(source, slug, tmp_path / "a.tar")
        done = await imported(target, tmp_path / "a.tar")
        after = await content(target, slug)

    assert after == before
    assert sum(done.rows.values()) == manifest.rows > 0
    assert not done.skipped


IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
BRANCHES = [
    {"name": "weather", "description": "rain, sun and wind"},
    {"name": "sport", "description": "games and who wins them"},
]
EMPTY_EVEN_SO = {"competence", "health_sample", "ledger_closing", "receipt_tally", "taxonomy"}
"""What nothing in that namespace has filled."""


@pytest.fixture(scope="module")
async def bank(
    migrated_database: Callable[[], str],
    language_model: Script,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncGenerator[tuple[str, Bank]]:
    """A namespace that was used over HTTP in every way, and the database that it lies in."""
    url = await asyncio.to_thread(migrated_database)
    engine = an_engine(url)
    token = await ensure_operator_key(engine, None, NOON)
    await engine.close()
    data = tmp_path_factory.mktemp("data")
    async for made in a_bank(url, str(token), language_model, data):
        await learn_more(made)
        yield url, made


async def learn_more(bank: Bank) -> None:
    """What else leaves rows: judged runs, parties, candidates, samples, a taxonomy."""
    async with bank.client("agent") as third, bank.client("operator") as operator:
        for reward in (0.1, 0.9, 0.2):
            ask = {"agent": "third", "task": TASK, "arm": "on", "explore": False}
            served = await sent(third, bank.path("/retrievals"), ask)
            place = bank.path(f"/retrievals/{served['retrieval_id']}/outcome")
            said = {"reward": reward, "lesson": {"lesson": f"at {reward} look up the month"}}
            await sent(third, place, said)
            await sent(operator, bank.path("/outcomes/apply"), {})
        for job in ("acquire", "health", "contrast"):
            await sent(operator, bank.path(f"/jobs/{job}/runs"), {})


async def test_what_was_made_by_hand_comes_back_and_learns_on(
    bank: tuple[str, Bank], migrated_database: Callable[[], str], tmp_path: Path
) -> None:
    url, made = bank
    elsewhere = await asyncio.to_thread(migrated_database)
    async with opened(url) as source, opened(elsewhere) as target:
        manifest = await exported(source, made.slug, tmp_path / "a.tar.gz", gz=True)
        before = await content(source, made.slug)
        await imported(target, tmp_path / "a.tar.gz", namespace="moved")
        after = await content(target, "moved")
        here, there = await states(source, made.slug), await states(target, "moved")

    assert after == before
    assert {one.table for one in manifest.members if not one.rows} <= EMPTY_EVEN_SO
    assert here == there
    assert there[1], "the ledger folds to the same bits"
    ask = {"agent": "other", "task": TASK, "arm": "on", "k": 8, "explore": False}
    async with (
        serving(url, made.slug, tmp_path / "one", made.tokens["operator"]) as first,
        serving(elsewhere, "moved", tmp_path / "other", None) as second,
    ):
        answers = [await one.post("/retrievals", ask) for one in (first, second)]
        items = [
            await one.read(f"/retrievals/{answer['retrieval_id']}")
            for one, answer in zip((first, second), answers, strict=True)
        ]
        # A receipt that was open when the file was made.
        open_one = made.ids["retrieval_id"][1]
        told = await second.post(f"/retrievals/{open_one}/outcome", {"reward": 0.9})
        applied = await second.post("/outcomes/apply", {})
        await second.post(f"/retrievals/{answers[1]['retrieval_id']}/outcome", {"reward": 0.2})
        await second.post("/outcomes/apply", {})
        run = await second.post("/jobs/rebuild/runs", {})
    first_items, second_items = (one["items"] for one in items)
    assert first_items == second_items != []
    assert (told["status"], applied["pending"]) == ("accepted", 0)
    assert run["result"]["exact"] is True
    async with opened(elsewhere) as target:
        assert (await states(target, "moved"))[0] != there[0], "what is reported counts"


async def test_a_copy_with_new_ids_stands_beside_its_original(
    bank: tuple[str, Bank], tmp_path: Path
) -> None:
    url, made = bank
    async with opened(url) as database:
        await exported(database, made.slug, tmp_path / "a.tar")
        original = await content(database, made.slug)
        done = await imported(
            database, tmp_path / "a.tar", namespace="copy", on_conflict=OnConflict.NEW_IDS
        )
        copy = await content(database, "copy")
        live, exact = await states(database, "copy")
        learned, _ = await states(database, made.slug)

    old = {found for rows in original.values() for found in IDS.findall(" ".join(rows))}
    old -= await shared(url, "SELECT id::text FROM api_key WHERE namespace_id IS NULL")
    left = {
        table: named
        for table, rows in copy.items()
        if (named := {one for one in IDS.findall(" ".join(rows)) if one in old})
    }
    assert left == {}
    assert {table: len(rows) for table, rows in copy.items()} == {
        table: len(rows) for table, rows in original.items()
    }
    assert sum(done.rows.values()) > 0
    assert exact
    # The same numbers, by whatever name.
    assert sorted(one.values for one in live.memories.values()) == sorted(
        one.values for one in learned.memories.values()
    )
    ask = {"agent": "other", "task": TASK, "arm": "on", "k": 8, "explore": False}
    token = made.tokens["operator"]
    scores = []
    for slug in (made.slug, "copy"):
        async with serving(url, slug, tmp_path / slug, token) as server:
            answer = await server.post("/retrievals", ask)
            read = await server.read(f"/retrievals/{answer['retrieval_id']}")
            scores.append([(one["rank"], one["score"]) for one in read["items"]])
    assert scores[0] == scores[1] != []


async def test_what_is_there_is_skipped_and_what_is_missing_added(
    lived_in: str, migrated_database: Callable[[], str], tmp_path: Path
) -> None:
    elsewhere = await asyncio.to_thread(migrated_database)
    file = tmp_path / "a.tar"
    async with opened(lived_in) as source, opened(elsewhere) as target:
        manifest = await exported(source, "wall", file)
        await imported(target, file)
        before = await content(target, "wall")
        lost = await write(target, "wall", "DELETE FROM writing")

        with pytest.raises(Conflict, match="namespace wall is not empty"):
            await imported(target, file)
        done = await imported(target, file, on_conflict=OnConflict.SKIP)
        after = await content(target, "wall")

    assert after == before
    assert done.rows["writing"] == lost > 0
    assert sum(done.skipped.values()) == manifest.rows - lost


async def test_two_that_learned_apart_are_not_joined(
    lived_in: str, migrated_database: Callable[[], str], tmp_path: Path
) -> None:
    elsewhere = await asyncio.to_thread(migrated_database)
    file = tmp_path / "a.tar"
    async with opened(lived_in) as source, opened(elsewhere) as target:
        await exported(source, "steps", file)
        await imported(target, file)
        await write(target, "steps", "UPDATE memory_weight SET n_credited = 0, state[1] = 0.25")
        # Something has to be added for the two to be joined.
        before = await content(target, "steps")

        with pytest.raises(Conflict, match="learned what the file does not have"):
            await imported(target, file, on_conflict=OnConflict.SKIP)
        await exported(source, "replay", tmp_path / "other.tar")
        with pytest.raises(Conflict, match="the file has replay and belief"):
            await imported(
                target,
                tmp_path / "other.tar",
                namespace="steps",
                on_conflict=OnConflict.SKIP,
            )

        assert await content(target, "steps") == before


async def test_a_dry_run_leaves_nothing(
    lived_in: str, migrated_database: Callable[[], str], tmp_path: Path
) -> None:
    elsewhere = await asyncio.to_thread(migrated_database)
    async with opened(lived_in) as source, opened(elsewhere) as target:
        manifest = await exported(source, "paper", tmp_path / "a.tar")
        done = await imported(target, tmp_path / "a.tar", dry_run=True)

        assert done.dry_run
        assert sum(done.rows.values()) == manifest.rows
        with pytest.raises(NotFound):
            await content(target, "paper")


async def test_keys_come_without_their_secret_and_open_nothing(
    bank: tuple[str, Bank], migrated_database: Callable[[], str], tmp_path: Path
) -> None:
    url, made = bank
    elsewhere = await asyncio.to_thread(migrated_database)
    async with opened(url) as source:
        await exported(source, made.slug, tmp_path / "a.tar")
    async with opened(elsewhere) as target:
        await imported(target, tmp_path / "a.tar", namespace="moved")
    async with serving(elsewhere, "moved", tmp_path / "data", None) as server:
        keys = (await server.client.get("/v1/keys", params={"limit": 200})).json()["items"]
        bearing = {"authorization": f"Bearer {made.tokens['owner']}"}
        refused = await server.client.get("/v1/me", headers=bearing)

    moved = [key for key in keys if key["namespace"] == "moved"]
    assert {key["name"] for key in moved} >= {"owner", "reader", "evaluator"}
    assert all(key["revoked_at"] for key in moved)
    assert refused.status_code == 401
    digests = await shared(url, "SELECT encode(sha256, 'hex') FROM api_key WHERE sha256 <> ''")
    text = (tmp_path / "a.tar").read_bytes()
    assert digests
    assert not any(one.encode() in text for one in digests)


async def test_without_vectors_the_texts_are_embedded_again(
    bank: tuple[str, Bank], migrated_database: Callable[[], str], tmp_path: Path
) -> None:
    url, made = bank
    elsewhere = await asyncio.to_thread(migrated_database)
    whole, small = tmp_path / "whole.tar", tmp_path / "small.tar"
    async with made.client("operator") as operator:
        brought = await operator.put(
            made.path("/taxonomy"), json={"categories": BRANCHES, "allow_new": True}
        )
        assert brought.is_success, brought.text
    async with opened(url) as source, opened(elsewhere) as target:
        await exported(source, made.slug, whole)
        await exported(source, made.slug, small, vectors=False)
        before = await content(source, made.slug)
        with pytest.raises(Rejected, match="there is no model to embed"):
            await imported(target, small)
        engine = an_engine(elsewhere)
        await register_model(engine, NOON)
        await imported(target, small, engine)
        await engine.close()
        after = await content(target, made.slug)
        exact = (await states(target, made.slug))[1]
        spread = await centres(source, made.slug), await centres(target, made.slug)

    assert small.stat().st_size < whole.stat().st_size
    assert after["embedding"] == before["embedding"] != []
    assert after | {"centroid": []} == before | {"centroid": []}
    assert spread[0].keys() == spread[1].keys()
    for name, told in spread[0].items():
        # A running total is of vectors before they were stored, with half the digits.
        assert spread[1][name] == pytest.approx(told, abs=0.01), name
    assert exact


async def test_what_is_about_one_agent_can_be_taken_and_not_imported(
    bank: tuple[str, Bank], tmp_path: Path
) -> None:
    url, made = bank
    file = tmp_path / "owner.tar"
    async with opened(url) as database:
        manifest = await exported(database, made.slug, file, about=ExportSubject("agent", "owner"))
        with pytest.raises(Rejected, match="about agent owner alone"):
            await imported(database, file, namespace="theirs")
        nobody = ExportSubject("agent", "nobody")
        with pytest.raises(NotFound, match="no agent nobody"):
            await exported(database, made.slug, tmp_path / "b.tar", about=nobody)
    members = members_of(file)
    rows = {one.table: one.rows for one in manifest.members}
    agents = [json.loads(line)["name"] for line in members["agent.jsonl"].splitlines()]
    words = b"".join(members.values()).decode()

    assert agents == ["owner"]
    assert all(rows[name] for name in ("memory", "retrieval", "outcome", "prediction", "task"))
    # What it wrote, what it was served, what a model made of that; no memory of another.
    assert all(word in words for word in ("obsidianfern", "velvetotter", "copperjackal"))
    lessons = members["memory_version.jsonl"].decode()
    assert "look up the base rate of rain first" not in lessons
    assert "obsidianfern" in lessons


def rows_of(file: Path) -> dict[str, list[dict[str, Any]]]:
    """By table."""
    return {
        name.removesuffix(".jsonl"): [json.loads(line) for line in lines.splitlines()]
        for name, lines in members_of(file).items()
        if name.endswith(".jsonl")
    }


@pytest.mark.parametrize("kind", ["key", "task"])
async def test_what_is_about_one_key_or_task_can_be_taken_and_not_imported(
    bank: tuple[str, Bank], tmp_path: Path, kind: SubjectKind
) -> None:
    url, made = bank
    async with opened(url) as database:
        await exported(database, made.slug, tmp_path / "whole.tar")
        whole = rows_of(tmp_path / "whole.tar")
        named = Counter(str(row[f"{kind}_id"]) for row in whole["memory"] if row[f"{kind}_id"])
        [(name, memories)] = named.most_common(1)
        await exported(database, made.slug, tmp_path / "one.tar", about=ExportSubject(kind, name))
        with pytest.raises(Rejected, match=f"about {kind} {name} alone"):
            await imported(database, tmp_path / "one.tar", namespace="theirs")
        nobody = ExportSubject(kind, str(new_id()))
        with pytest.raises(NotFound, match=f"no {kind} "):
            await exported(database, made.slug, tmp_path / "b.tar", about=nobody)
    found = rows_of(tmp_path / "one.tar")

    for table in ("memory", "retrieval", "trajectory"):
        assert found[table] == [row for row in whole[table] if row[f"{kind}_id"] == name]
    assert len(found["memory"]) == memories
    ids = {row["id"] for row in found["memory"]}
    assert {row["memory_id"] for row in found["memory_version"]} >= ids
    assert {row["memory_id"] for row in found["memory_weight"]} == ids


async def test_a_server_that_runs_serves_what_was_imported_beside_it(
    bank: tuple[str, Bank], migrated_database: Callable[[], str], tmp_path: Path
) -> None:
    """In a namespace that it knew as an empty one."""
    url, made = bank
    elsewhere = await asyncio.to_thread(migrated_database)
    async with opened(url) as source:
        await exported(source, made.slug, tmp_path / "a.tar")
    async with (
        serving(elsewhere, "default", tmp_path / "data", None) as server,
        opened(elsewhere) as beside,
    ):
        before = await server.client.get("/v1/namespaces/default/weights")
        await imported(beside, tmp_path / "a.tar", namespace="default")
        ask = {"agent": "other", "task": TASK, "arm": "on", "explore": False}
        answer = await server.post("/retrievals", ask)

    assert before.json()["items"] == []
    assert "base rate of rain" in answer["guideline"]["text"]
