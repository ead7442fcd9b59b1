"""Worth of its place over HTTP: what coins came to, and what a memory is told apart from."""

from collections import defaultdict
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID, uuid4

import pytest
from api_builders import inside, problem, remembered
from sqlalchemy import text

from memory.belief.worth import CoinRun, place_effect
from memory.kernel.postgres.database import Database

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
DATES, A_DATE = 30, 10
EFFECTS = {"good": 0.2, "bad": -0.2, "idle": 0.0, "other": 0.0}
TASK = "A forecast of rain for a dry month"


async def opened(client, *, coins=True):
    """The slug of a fresh replay namespace in which coins leave memories out."""
    slug = f"n{uuid4().hex[:12]}"
    settings = {"raw_gate": 0.01, "score_floor": 0.001, "control_rate": 0, "slot_rate": 0}
    more = {"meta_guidelines": False, "coins": coins}
    body = {"slug": slug, "clock": "replay", "settings": settings | more}
    made = await client.post("/v1/namespaces", json=body)
    assert made.status_code == 201, made.text
    return slug


async def filled(client, slug, kinds):
    """Memories of one subject, by kind."""
    learned = {"category": "weather", "learned_at": START.isoformat()}
    return {
        kind: await remembered(client, slug, lesson=f"{kind} rain", **learned) for kind in kinds
    }


async def asked(client, slug, n, at, *, k=3, **more):
    """Retrievals for so many tasks of one date, by id."""
    items = [
        {
            "agent": "solver",
            "task": {"text": TASK, "category": "weather", "group_key": f"{at.date()} {i}"},
            "as_of": at.isoformat(),
            "k": k,
            **more,
        }
        for i in range(n)
    ]
    made = await client.post(inside(slug, "/retrievals/batch"), json={"items": items})
    assert made.status_code == 207, made.text
    return [one["retrieval"]["retrieval_id"] for one in made.json()["items"]]


async def played(client, slug, memories, database):
    """Retrievals of many dates with their outcomes, all but every seventh. Learning comes at the
    end, so that all coins are those of untried memories. Returns the items of each retrieval.
    """
    chance, asked_for = Random(3), []
    kinds = {memory_id: kind for kind, memory_id in memories.items()}
    for date in range(DATES):
        asked_for += await asked(client, slug, A_DATE, START + timedelta(days=date))
    items = await items_of(database)
    reports = []
    for n, retrieval_id in enumerate(asked_for):
        if n % 7 == 6:
            continue
        served = [kinds[str(one.memory_id)] for one in items[retrieval_id] if one.served]
        reward = 0.5 + sum(EFFECTS[kind] for kind in served) + chance.uniform(-0.1, 0.1)
        known_at = START + timedelta(days=n // A_DATE, hours=1)
        report = {"retrieval_id": retrieval_id, "reward": reward, "verifier": "test"}
        reports.append(report | {"known_at": known_at.isoformat()})
    for start in range(0, len(reports), 50):
        some = {"items": reports[start : start + 50]}
        told = await client.post(inside(slug, "/outcomes/batch"), json=some)
        assert told.status_code == 207, told.text
    await client.post(inside(slug, "/outcomes/apply"), json={})
    return items


@asynccontextmanager
async def looking_into(database_url, namespace):
    """SQL inside the namespace."""
    database = Database(database_url)
    try:
        yield database, UUID(namespace["id"])
    finally:
        await database.close()


async def items_of(database):
    opened, namespace_id = database
    async with opened.transaction(namespace_id) as connection:
        rows = await connection.execute(
            text(
                "SELECT i.*, r.task_id, r.known_at "
                "FROM retrieval_item i JOIN retrieval r ON r.id = i.retrieval_id"
            )
        )
        found = defaultdict(list)
        for row in rows:
            found[str(row.retrieval_id)].append(row)
        return found


async def values_of(database):
    """What each outcome showed above the baseline, and when it was known."""
    opened, namespace_id = database
    async with opened.transaction(namespace_id) as connection:
        rows = await connection.execute(
            text("SELECT retrieval_id, above_baseline, known_at FROM outcome")
        )
        return {str(row.retrieval_id): (row.above_baseline, row.known_at) for row in rows}


def runs_of(items, values, memory_id):
    for retrieval_id, some in items.items():
        for one in some:
            if str(one.memory_id) == memory_id and one.contender:
                value, known_at = values.get(retrieval_id, (None, one.known_at))
                full = sum(other.served for other in some) == 3
                vacant = one.left_out and not full
                group = str(one.task_id)
                yield CoinRun(one.inclusion, one.left_out, vacant, value, known_at, group)


async def test_the_numbers_are_those_of_the_receipts_and_outcomes(client, database_url):
    slug = await opened(client)
    memories = await filled(client, slug, EFFECTS)
    namespace = (await client.get(inside(slug, ""))).json()
    async with looking_into(database_url, namespace) as database:
        items = await played(client, slug, memories, database)
        values = await values_of(database)
    newest = max(known_at for _, known_at in values.values())

    told = {}
    for kind, memory_id in memories.items():
        worth = (await client.get(inside(slug, f"/memories/{memory_id}/worth"))).json()
        expected = place_effect(runs_of(items, values, memory_id), newest)
        told[kind] = worth
        for name in ("kept", "left_out", "kept_missing", "left_out_missing", "vacant", "units"):
            assert worth["place"][name] == getattr(expected, name), (kind, name)
        for name in ("information", "effect", "standard_error", "low", "high"):
            known = getattr(expected, name)
            close = known if known is None else pytest.approx(known, abs=1e-12)
            assert worth["place"][name] == close, (kind, name)

    for kind, verdict in (("good", "helps"), ("bad", "harms")):
        assert told[kind]["verdict"] == verdict
        assert told[kind]["companions"] == []
        assert told[kind]["place"]["left_out_missing"] + told[kind]["place"]["kept_missing"] > 0
    assert told["good"]["summary"].startswith("Serving it added 0.")
    assert told["bad"]["summary"].startswith("Serving it cost 0.")
    assert told["good"]["believed"]["mean"] > told["bad"]["believed"]["mean"]

    pooled = (await client.get(inside(slug, "/weights/worth"))).json()["items"]
    assert [one["lowest"] for one in pooled] == [0.1, 0.5, 0.9, 1.1, 1.5]
    # Nothing was learned when the coins fell, so all are of the neutral class.
    assert [one["memories"] for one in pooled] == [0, 0, 4, 0, 0]
    together = sum(one["place"]["kept"] for one in told.values())
    assert pooled[2]["place"]["kept"] == together


async def test_a_memory_that_never_came_up_says_so(client, namespace):
    memory_id = await remembered(client, namespace)

    worth = (await client.get(inside(namespace, f"/memories/{memory_id}/worth"))).json()

    assert worth["verdict"] == "unknown"
    assert worth["summary"] == (
        "It has not come up in a retrieval with memory yet, so nothing is known of its worth."
    )
    assert (worth["came_up"], worth["served"], worth["companions"]) == (0, 0, [])


async def test_a_memory_names_those_it_cannot_be_told_apart_from(client):
    slug = await opened(client, coins=False)
    memories = await filled(client, slug, ("good", "bad"))
    await asked(client, slug, 6, START)
    lone = await remembered(
        client,
        slug,
        situation="Fractions",
        lesson="Find the denominator",
        category="weather",
        learned_at=START.isoformat(),
    )

    worth = (await client.get(inside(slug, f"/memories/{memories['good']}/worth"))).json()
    other = (await client.get(inside(slug, f"/memories/{lone}/worth"))).json()

    assert worth["summary"] == (
        "It cannot be told apart from «bad rain»: they came up together 6 times, and retrievals "
        "never served one without the other. No coin has decided about its place in an outcome "
        "that counts, so nothing is compared."
    )
    companion = {"memory_id": memories["bad"], "lesson": "bad rain", "together": 6, "apart": 0}
    assert worth["companions"] == [companion]
    assert other["came_up"] == 0

    # Once either was served without the other ten times, they can be told apart.
    await client.post(inside(slug, f"/experiences/{memories['bad']}/suspend"))
    await asked(client, slug, 10, START + timedelta(days=1))
    await client.post(inside(slug, f"/experiences/{memories['bad']}/restore"))
    for memory_id in (memories["good"], memories["bad"]):
        worth = (await client.get(inside(slug, f"/memories/{memory_id}/worth"))).json()
        assert worth["companions"] == []


async def test_a_private_companion_is_named_to_nobody_else(client, agent_client):
    slug = await opened(client, coins=False)
    owner = await agent_client("agent", agents=["solver"], slug=slug)
    shared = await remembered(owner, slug, lesson="open rain", learned_at=START.isoformat())
    await remembered(
        owner, slug, lesson="hidden rain", visibility="agent", learned_at=START.isoformat()
    )
    await asked(owner, slug, 3, START)

    own = (await owner.get(inside(slug, f"/memories/{shared}/worth"))).json()
    seen = (await client.get(inside(slug, f"/memories/{shared}/worth"))).json()

    assert "«hidden rain»" in own["summary"]
    assert "It cannot be told apart from a private memory: they" in seen["summary"]
    assert seen["companions"] == [
        {"memory_id": str(UUID(int=0)), "lesson": None, "together": 3, "apart": 0}
    ]


async def test_a_memory_of_another_is_not_there(client, agent_client):
    slug = await opened(client, coins=False)
    owner = await agent_client("agent", agents=["solver"], slug=slug)
    private = await remembered(owner, slug, visibility="agent", learned_at=START.isoformat())

    answer = await client.get(inside(slug, f"/memories/{private}/worth"))

    assert problem(answer) == (404, "memory_not_found", "id")
