"""A link that logs in: once, soon, and for whoever made it."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from dashboard_builders import a_browser, a_dashboard, at
from sqlalchemy import select

from memory.kernel.errors import Unauthenticated
from memory.tenancy.entities import KeyDraft, Role
from memory.tenancy.service import (
    create_key,
    create_login_link,
    enter_session,
    open_linked_session,
    revoke_key,
)
from memory.tenancy.session_entities import LINK_LIFE
from memory.tenancy.tables import audit
from server.limits import Limits
from tests.fixtures.engine import NOON


async def a_key(engine, operator):
    key, token = await create_key(engine, operator, KeyDraft(Role.OPERATOR, "link"), NOON)
    return key, str(token)


async def test_a_link_is_a_button_and_logs_in_once(app, engine, operator_token, namespace):
    code = await create_login_link(engine.database, operator_token, datetime.now(UTC))
    async with a_browser(app) as browser:
        # Whatever fetches the address beforehand uses nothing up.
        for _ in range(2):
            page = await browser.get(f"/dashboard/login?link={code}")
            assert "Continue with this link" in page.text
        answer = await browser.post("/dashboard/login", data={"link": code})
        assert answer.status_code == 303
        assert (await browser.get(at(namespace))).status_code == 200

    async with a_browser(app) as other:
        again = await other.post("/dashboard/login", data={"link": code})
        assert again.status_code == 401
        assert "`memlift open` makes a new one" in again.text


async def test_a_link_is_over_after_its_minutes(engine, operator):
    _, token = await a_key(engine, operator)
    code = await create_login_link(engine.database, token, NOON)
    late = await create_login_link(engine.database, token, NOON)

    await open_linked_session(engine, code, NOON + LINK_LIFE - timedelta(seconds=1))
    with pytest.raises(Unauthenticated):
        await open_linked_session(engine, late, NOON + LINK_LIFE)


async def test_of_two_who_use_a_link_at_once_one_gets_in(engine, operator):
    _, token = await a_key(engine, operator)
    code = await create_login_link(engine.database, token, NOON)

    both = await asyncio.gather(
        *(open_linked_session(engine, code, NOON) for _ in range(2)), return_exceptions=True
    )

    assert sum(isinstance(one, Unauthenticated) for one in both) == 1


async def test_a_link_is_no_session_and_ends_with_its_key(engine, operator):
    key, token = await a_key(engine, operator)
    code = await create_login_link(engine.database, token, NOON)
    with pytest.raises(Unauthenticated):
        await enter_session(engine, code, NOON)

    await revoke_key(engine, operator, key.id, NOON)

    with pytest.raises(Unauthenticated):
        await open_linked_session(engine, code, NOON)
    with pytest.raises(Unauthenticated):
        await create_login_link(engine.database, token, NOON)


async def test_making_and_using_a_link_are_in_the_audit(engine, operator):
    key, token = await a_key(engine, operator)
    code = await create_login_link(engine.database, token, NOON)
    await open_linked_session(engine, code, NOON)

    async with engine.database.transaction() as connection:
        rows = await connection.execute(
            select(audit.c.action).where(audit.c.key_id == key.id).order_by(audit.c.id)
        )
        assert list(rows.scalars()) == ["login_link.create", "login_link.use"]


async def test_guessed_links_are_limited_as_guessed_keys_are(engine, tmp_path):
    app = a_dashboard(engine, tmp_path, logins=Limits(rate=0.001, burst=2))
    async with a_browser(app) as browser:
        seen = [
            (await browser.post("/dashboard/login", data={"link": f"guess{n}"})).status_code
            for n in range(3)
        ]

    assert seen == [401, 401, 429]


async def test_who_guessed_too_often_still_gets_in_with_what_is_good(
    engine, operator, operator_token, tmp_path
):
    _, token = await a_key(engine, operator)
    code = await create_login_link(engine.database, token, datetime.now(UTC))
    app = a_dashboard(engine, tmp_path, logins=Limits(rate=0.001, burst=2))
    async with a_browser(app) as browser:
        wrong = [
            await browser.post("/dashboard/login", data={"link": f"guess{n}"}) for n in range(4)
        ]
        by_link = await browser.post("/dashboard/login", data={"link": code})
        by_key = await browser.post("/dashboard/login", data={"key": operator_token})
        after = await browser.post("/dashboard/login", data={"link": code})

    assert [answer.status_code for answer in wrong] == [401, 401, 429, 429]
    assert int(wrong[-1].headers["retry-after"]) > 0
    assert "retry-after" not in wrong[0].headers
    assert (by_link.status_code, by_key.status_code, after.status_code) == (303, 303, 429)


async def test_a_key_given_as_a_link_or_a_session_opens_what_it_opened(
    app, engine, operator, namespace
):
    _, token = await a_key(engine, operator)
    async with a_browser(app) as browser:
        as_link = await browser.post("/dashboard/login", data={"link": token})
        browser.cookies.set("memlift_session", token, domain="memlift.test", path="/dashboard")
        as_session = await browser.get(at(namespace))
        browser.cookies.clear()
        as_key = await browser.post("/dashboard/login", data={"key": token})
        called = await browser.get("/v1/me", headers={"authorization": f"Bearer {token}"})

    assert (as_link.status_code, as_session.status_code) == (401, 303)
    assert as_session.headers["location"].startswith("/dashboard/login")
    assert (as_key.status_code, called.status_code) == (303, 200)
