"""Login, and all the ways in which it ends."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest
from dashboard_builders import FROM_HERE, a_browser, a_dashboard, at, csrf_in, csrf_of, token_of

from memory.kernel.errors import Unauthenticated
from memory.tenancy.entities import KeyDraft, Role
from memory.tenancy.service import (
    close_session,
    create_key,
    enter_session,
    open_session,
    revoke_key,
)
from memory.tenancy.session_entities import IDLE, LONGEST, Session, digest, form_token
from memory.tenancy.store.sessions import DashboardSessionStore
from server.dashboard.login import own_path
from server.limits import Limits
from tests.fixtures.engine import NOON


async def test_a_key_opens_a_session_and_the_cookie_is_closed_to_scripts(app, operator_token):
    async with a_browser(app) as browser:
        answer = await browser.post("/dashboard/login", data={"key": operator_token})

    cookie = answer.headers["set-cookie"].lower()
    assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard/")
    assert {"httponly", "secure", "samesite=strict", "path=/dashboard"} <= {
        part.strip() for part in cookie.split(";")
    }
    assert operator_token not in cookie


async def test_plain_http_on_loopback_keeps_its_cookie(app, operator_token):
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as browser:
        answer = await browser.post("/dashboard/login", data={"key": operator_token})

    assert "secure" not in answer.headers["set-cookie"].lower()


async def test_plain_http_from_elsewhere_is_told_why_it_will_not_stay(app):
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://memlift.test") as browser:
        plain = await browser.get("/dashboard/login")
        behind = await browser.get("/dashboard/login", headers={"x-forwarded-proto": "https"})

    assert "will not keep the session" in plain.text
    assert "will not keep the session" not in behind.text


@pytest.mark.parametrize("key", ["", "ml_nonsense", f"ml_{'0' * 32}_{'0' * 64}", "<script>"])
async def test_a_wrong_key_is_answered_by_the_form_and_opens_nothing(app, key):
    async with a_browser(app) as browser:
        answer = await browser.post("/dashboard/login", data={"key": key})

        assert answer.status_code == 401
        assert 'role="alert"' in answer.text
        assert "<script>" not in answer.text
        assert "set-cookie" not in answer.headers


async def test_who_is_not_logged_in_is_sent_to_the_login_and_back(app, namespace, operator_token):
    page = at(namespace, "/jobs?limit=2")
    async with a_browser(app) as browser:
        sent = await browser.get(page)
        assert sent.status_code == 303
        form = await browser.get(sent.headers["location"])
        target = form.text.partition('name="next" value="')[2].partition('"')[0]
        back = await browser.post("/dashboard/login", data={"key": operator_token, "next": target})

    assert back.headers["location"] == page


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.test/dashboard/",
        "//evil.test/dashboard/",
        "/dashboard/\\evil",
        "/dashboard/\r\nx: y",
        "/dashboard/login?next=x",
        "/v1/me",
        "javascript:alert(1)",
        "",
    ],
)
def test_a_login_leads_only_to_pages_of_ours(target):
    assert own_path(target) == "/dashboard/"


async def test_a_revoked_key_ends_its_sessions_at_once(app, client, agent_client, namespace):
    reader = await agent_client("reader")
    key_id = (await reader.get("/v1/me")).json()["key_id"]
    async with a_browser(app, token_of(reader)) as browser:
        assert (await browser.get(at(namespace))).status_code == 200

        assert (await client.delete(f"/v1/keys/{key_id}")).status_code == 204

        after = await browser.get(at(namespace))
        assert after.status_code == 303
        assert "why=unauthenticated" in after.headers["location"]
        assert "was revoked" in (await browser.get(after.headers["location"])).text


async def test_a_part_of_a_page_is_not_replaced_by_the_login(app, namespace):
    async with a_browser(app) as browser:
        answer = await browser.get(at(namespace), headers={"hx-request": "true"})

    assert answer.status_code == 401
    assert answer.headers["hx-redirect"].startswith("/dashboard/login?next=")


async def test_logout_ends_the_session_itself_not_only_the_cookie(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        kept = browser.cookies["memlift_session"]
        csrf = await csrf_of(browser, namespace)
        answer = await browser.post("/dashboard/logout", data={"csrf": csrf})
        assert answer.headers["location"] == "/dashboard/login"

    async with a_browser(app) as other:
        other.cookies.set("memlift_session", kept, domain="memlift.test", path="/dashboard")
        assert (await other.get(at(namespace))).status_code == 303


async def test_login_attempts_are_limited(engine, tmp_path):
    app = a_dashboard(engine, tmp_path, logins=Limits(rate=0.001, burst=2))
    async with a_browser(app) as browser:
        seen = [
            (await browser.post("/dashboard/login", data={"key": "ml_x"})).status_code
            for _ in range(3)
        ]

    assert seen == [401, 401, 429]


async def test_what_a_session_asks_counts_as_its_keys(engine, operator_token, namespace, tmp_path):
    app = a_dashboard(engine, tmp_path, limits=Limits(rate=0.001, burst=3))
    async with a_browser(app, operator_token) as browser:
        seen = [(await browser.get(at(namespace, "/jobs"))).status_code for _ in range(3)]

    assert seen == [200, 200, 429]


async def test_without_keys_a_person_at_this_machine_needs_none(engine, operator_token, tmp_path):
    app = a_dashboard(engine, tmp_path, local_token=operator_token)
    async with a_browser(app) as browser:
        assert "Continue without a key" in (await browser.get("/dashboard/login")).text

        answer = await browser.post("/dashboard/login", data={})

    assert answer.status_code == 303


async def test_without_keys_a_person_elsewhere_needs_one(engine, operator_token, tmp_path):
    app = a_dashboard(engine, tmp_path, local_token=operator_token)
    transport = httpx.ASGITransport(app, client=("203.0.113.7", 4000))
    async with httpx.AsyncClient(transport=transport, base_url="https://memlift.test") as browser:
        assert "Continue without a key" not in (await browser.get("/dashboard/login")).text

        assert (await browser.post("/dashboard/login", data={"x": "y"})).status_code == 401


async def a_session(engine, operator, **changes):
    key, token = await create_key(engine, operator, KeyDraft(Role.OPERATOR, "p", **changes), NOON)
    session_id, _ = await open_session(engine, str(token), NOON)
    return key, session_id


async def test_a_session_ends_after_twelve_idle_hours(engine, operator):
    _, session_id = await a_session(engine, operator)
    later = NOON + IDLE - timedelta(seconds=1)

    assert (await enter_session(engine, session_id, later)).role is Role.OPERATOR
    await enter_session(engine, session_id, later + IDLE - timedelta(seconds=1))
    with pytest.raises(Unauthenticated):
        await enter_session(engine, session_id, later + 2 * IDLE)


async def test_a_session_ends_after_seven_days_however_much_it_is_used(engine, operator):
    _, session_id = await a_session(engine, operator)
    now = NOON
    while (now := now + timedelta(hours=6)) < NOON + LONGEST:
        await enter_session(engine, session_id, now)

    with pytest.raises(Unauthenticated):
        await enter_session(engine, session_id, NOON + LONGEST)


async def test_a_session_ends_when_its_key_expires(engine, operator):
    _, session_id = await a_session(engine, operator, expires_at=NOON + timedelta(hours=1))

    await enter_session(engine, session_id, NOON + timedelta(minutes=59))
    with pytest.raises(Unauthenticated):
        await enter_session(engine, session_id, NOON + timedelta(hours=1))


async def test_a_session_ends_when_its_key_is_revoked(engine, operator):
    key, session_id = await a_session(engine, operator)
    await revoke_key(engine, operator, key.id, NOON)

    with pytest.raises(Unauthenticated):
        await enter_session(engine, session_id, NOON)


async def test_a_closed_session_is_gone_and_one_that_is_over_is_swept_at_the_next_login(
    engine, operator
):
    _, closed = await a_session(engine, operator)
    await close_session(engine, closed)
    stale = digest("left long ago")
    long_ago = NOON - LONGEST
    async with engine.database.transaction() as connection:
        store = DashboardSessionStore(connection)
        await store.open(Session(stale, operator.id, long_ago, long_ago, NOON))
    await a_session(engine, operator)

    with pytest.raises(Unauthenticated):
        await enter_session(engine, closed, NOON)
    async with engine.database.transaction() as connection:
        assert await DashboardSessionStore(connection).find(stale) is None


async def test_only_the_hash_of_a_session_is_stored(engine, operator):
    _, session_id = await a_session(engine, operator)
    async with engine.database.transaction() as connection:
        kept = await DashboardSessionStore(connection).find(digest(session_id))

    assert kept is not None
    assert session_id.encode() not in kept.sha256
    assert kept.sha256 == digest(session_id)


def test_form_tokens_differ_by_session_and_do_not_contain_it():
    assert form_token("one") != form_token("two")
    assert "one" not in form_token("one")


async def test_a_session_of_another_server_opens_nothing(app, namespace):
    async with a_browser(app) as browser:
        browser.cookies.set("memlift_session", "made-up", domain="memlift.test", path="/dashboard")
        answer = await browser.get(at(namespace))

        assert answer.status_code == 303
        assert "why=session_over" in answer.headers["location"]


async def test_the_clock_of_a_session_is_the_servers(app, operator_token, namespace, engine):
    async with a_browser(app, operator_token) as browser:
        assert csrf_in((await browser.get(at(namespace), headers=FROM_HERE)).text)
        session_id = browser.cookies["memlift_session"]

    with pytest.raises(Unauthenticated):
        await enter_session(engine, session_id, datetime.now(UTC) + IDLE)
