"""After a restart nobody was seen yet: those whose keys live are served all the same."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from api_builders import problem

from memory.kernel.engine import Engine
from memory.kernel.errors import Unauthenticated
from memory.kernel.ids import first_id_of, new_id
from memory.tenancy.entities import KeyDraft, Role, Token
from memory.tenancy.service import authenticate, create_key, revoke_key
from server import callers
from server.callers import Callers
from server.limits import Places
from server.living_keys import ALL_EVERY, RECENT
from server.shared import Shared
from tests.fixtures.http import a_client, an_app

BURST = 5


@pytest.fixture
async def restarted(database_url, operator_token, tmp_path):
    """A process that has just started over a database with keys, and is strict with strangers."""
    async with an_app(database_url, tmp_path) as made:
        shared: Shared = made.state.shared
        assert Token.parse(operator_token).key_id in shared.callers.living
        # As at the start, and from then on without the beat.
        shared.callers = Callers(rate=0.001, burst=BURST)
        await shared.callers.living.renew(shared.opened())
        shared.places = Places(4)
        yield made


def bearer(token: object) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def guessed(stranger, tokens) -> list[int]:
    answers = await asyncio.gather(
        *(stranger.get("/v1/me", headers=bearer(token)) for token in tokens)
    )
    return [answer.status_code for answer in answers]


def a_guess_at(token: str) -> Token:
    """The right id, and another secret."""
    return Token.fresh(Token.parse(token).key_id)


async def test_a_living_key_is_served_while_a_stranger_of_its_address_tries_keys(
    restarted, operator_token
):
    async with a_client(restarted, None) as stranger:
        unknown = await guessed(stranger, [Token.fresh(uuid4()) for _ in range(100)])
        # Such ids could be those of keys that were made a moment ago.
        recent = [await guessed(stranger, [Token.fresh(new_id())]) for _ in range(BURST + 1)]
        honest = await guessed(stranger, [operator_token] * 3)

    assert set(unknown) == {401}
    assert recent == [[401]] * BURST + [[429]]
    assert honest == [200] * 3


async def test_many_calls_at_once_of_a_key_that_was_not_seen_yet_are_all_served(
    restarted, operator_token
):
    restarted.state.shared.places = Places(256)
    async with a_client(restarted, operator_token) as honest:
        assert await guessed(honest, [operator_token] * 50) == [200] * 50


async def test_guesses_at_the_secret_of_a_key_are_counted_by_address_and_key(
    restarted, operator_token, agent_client
):
    other = (await agent_client("reader")).headers["authorization"].removeprefix("Bearer ")
    await restarted.state.shared.callers.living.renew(restarted.state.shared.engine)
    async with a_client(restarted, None) as stranger:
        seen = [
            await stranger.get("/v1/me", headers=bearer(a_guess_at(operator_token)))
            for _ in range(BURST + 1)
        ]
        assert [one.status_code for one in seen] == [401] * BURST + [429]
        assert problem(seen[-1])[1] == "rate_limited"
        assert "one key" in seen[-1].json()["detail"]
        assert await guessed(stranger, [other]) == [200]

    found = await restarted.state.shared.callers.look_up(
        operator_token,
        "198.51.100.1",
        lambda: authenticate(restarted.state.shared.engine, operator_token, datetime.now(UTC)),
    )
    assert found.id == Token.parse(operator_token).key_id


async def test_only_so_many_guesses_at_one_key_wait_and_those_at_others_beside_them():
    known = Callers(rate=1e6, burst=10**6)
    ids = [new_id(), new_id()]
    for key_id in ids:
        known.living.add(key_id)
    gate = asyncio.Event()

    async def look() -> None:
        await gate.wait()
        raise Unauthenticated("no")

    tasks = [
        asyncio.create_task(known.look_up(str(Token.fresh(key_id)), "192.0.2.1", look))
        for key_id in ids
        for _ in range(callers.WAITING + 10)
    ]
    await asyncio.sleep(0)
    gate.set()
    kinds = [type(one).__name__ for one in await asyncio.gather(*tasks, return_exceptions=True)]

    assert kinds.count("Unauthenticated") == 2 * callers.WAITING
    assert kinds.count("Unavailable") == 20


async def test_a_key_that_another_process_made_just_now_is_served(restarted, engine, operator):
    """It is not among those that were found a moment ago, and could be."""
    made, token = await create_key(
        engine, operator, KeyDraft(Role.OPERATOR, "later"), datetime.now(UTC)
    )
    assert made.id not in restarted.state.shared.callers.living
    async with a_client(restarted, str(token)) as fresh:
        assert (await fresh.get("/v1/me")).status_code == 200


async def test_a_key_that_was_made_here_is_no_strangers(restarted, operator_token):
    async with a_client(restarted, operator_token) as client:
        body = {"role": "operator", "name": "new"}
        token = (await client.post("/v1/keys", json=body)).json()["token"]
        seen = [await guessed(client, [Token.fresh(new_id())]) for _ in range(BURST + 1)]
        assert seen[-1] == [429]
        assert await guessed(client, [token]) == [200]


async def test_the_living_keys_are_found_anew(engine: Engine, operator, monkeypatch):
    living = Callers(1.0, 1).living
    never = UUID(int=7)
    living.require_possible(never, datetime.now(UTC))  # nothing is known, so nothing is refused
    await living.renew(engine)
    made, _ = await create_key(engine, operator, KeyDraft(Role.OPERATOR, "x"), datetime.now(UTC))
    assert made.id not in living

    await living.renew(engine)

    assert made.id in living
    assert operator.id in living
    await revoke_key(engine, operator, made.id, datetime.now(UTC))
    monkeypatch.setattr("server.living_keys.ALL_EVERY", timedelta(0))
    await living.renew(engine)
    assert made.id not in living
    now = datetime.now(UTC)
    for key_id in (never, uuid4(), first_id_of(now - 2 * RECENT), first_id_of(now + 2 * ALL_EVERY)):
        with pytest.raises(Unauthenticated):
            living.require_possible(key_id, now)
    living.require_possible(new_id(), now)
