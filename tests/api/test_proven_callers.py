"""A retrieval begins by the key and the namespace that are known, and is answered by them as they
stand when it comes: whatever was changed before, by whichever process.
"""

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest
from api_builders import an_ask, inside, problem, remembered
from fastapi import FastAPI

from memory.inference.service import register_model
from memory.kernel.postgres.database import Statement
from memory.tenancy import identity
from server.middleware import JSON
from server.shared import Shared
from tests.fixtures.engine import NOON, RESIDENT_BYTES
from tests.fixtures.http import AgentClient, a_client, an_app


@pytest.fixture
async def elsewhere(database_url: str, tmp_path: Path) -> AsyncGenerator[FastAPI]:
    """Another process over the same database."""
    async with an_app(database_url, tmp_path) as made:
        await register_model(made.state.shared.opened(), NOON)
        yield made


@pytest.fixture
async def known(
    elsewhere: FastAPI, client: httpx.AsyncClient, namespace: str, agent_client: AgentClient
) -> httpx.AsyncClient:
    """A caller of that process, who is known to it."""
    await remembered(client, namespace)
    here = await agent_client()
    there = a_client(elsewhere, here.headers["authorization"].removeprefix("Bearer "))
    for _ in range(2):
        assert (await ask(there, namespace)).status_code == 201
    return there


async def ask(caller: httpx.AsyncClient, slug: str, **changes: object) -> httpx.Response:
    return await caller.post(inside(slug, "/retrievals"), json=an_ask(**changes))


async def key_of(caller: httpx.AsyncClient) -> str:
    return (await caller.get("/v1/me")).json()["key_id"]


async def change(app: FastAPI, key_id: str, what: str, **values: object) -> None:
    """As if another release had changed a key: no route does."""
    shared: Shared = app.state.shared
    text = f"UPDATE api_key SET {what} WHERE id = %(key)s::text::uuid"
    await shared.opened().database.exchange([Statement(text.encode(), {"key": key_id, **values})])


async def test_a_known_key_is_not_read_before_the_look_that_every_retrieval_makes(
    known: httpx.AsyncClient, namespace: str, elsewhere: FastAPI, monkeypatch: pytest.MonkeyPatch
):
    if not RESIDENT_BYTES:
        pytest.skip("without a copy there is no look")
    shared: Shared = elsewhere.state.shared
    database, sent = shared.opened().database, list[int]()
    exchange = database.exchange

    async def counted(statements, namespace_id=None):
        sent.append(len(statements))
        return await exchange(statements, namespace_id)

    monkeypatch.setattr(database, "exchange", counted)
    assert (await ask(known, namespace)).status_code == 201

    assert len(sent) == 2


async def test_a_revoked_key_is_out_at_once_in_another_process(
    client: httpx.AsyncClient, known: httpx.AsyncClient, namespace: str
):
    assert (await client.delete(f"/v1/keys/{await key_of(known)}")).is_success

    assert (await ask(known, namespace)).status_code == 401
    assert (await ask(known, namespace, purpose="preview")).status_code == 401


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"agent": 3}', JSON),
        (b"{", JSON),
        (b"{}", "text/plain"),
        (b'{"x": "' + b"a" * 3_000_000 + b'"}', JSON),
    ],
)
async def test_a_revoked_key_learns_nothing_of_what_is_wrong_with_its_request(
    client: httpx.AsyncClient, known: httpx.AsyncClient, namespace: str, body: bytes, kind: str
):
    path, headers = inside(namespace, "/retrievals"), {"content-type": kind}
    before = await known.post(path, content=body, headers=headers)
    assert before.status_code in {413, 415, 422}
    assert (await ask(known, namespace)).status_code == 201
    assert (await client.delete(f"/v1/keys/{await key_of(known)}")).is_success

    after = await known.post(path, content=body, headers=headers)

    assert after.status_code == 401


async def test_a_key_that_was_narrowed_speaks_for_no_other_agent(
    elsewhere: FastAPI, known: httpx.AsyncClient, namespace: str
):
    await change(elsewhere, await key_of(known), "agents = '{another}'")

    assert (await ask(known, namespace)).status_code == 403
    assert (await ask(known, namespace, agent="another")).status_code == 201


async def test_what_a_key_may_not_do_it_may_once_it_was_widened(
    elsewhere: FastAPI, known: httpx.AsyncClient, namespace: str
):
    key_id = await key_of(known)
    await change(elsewhere, key_id, "agents = '{another}'")
    assert (await ask(known, namespace)).status_code == 403
    assert (await ask(known, namespace, agent="another")).status_code == 201

    await change(elsewhere, key_id, "agents = '{another, solver}'")

    assert (await ask(known, namespace)).status_code == 201


async def test_an_expired_key_is_out_though_its_row_was_read_before(
    elsewhere: FastAPI, known: httpx.AsyncClient, namespace: str
):
    await change(elsewhere, await key_of(known), "expires_at = clock_timestamp()")

    assert (await ask(known, namespace)).status_code == 401


async def test_an_agent_that_got_a_key_of_its_own_is_closed_to_the_others_at_once(
    known: httpx.AsyncClient, namespace: str, agent_client: AgentClient
):
    await agent_client(agents=["solver"])

    assert (await ask(known, namespace)).status_code == 403


async def test_a_changed_setting_takes_effect_at_once_in_another_process(
    client: httpx.AsyncClient, known: httpx.AsyncClient, namespace: str
):
    path = f"/v1/namespaces/{namespace}"
    tag = (await client.get(path)).headers["etag"]
    changed = {"settings": {"control_rate": 1.0}}
    assert (await client.patch(path, json=changed, headers={"If-Match": tag})).is_success

    answer = (await ask(known, namespace, arm="auto")).json()

    assert answer["arm"] == "control"
    assert answer["guideline"]["text"] == ""


async def test_what_was_written_meanwhile_does_not_begin_a_retrieval_again(
    client: httpx.AsyncClient,
    known: httpx.AsyncClient,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
):
    """Versions and counts move with each write; the call goes on by the new ones."""
    began = list[bool]()
    goes_on = identity.goes_on

    def noted(before, proven):
        began.append(goes_on(before, proven))
        return began[-1]

    monkeypatch.setattr("memory.retrieval.service.goes_on", noted)
    memory_id = await remembered(client, namespace, lesson="look at the wind")

    answer = (await ask(known, namespace)).json()

    assert memory_id in {memory["memory_id"] for memory in answer["memories"]}
    assert began == [True]


async def test_a_namespace_that_is_gone_is_not_there_for_a_known_key(
    client: httpx.AsyncClient, elsewhere: FastAPI, operator_token: str, namespace: str
):
    async with a_client(elsewhere, operator_token) as known:
        for _ in range(2):
            assert (await ask(known, namespace)).status_code == 201
        path = f"/v1/namespaces/{namespace}"
        asked = (await client.post(f"{path}/deletion")).json()
        gone = await client.delete(path, params={"confirmation": asked["confirmation"]})
        assert gone.is_success, gone.text

        answer = await ask(known, namespace)

    assert problem(answer)[:2] == (404, "namespace_not_found")
