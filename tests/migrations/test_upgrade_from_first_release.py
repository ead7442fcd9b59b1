"""A database of the first release comes to the head with all that it had learned, and goes on."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from first_release import TOKEN, expected, restore
from migration_builders import Fresh, asked, go_back, migrate, revision
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from surviving import SLUGS, THEN, At, every, learned, survey

from memory.belief.rankers import ASKED, RANKERS
from memory.inference.service import register_model
from memory.kernel.engine import Engine
from memory.kernel.postgres.migrate import head, upgrade
from memory.tenancy.entities import Call
from memory.tenancy.service import authenticate, open_namespace
from server.app import create_app
from server.settings import Settings
from tests.fixtures.engine import DAY, an_engine

UNKNOWN, MISSING = "flat/7d", "flat/15d"
BY_POSITION, BY_NAME = "0009", "0010"
TASK = {"text": "will there be rain after a storm", "category": "weather", "key": "after"}
BRIER: dict[str, Any] = {
    "metric": "brier",
    "value": {"p": [0.7, 0.3]},
    "truth": {"y": [1, 0]},
    "without": {"value": {"p": [0.5, 0.5]}},
    "verifier": "test",
}
BUILT_IN = "SELECT id FROM memory WHERE detail ->> 'origin' = 'default'"
BY_RANKER = {
    "ranker_record": ("by_ranker",),
    "weight_event": ("by_ranker_before", "by_ranker_after"),
    "outcome": ("ranker_rewards",),
    "retrieval": ("rankers",),
    "prediction_revision": ("answers",),
}
NAMED = (
    "SELECT id, state::text, by_ranker::text FROM ranker_record ORDER BY id",
    """SELECT namespace_id, bank_version, position, state_before::text, state_after::text,
        by_ranker_before::text, by_ranker_after::text FROM weight_event ORDER BY 1, 2, 3""",
    "SELECT id, ranker_rewards::text FROM outcome ORDER BY id",
)
ARRAYS = (
    "SELECT id, state::text FROM ranker_record ORDER BY id",
    """SELECT namespace_id, bank_version, position, state_before::text, state_after::text
        FROM weight_event ORDER BY 1, 2, 3""",
    "SELECT id, ranker_rewards::text FROM outcome ORDER BY id",
)


@dataclass(frozen=True, slots=True)
class Serving:
    """The server of today over a database, and a client with the operator's key."""

    engine: Engine
    client: httpx.AsyncClient
    clock: At

    async def call(self, slug: str) -> Call:
        key = await authenticate(self.engine, TOKEN, self.clock.now)
        namespace = await open_namespace(self.engine, key, slug)
        return Call(key, namespace, self.clock.now)

    async def learned(self, slug: str) -> dict[str, Any]:
        return await learned(self.engine, await self.call(slug))

    async def post(self, slug: str, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        answer = await self.client.post(f"/v1/namespaces/{slug}{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()


@asynccontextmanager
async def serving(url: str, data: Path) -> AsyncGenerator[Serving]:
    engine = an_engine(url)
    await register_model(engine, THEN)

    async def opened(_: Settings) -> Engine:
        return engine

    app = create_app(Settings(data=data, database_url=url), opened, jobs=None)
    clock = At(app)
    transport = httpx.ASGITransport(app=clock)
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=transport, base_url="http://memlift.test", headers=headers
        ) as c,
    ):
        yield Serving(engine, c, clock)


@pytest.fixture(scope="module")
def first_release(fresh_database: Fresh, superuser_url: str) -> Callable[[], str]:
    """Makes databases as the first release left them."""

    def make() -> str:
        url = fresh_database()
        restore(superuser_url, url)
        return url

    return make


@pytest.fixture(scope="module")
def upgraded_url(first_release: Callable[[], str]) -> str:
    url = first_release()
    upgrade(url)
    return url


@pytest.fixture
async def upgraded(upgraded_url: str, tmp_path: Path) -> AsyncGenerator[Serving]:
    async with serving(upgraded_url, tmp_path) as server:
        yield server


def test_the_first_release_ended_at_its_own_revision(first_release: Callable[[], str]) -> None:
    url = first_release()

    assert revision(url) == "0008"
    upgrade(url)
    assert revision(url) == head()


@pytest.mark.parametrize("slug", SLUGS)
async def test_weights_receipts_and_outcomes_read_as_they_did(
    upgraded: Serving, upgraded_url: str, superuser_url: str, slug: str
) -> None:
    then, now = expected()[slug], await survey(upgraded.client, slug)

    # What the first release had built in is retired; a list of weights is of what is in use.
    gone = {str(found) for (found,) in as_superuser(superuser_url, upgraded_url, BUILT_IN)}
    assert [one for one in then["weights"] if one["memory_id"] not in gone] == now["weights"]
    kept = {one["memory_id"] for one in now["weights"]}
    assert {m: then["deviations"][m] for m in kept} == now["deviations"]
    for part in ("receipts", "outcomes", "effect"):
        assert then[part] == now[part], part
    for before, after in zip(then["rankers"], now["rankers"], strict=True):
        assert before | {"losses": {}, "probabilities": {}} == after | {
            "losses": {},
            "probabilities": {},
        }
        # A ranker that came later stands where the others stand on average, and takes a little.
        assert before["losses"] == {r: after["losses"][r] for r in before["losses"]}
        assert before["probabilities"] == pytest.approx(_among(before, after["probabilities"]))


def _among(before: Mapping[str, Any], now: Mapping[str, float]) -> dict[str, float]:
    """The probabilities of the rankers that there were, as shares of theirs."""
    known = {ranker: now[ranker] for ranker in before["probabilities"]}
    return {ranker: share / sum(known.values()) for ranker, share in known.items()}


@pytest.mark.parametrize("slug", SLUGS)
async def test_states_and_ledger_are_the_same_and_fold_to_the_same_bits(
    upgraded: Serving, slug: str
) -> None:
    then, now = expected()[slug], await upgraded.learned(slug)

    later = {"influences": {}, "usages": {}}
    assert later | then["states"] == now["states"], "of no party before, and nothing named as used"
    assert then["ledger"] == now["ledger"]
    assert then["exact"] is now["exact"] is True


async def test_a_replay_is_recognised_and_learning_goes_on(
    first_release: Callable[[], str], tmp_path: Path
) -> None:
    url = await asyncio.to_thread(first_release)
    await asyncio.to_thread(upgrade, url)
    async with serving(url, tmp_path) as server:
        [waiting] = [one for one in await outcomes(server, "wall") if one["status"] == "accepted"]
        path = f"/retrievals/{waiting['retrieval_id']}/outcome"
        said = {"reward": 0.9, "without": {"reward": 0.3}, "verifier": "test"}
        again = await server.post("wall", path, said)

        await goes_on(server, "wall")

        [applied] = [one for one in await outcomes(server, "wall") if one["id"] == waiting["id"]]
    assert again["outcome_id"] == waiting["id"]
    assert applied["status"] == "applied"


async def test_records_of_other_rankers_are_read_folded_and_rebuilt(
    first_release: Callable[[], str], superuser_url: str, tmp_path: Path
) -> None:
    url = await asyncio.to_thread(first_release)
    await asyncio.to_thread(upgrade, url)
    async with serving(url, tmp_path) as server:
        ask = {"agent": "solver", "task": TASK, "all_rankers": True, "format": "memories"}
        unanswered = await server.post("wall", "/retrievals", ask)
        await asyncio.to_thread(of_other_rankers, superuser_url, url)

        for slug in ("wall", "replay"):
            view = await server.learned(slug)
            assert view["exact"], slug
            assert view["states"]["records"]
            for record in view["states"]["records"].values():
                assert UNKNOWN in record["by_ranker"]
                assert MISSING not in record["by_ranker"]
            for scope in (await survey(server.client, slug))["rankers"]:
                assert set(scope["probabilities"]) == set(scope["losses"]) == set(RANKERS)
                assert sum(scope["probabilities"].values()) == pytest.approx(1)
        of_its_time = {*ASKED, UNKNOWN} - {MISSING}
        # As its category is measured since the first release.
        said = {"reward": 0.9, "verifier": "test", "answers": dict.fromkeys(of_its_time, 0.9)}
        path = f"/retrievals/{unanswered['retrieval_id']}/outcome"
        assert (await server.post("wall", path, said))["status"] == "accepted"
        assert (await settle_anew(server))["correction"] == 2
        await goes_on(server, "wall")
        records = (await server.learned("wall"))["states"]["records"]
    assert all({UNKNOWN, MISSING} <= set(record["by_ranker"]) for record in records.values())


def test_naming_the_rankers_can_be_undone_and_done_again_bit_for_bit(
    first_release: Callable[[], str], superuser_url: str
) -> None:
    url = first_release()
    before = [as_superuser(superuser_url, url, question) for question in ARRAYS]
    migrate(url, BY_NAME)
    named = [as_superuser(superuser_url, url, question) for question in NAMED]

    go_back(url, BY_POSITION)
    after = [as_superuser(superuser_url, url, question) for question in ARRAYS]
    migrate(url, BY_NAME)

    assert all(len(rows) > 0 for rows in before)
    assert after == before
    assert [as_superuser(superuser_url, url, question) for question in NAMED] == named


async def goes_on(server: Serving, slug: str) -> None:
    """A retrieval with its outcome, on the next day: it is applied, moves a record of rankers, and
    the ledger still folds to the live states.
    """
    server.clock.now = THEN + DAY
    before = await server.learned(slug)
    ask = {"agent": "solver", "task": TASK, "purpose": "paired"}
    served = await server.post(slug, "/retrievals", ask)
    said = {"reward": 0.7, "without": {"reward": 0.4}, "verifier": "test"}
    path = f"/retrievals/{served['retrieval_id']}/outcome"
    reported = await server.post(slug, path, said)
    applied = await server.post(slug, "/outcomes/apply", {})
    after = await server.learned(slug)
    run = await server.post(slug, "/jobs/rebuild/runs", {})

    assert served["memories"] or served["guideline"]["text"]
    assert reported["status"] == "accepted"
    assert applied["pending"] == 0
    assert after["exact"]
    assert run["result"]["exact"] is True
    assert after["states"]["records"] != before["states"]["records"]
    assert after["states"]["memories"] != before["states"]["memories"]
    assert before["ledger"].items() < after["ledger"].items()


async def settle_anew(server: Serving) -> dict[str, Any]:
    """Correct the settlement of an event with a prediction that answered from each ranker."""
    [newest] = (await every(server.client, "/v1/namespaces/wall/settlements"))[-1:]
    resolved = {"yes": "yes", "no": "no"}
    mended = {"event": newest["event"], "resolutions": resolved, "corrects": newest["id"]}
    return await server.post("wall", "/settlements", mended)


async def outcomes(server: Serving, slug: str) -> list[dict[str, Any]]:
    return await every(server.client, f"/v1/namespaces/{slug}/outcomes")


def of_other_rankers(superuser_url: str, url: str) -> None:
    """As a release left it that had another ranker in the place of one of today's."""
    rename = f"""replace({{0}}::text, '"{MISSING}"', '"{UNKNOWN}"')::jsonb"""
    for table, columns in BY_RANKER.items():
        for column in columns:
            changed = f"UPDATE {table} SET {column} = {rename.format(column)} RETURNING 1"
            assert as_superuser(superuser_url, url, changed)
    moved = f"UPDATE retrieval SET ranker = '{UNKNOWN}' WHERE ranker = '{MISSING}' RETURNING 1"
    assert as_superuser(superuser_url, url, moved)


def as_superuser(superuser_url: str, url: str, question: str) -> list[tuple[object, ...]]:
    """The rows of all namespaces."""
    name = conninfo_to_dict(url)["dbname"]
    return asked(make_conninfo(superuser_url, dbname=name), question)
