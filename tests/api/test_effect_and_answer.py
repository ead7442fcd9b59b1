"""The effect of a call and the record of its answer are kept together, or neither is.

A process that dies does so before the commit, and nothing was done, or after it, and a repeat is
answered. Both are played for every call that creates.
"""

import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest
from api_builders import (
    a_task,
    an_ask,
    an_experience,
    an_outcome,
    inside,
    problem,
    remembered,
    retrieved,
)
from contrast_bodies import a_run
from sqlalchemy import text

from memory.kernel.postgres.database import deferring
from memory.tenancy.store.calls import CallStore

Given = dict[str, str]


class Creating:
    """A call that creates: its body, and the list in which what it creates is counted."""

    def __init__(
        self, path: str, body: Callable[[Given], dict[str, Any]], counted: str, status: int = 201
    ) -> None:
        self.path = path
        self.body = body
        self.counted = counted
        self.status = status


TRIGGER = "a sum of parts is asked for and the parts are given in several different units"
ENFORCE = "converting every part to the unit of the answer before adding any of them up"
AVOID = "adding the parts up as they stand in the text and converting the total afterwards"
A_WINDOW = {"text": "Rain in June?", "key": "rain#1", "group_key": "rain", "category": "weather"}
A_PREDICTION = {"agent": "solver", "task": A_WINDOW, "probabilities": {"yes": 0.8, "no": 0.2}}
EVERY = {
    "agent": Creating("/agents", lambda _: {"name": "made"}, "/agents"),
    "category": Creating("/categories", lambda _: {"name": "made"}, "/categories"),
    "task": Creating("/tasks", lambda _: {"text": "Made?"}, "/tasks"),
    "experience": Creating("/experiences", lambda _: an_experience(), "/experiences"),
    "experiences": Creating(
        "/experiences/batch",
        lambda _: {"items": [an_experience(), an_experience(lesson="Another")]},
        "/experiences",
        207,
    ),
    "import": Creating(
        "/experiences/import",
        lambda _: {"items": [an_experience(verification={"source": "none"})]},
        "/experiences",
        207,
    ),
    "meta-guideline": Creating(
        "/meta-guidelines",
        lambda _: {
            "agent": "curator",
            "failure_reason": "a forecast of rain forgot the month",
            "instruction": "read the month first",
        },
        "/meta-guidelines",
    ),
    "trajectory": Creating("/trajectories", lambda _: a_run(), "/trajectories"),
    "trajectories": Creating(
        "/trajectories/batch",
        lambda _: {"items": [a_run(), a_run(agent="beta", reward=0.0)]},
        "/trajectories",
        207,
    ),
    "constraint": Creating(
        "/constraints",
        lambda _: {
            "agent": "curator",
            "trigger": TRIGGER,
            "enforce": ENFORCE,
            "avoid": AVOID,
            "task": {"text": "Ada rides 40 minutes.", "category": "mathematics"},
        },
        "/constraints",
    ),
    "retrieval": Creating("/retrievals", lambda _: an_ask(), "/retrievals"),
    "retrievals": Creating(
        "/retrievals/batch", lambda _: {"items": [an_ask(), an_ask()]}, "/retrievals", 207
    ),
    "outcome": Creating("/retrievals/{receipt}/outcome", lambda _: an_outcome(), "/outcomes", 202),
    "outcomes": Creating(
        "/outcomes/batch",
        lambda given: {"items": [an_outcome(retrieval_id=given["receipt"])]},
        "/outcomes",
        207,
    ),
    "outcome by key": Creating(
        "/outcomes", lambda _: an_outcome(task_key="there-before"), "/outcomes", 202
    ),
    "prediction": Creating("/predictions", lambda _: A_PREDICTION, "/predictions"),
    "predictions": Creating(
        "/predictions/batch", lambda _: {"items": [A_PREDICTION]}, "/predictions", 207
    ),
    "settlement": Creating(
        "/settlements",
        lambda _: {"event": "other", "resolutions": {"yes": "yes", "no": "no"}},
        "/settlements",
    ),
    "settlements": Creating(
        "/settlements/batch",
        lambda _: {"items": [{"event": "other", "resolutions": {"yes": "yes"}}]},
        "/settlements",
        207,
    ),
}
EACH = pytest.mark.parametrize("name", EVERY)


@pytest.fixture
async def given(client, namespace) -> Given:
    """What some of the calls are about."""
    await remembered(client, namespace, lesson="It was there before")
    receipt = await retrieved(client, namespace, task=a_task(key="there-before"))
    window = {"text": "?", "key": "other#1", "group_key": "other", "category": "weather"}
    ahead = {"agent": "solver", "task": window, "probabilities": {"yes": 0.5, "no": 0.5}}
    made = await client.post(inside(namespace, "/predictions"), json=ahead)
    assert made.status_code == 201, made.text
    return {"receipt": receipt["retrieval_id"]}


class Call:
    """One creating call under one idempotency key, made as often as wished."""

    def __init__(self, client: httpx.AsyncClient, slug: str, name: str, given: Given) -> None:
        self._client = client
        self._slug = slug
        self._creating = EVERY[name]
        self._given = given
        self._headers = {"Idempotency-Key": uuid4().hex}
        self.status = self._creating.status

    @property
    def path(self) -> str:
        return inside(self._slug, self._creating.path.format(**self._given))

    @property
    def body(self) -> dict[str, Any]:
        return self._creating.body(self._given)

    async def make(self) -> httpx.Response:
        return await self._client.post(self.path, json=self.body, headers=self._headers)

    async def count(self) -> int:
        listed = await self._client.get(inside(self._slug, self._creating.counted))
        assert listed.status_code == 200, listed.text
        return listed.json()["total"]


class LostAnswer(Exception):
    """The connection went away, or the process did, when the answer was on its way."""


@EACH
async def test_an_answer_lost_after_the_commit_is_given_again_and_nothing_is_done_twice(
    client, namespace, given, name, monkeypatch
):
    call = Call(client, namespace, name, given)
    before = await call.count()

    async def losing(self: object, *parts: object, **named: object) -> None:
        raise LostAnswer

    with monkeypatch.context() as patched:
        patched.setattr("starlette.responses.Response.__call__", losing)
        broken = await call.make()
    assert broken.status_code == 500
    done = await call.count()

    again = await call.make()

    assert again.status_code == call.status, again.text
    assert again.headers["idempotency-replayed"] == "true"
    assert await call.count() == done > before


@EACH
async def test_an_effect_whose_record_is_lost_was_never_there(
    client, namespace, given, name, monkeypatch
):
    call = Call(client, namespace, name, given)
    before = await call.count()

    async def lost(self: CallStore, *parts: object) -> bool:
        raise LostAnswer

    with monkeypatch.context() as patched:
        patched.setattr(CallStore, "finish", lost)
        broken = await call.make()
    assert broken.status_code == 500
    assert await call.count() == before

    answer = await call.make()
    done = await call.count()
    again = await call.make()

    assert answer.status_code == call.status, answer.text
    assert "idempotency-replayed" not in answer.headers
    assert again.json() == answer.json()
    assert await call.count() == done > before


async def test_a_call_that_another_has_replaced_keeps_no_effect(
    client, namespace, given, monkeypatch
):
    """It took longer than its lease, and the repeat is at work."""
    call = Call(client, namespace, "trajectory", given)

    async def replaced(self: CallStore, *parts: object) -> bool:
        return False

    with monkeypatch.context() as patched:
        patched.setattr(CallStore, "finish", replaced)
        late = await call.make()

    assert problem(late) == (409, "idempotency_running", "Idempotency-Key")
    assert await call.count() == 0


async def test_a_connection_that_dies_with_the_record_is_told_and_keeps_no_effect(
    client, namespace, monkeypatch
):
    path, headers = inside(namespace, "/experiences"), {"idempotency-key": uuid4().hex}

    async def die(store: CallStore, *_: object) -> bool:
        await store._connection.execute(text("RESET ROLE"))
        await store._connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        raise AssertionError("it lives")

    with monkeypatch.context() as patch:
        patch.setattr(CallStore, "finish", die)
        lost = await client.post(path, json=an_experience(), headers=headers)
    again = await client.post(path, json=an_experience(), headers=headers)

    assert (lost.status_code, lost.json()["code"]) == (503, "database")
    assert again.status_code == 201
    assert (await client.get(path)).json()["total"] == 1


async def test_keys_and_namespaces_are_made_once(client, namespace, monkeypatch):
    async def lost(self: CallStore, *parts: object) -> bool:
        raise LostAnswer

    slug = f"n{uuid4().hex[:12]}"
    headers = {"Idempotency-Key": uuid4().hex}
    bodies = {
        "/v1/keys": {"role": "reader", "name": slug, "namespace": namespace},
        "/v1/namespaces": {"slug": slug},
    }
    with monkeypatch.context() as patched:
        patched.setattr(CallStore, "finish", lost)
        for path, body in bodies.items():
            assert (await client.post(path, json=body, headers=headers)).status_code == 500

    for path, body in bodies.items():
        made = await client.post(path, json=body, headers=headers)
        again = await client.post(path, json=body, headers=headers)

        assert made.status_code == 201, made.text
        assert again.status_code == (409 if path == "/v1/keys" else 201)


async def test_an_outcome_wakes_the_applier_when_it_is_committed(
    app, client, namespace, given, monkeypatch
):
    engine = app.state.shared.engine
    engine.arrived.clear()
    seen: list[bool] = []
    finish = CallStore.finish

    async def watched(self: CallStore, *parts: Any) -> bool:
        seen.append(engine.arrived.is_set())
        return await finish(self, *parts)

    monkeypatch.setattr(CallStore, "finish", watched)
    answer = await Call(client, namespace, "outcome", given).make()

    assert answer.status_code == 202
    assert seen == [False]
    assert engine.arrived.is_set()


async def test_a_transaction_behind_that_of_the_effect_is_a_fault_of_ours(engine, operator_token):
    with deferring() as effect:
        async with engine.database.effect():
            pass
        with pytest.raises(RuntimeError, match="after that of the call's effect"):
            async with engine.database.transaction():
                pass
        await effect.undo()
        async with engine.database.transaction():
            pass


async def test_every_call_that_creates_is_played_here(client):
    document = json.loads((await client.get("/openapi.json")).content)
    creating = {
        path.removeprefix("/v1/namespaces/{namespace}").replace("{retrieval_id}", "{receipt}")
        for path, methods in document["paths"].items()
        if {"201", "202", "207"} & set(methods.get("post", {}).get("responses", ()))
    }
    # Made once by what they are about: a pair and a trial are there once, a version is named, a
    # status is what it is, and a deletion may be asked for again.
    natural = {
        "/contrasts",
        "/deletion",
        "/experiences/{memory_id}/refine",
        "/memories/bulk",
        "/tickets/{ticket_id}/trials",
    }
    elsewhere = {"/v1/keys", "/v1/namespaces"}
    # Its secret is shown once: a repeated call is told so, as with keys.
    secret = {"/webhooks"}

    assert creating - natural - elsewhere - secret == {one.path for one in EVERY.values()}
