"""What happens is told to who asked to hear of it: signed, again and again, and then no more."""

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.curation.entities import TrustChange
from memory.curation.service import change_trust
from memory.jobs.attempts import Attempts
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, NotFound
from memory.kernel.paging import Page
from memory.kernel.postgres.database import undone
from memory.kernel.postgres.leadership import RunDraft
from memory.memories.entities import Trust
from memory.outcomes.applying import apply_now
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call, Role
from memory.webhooks.entities import (
    DISABLED_AFTER,
    KINDS,
    MAX_WEBHOOKS,
    PAUSES,
    Webhook,
    WebhookCreated,
    WebhookDraft,
)
from memory.webhooks.service import (
    create_webhook,
    delete_webhook,
    deliver_due,
    list_deliveries,
    list_webhooks,
    try_webhook,
)
from memory.webhooks.store import Outbox
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, OPEN, Caller, a_namespace
from tests.fixtures.receiver import Receiver, receiving
from tests.storage.steps import remembered, reported, served

PAGE = Page(100)


@pytest.fixture
def near(engine: Engine) -> Engine:
    """The engine, as an operator sets it who lets webhooks reach this machine."""
    return replace(engine, settings=replace(engine.settings, webhook_hosts={"127.0.0.1"}))


async def made(engine: Engine, call: Call, receiver: Receiver, *kinds: str) -> WebhookCreated:
    wanted = tuple(one for one in KINDS if not kinds or one in kinds)
    return await create_webhook(engine, call, WebhookDraft(receiver.url, wanted))


async def put(engine: Engine, call: Call, **more: str) -> None:
    async with engine.database.transaction(call.namespace.id) as connection:
        outbox = Outbox(connection, call.namespace.id)
        await outbox.put("ticket.open", {"ticket_id": str(call.key.id)}, **more)


def soon() -> datetime:
    """When what was put just now is due."""
    return datetime.now(UTC) + timedelta(minutes=1)


async def the_webhook(engine: Engine, call: Call) -> Webhook:
    [one] = await list_webhooks(engine, call)
    return one


async def test_an_event_arrives_signed_with_ids_and_no_secret_is_read_back(
    near: Engine, calls: Caller, past: str
):
    call = await calls(past)
    async with receiving(204) as receiver:
        hook = await made(near, call, receiver)
        await put(near, call)
        results = await deliver_due(near, call.namespace, soon(), None)

    assert results == {"delivered": 1}
    [one] = receiver.received
    assert one.line == "POST /hook?for=tests HTTP/1.1"
    assert one.headers["host"] == f"127.0.0.1:{receiver.port}"
    name, timestamp = one.headers["webhook-id"], one.headers["webhook-timestamp"]
    key = base64.b64decode(hook.secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{name}.{timestamp}.".encode() + one.body, hashlib.sha256).digest()
    assert one.headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
    said = json.loads(one.body)
    assert (said["type"], said["namespace"]) == ("ticket.open", past)
    assert said["data"] == {"ticket_id": str(call.key.id)}
    [delivery] = (await list_deliveries(near, call, hook.id, PAGE)).items
    assert (str(delivery.id), delivery.state, delivery.status) == (name, "delivered", 204)
    assert not hasattr(await the_webhook(near, call), "secret")
    assert hook.secret not in repr(hook)


async def test_what_does_not_arrive_is_sent_again_for_about_a_day_and_then_given_up(
    near: Engine, calls: Caller, past: str
):
    call, at = await calls(past), soon()
    async with receiving(500) as receiver:
        hook = await made(near, call, receiver)
        await put(near, call)
        for n, pause in enumerate(PAUSES, start=1):
            assert await deliver_due(near, call.namespace, at, None) == {"retried": 1}
            [one] = (await list_deliveries(near, call, hook.id, PAGE)).items
            assert (one.attempts, one.next_at, one.status) == (n, at + pause, 500)
            early = at + pause - timedelta(seconds=1)
            assert not await deliver_due(near, call.namespace, early, None)
            at += pause
        last = await deliver_due(near, call.namespace, at, None)

    assert last == {"failed": 1}
    assert {one.headers["webhook-id"] for one in receiver.received} == {str(one.id)}
    assert len({one.body for one in receiver.received}) == 1
    assert timedelta(hours=20) < sum(PAUSES, timedelta()) < timedelta(hours=28)
    [over] = (await list_deliveries(near, call, hook.id, PAGE)).items
    assert (over.state, over.next_at) == ("failed", None)
    assert (await the_webhook(near, call)).failures == 1


async def test_a_webhook_where_nobody_answers_is_disabled_until_a_test_arrives(
    near: Engine, calls: Caller, past: str
):
    call = await calls(past)
    async with receiving(500) as receiver:
        hook = await made(near, call, receiver)
        for _ in range(DISABLED_AFTER + 1):
            await put(near, call)
        async with near.database.transaction(call.namespace.id) as connection:
            await connection.execute(
                text("UPDATE webhook_delivery SET attempts = :n WHERE webhook_id = :id"),
                {"n": len(PAUSES), "id": hook.id},
            )
        await deliver_due(near, call.namespace, soon(), None)
        disabled = await the_webhook(near, call)
        await put(near, call)
        refused = await try_webhook(near, call, hook.id)
        still = await the_webhook(near, call)
        receiver.statuses[:] = [200]
        arrived = await try_webhook(near, call, hook.id)

    assert (disabled.disabled_reason, still.disabled_at) == ("failures", disabled.disabled_at)
    assert (refused.delivered, refused.status, arrived.delivered) == (False, 500, True)
    assert json.loads(receiver.received[-1].body)["type"] == "webhook.test"
    again = await the_webhook(near, call)
    assert (again.disabled_at, again.failures) == (None, 0)
    listed = (await list_deliveries(near, call, hook.id, PAGE)).items
    assert len(listed) == DISABLED_AFTER + 1, "of what came while it was disabled nothing waits"
    assert {one.state for one in listed} == {"failed"}


async def test_who_is_gone_is_told_no_more_and_a_redirect_is_not_followed(
    near: Engine, calls: Caller, past: str
):
    call = await calls(past)
    async with receiving(410) as gone, receiving(302) as moved, receiving(200) as there:
        moved.headers = f"location: {there.url}\r\n"
        await made(near, call, gone)
        await made(near, call, moved)
        await put(near, call)
        results = await deliver_due(near, call.namespace, soon(), None)

    assert results == {"failed": 1, "retried": 1}
    assert not there.received
    first, second = await list_webhooks(near, call)
    assert (first.disabled_reason, second.disabled_reason) == ("gone", None)


async def test_what_the_operator_names_no_more_is_not_reached(
    near: Engine, engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    async with receiving() as receiver:
        hook = await made(near, call, receiver)
        await put(near, call)
        results = await deliver_due(engine, call.namespace, soon(), None)

    assert results == {"retried": 1}
    assert not receiver.received
    [one] = (await list_deliveries(near, call, hook.id, PAGE)).items
    assert (one.status, one.fault) == (None, "https_only")


async def test_an_event_is_kept_with_the_fact_or_neither_is(near: Engine, calls: Caller, past: str):
    call = await calls(past)
    async with receiving() as receiver:
        hook = await made(near, call, receiver, "memory.quarantined")
        [lesson] = await remembered(near, call, a_draft(learned_at=NOON))
        await put(near, call)
        await change_trust(near, call, lesson.id, TrustChange(Trust.QUARANTINED))
        async with near.database.transaction(call.namespace.id) as connection, undone(connection):
            outbox = Outbox(connection, call.namespace.id)
            await outbox.put("memory.quarantined", {"memory_id": None})

    [told] = (await list_deliveries(near, call, hook.id, PAGE)).items
    assert (told.kind, told.data) == ("memory.quarantined", {"memory_id": str(lesson.id)})


async def test_a_ticket_a_suspended_cell_and_a_failing_job_are_told(
    near: Engine, calls: Caller, past: str
):
    call = await calls(past)
    async with receiving() as receiver:
        hook = await made(near, call, receiver)
    draft = RunDraft("decay", call.namespace.id, "p", call.now, None, None)
    for _ in range(5):
        await Attempts(near, call.namespace, None).fail(draft, RuntimeError("a text"))
    await remembered(near, call, a_draft(learned_at=NOON))
    misled = {"metric": "brier", "truth": {"y": [1]}, "reward": None}
    for day in range(1, 13):
        at = NOON + day * DAY
        run = await served(near, await calls(past), purpose="paired", as_of=at)
        without = {"value": {"p": [0.1]}, "without": {"value": {"p": [0.9]}}, "known_at": at}
        await reported(near, await calls(past), run, **misled, **without)
        await apply_now(near, await calls(past))
    trial = a_draft(lesson="on trial", learned_at=NOON, task=TaskDraft(text="one"), verify=True)
    await remembered(near, await calls(past), trial)

    told = (await list_deliveries(near, call, hook.id, PAGE)).items
    kinds = [one.kind for one in reversed(told)]
    assert kinds[:6] == ["job.failed"] * 5 + ["job.quarantined"]
    assert kinds.count("cell.suspended") == 1
    assert kinds[-1] == "ticket.open"
    for one in told:
        for name, value in one.data.items():
            assert name in ("job", "failures") or UUID(str(value))


async def test_a_key_that_has_said_enough_is_told_of_once_a_day(
    near: Engine, calls: Caller, operator
):
    slug = await a_namespace(near, operator, settings=replace(OPEN, daily_credits=1))
    call = await calls(slug)
    async with receiving() as receiver:
        hook = await made(near, call, receiver, "key.muted")
    await remembered(near, call, a_draft(agent="author"))
    loud = await calls(slug, role=Role.AGENT, agents=("loud",))
    for _ in range(4):
        run = await served(near, loud, agent="loud")
        await reported(near, loud, run, reward=0.0, verifier="self")

    [told] = (await list_deliveries(near, call, hook.id, PAGE)).items
    assert told.data["key_id"] == str(loud.key.id)


async def test_who_manages_makes_a_bounded_number_and_ends_them(
    near: Engine, calls: Caller, past: str
):
    call = await calls(past)
    async with receiving() as receiver:
        for _ in range(MAX_WEBHOOKS):
            await made(near, call, receiver)
        with pytest.raises(Conflict):
            await made(near, call, receiver)
        with pytest.raises(Forbidden):
            await made(near, await calls(past, role=Role.AGENT), receiver)
    first, *_ = await list_webhooks(near, call)
    await put(near, call)
    await delete_webhook(near, call, first.id)
    with pytest.raises(NotFound):
        await list_deliveries(near, call, first.id, PAGE)
    assert len(await list_webhooks(near, call)) == MAX_WEBHOOKS - 1
