"""What stands around every page: headers, forms of other sites, roles, and faults as pages."""

import pytest
from dashboard_builders import (
    SITE,
    Markup,
    a_browser,
    a_dashboard,
    at,
    csrf_of,
    inline_parts,
    token_of,
)
from fastapi import FastAPI, Response

from server.app import guard
from server.dashboard import PAGES
from server.dashboard.files import ASSETS
from server.dashboard.guarding import POLICY, guarded_at
from server.dashboard.navigation import NAVIGATION

READ = [entry.path for entry in NAVIGATION]
OUTSIDE = ["/dashboard/login", "/dashboard/namespaces"]
NAME = '<script>alert(1)</script>"><img src=x onerror=alert(1)> \U0001f600'


def assert_guarded(answer):
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"


def test_the_policy_admits_nothing_inline_and_nothing_from_elsewhere():
    assert POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


@pytest.mark.parametrize("path", READ)
async def test_every_page_of_a_namespace_is_guarded_and_has_nothing_inline(
    app, operator_token, namespace, path
):
    async with a_browser(app, operator_token) as browser:
        answer = await browser.get(at(namespace, path))

    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert_guarded(answer)
    assert inline_parts(answer.text) == []


@pytest.mark.parametrize("path", OUTSIDE)
async def test_every_page_outside_is_guarded_and_has_nothing_inline(app, operator_token, path):
    async with a_browser(app, operator_token) as browser:
        answer = await browser.get(path)

    assert answer.status_code == 200
    assert_guarded(answer)
    assert inline_parts(answer.text) == []


async def test_a_page_that_is_not_there_is_a_page_that_says_so(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        for path in (at(namespace, "/nowhere"), at("no-such-space"), at("NO%20SLUG")):
            answer = await browser.get(path)
            assert answer.status_code == 404, path
            assert "<h1>Not Found</h1>" in answer.text
            assert answer.headers["x-request-id"] in answer.text
            assert_guarded(answer)


async def test_a_namespace_that_a_key_does_not_reach_is_not_there(app, agent_client, replay):
    reader = await agent_client("reader")
    async with a_browser(app, token_of(reader)) as browser:
        assert (await browser.get(at(replay))).status_code == 404


async def test_a_bug_is_a_page_that_keeps_its_text_to_the_log(engine, tmp_path):
    router = guarded_at("/dashboard/broken")

    @router.get("")
    async def broken() -> Response:
        raise ZeroDivisionError("secret of the house")

    app = FastAPI()
    app.include_router(router)
    app.state.shared = a_dashboard(engine, tmp_path).state.shared
    guard(app, app.state.shared)
    async with a_browser(app) as browser:
        answer = await browser.get("/dashboard/broken")

    assert answer.status_code == 500
    assert "secret of the house" not in answer.text
    assert answer.headers["x-request-id"] in answer.text
    assert_guarded(answer)


@pytest.mark.parametrize("csrf", ["", "0" * 64, "é"])
async def test_a_form_without_the_sessions_token_is_refused(app, operator_token, namespace, csrf):
    async with a_browser(app, operator_token) as browser:
        answer = await browser.post(at(namespace, "/keys"), data={"name": "x", "csrf": csrf})

    assert answer.status_code == 403
    assert "foreign_form" in answer.text


async def test_the_token_of_another_session_is_refused(app, operator_token, namespace):
    async with a_browser(app, operator_token) as one, a_browser(app, operator_token) as other:
        csrf = await csrf_of(other, namespace)
        answer = await one.post(at(namespace, "/keys"), data={"name": "x", "csrf": csrf})

    assert answer.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.test"},
        {"origin": "null"},
        {"origin": f"{SITE}.evil.test"},
        {"origin": "https://memlift.test:8443"},
    ],
)
async def test_a_form_of_another_site_is_refused_even_with_the_token(
    app, operator_token, namespace, headers
):
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        form = {"name": "x", "role": "reader", "csrf": csrf}
        answer = await browser.post(at(namespace, "/keys"), data=form, headers=headers)
        login = await browser.post("/dashboard/login", data={}, headers=headers)

    assert (answer.status_code, login.status_code) == (403, 403)
    assert "foreign_origin" in answer.text


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 201)]
)
async def test_without_an_origin_the_browsers_word_on_the_site_counts(
    app, operator_token, namespace, site, status
):
    async with a_browser(app, operator_token) as browser:
        csrf = await csrf_of(browser, namespace)
        del browser.headers["origin"]
        form = {"name": "x", "role": "reader"}
        told = {"sec-fetch-site": site, "x-csrf-token": csrf}
        answer = await browser.post(at(namespace, "/keys"), data=form, headers=told)

    assert answer.status_code == status


@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x", ""])
async def test_a_body_that_is_no_form_is_refused(app, operator_token, kind):
    async with a_browser(app) as browser:
        told = {"content-type": kind}
        answer = await browser.post("/dashboard/login", content=b"key=x", headers=told)

    assert answer.status_code == 415


async def test_the_api_takes_no_forms(app, operator_token, namespace):
    async with a_browser(app) as browser:
        told = {"authorization": f"Bearer {operator_token}"}
        answer = await browser.post(
            f"/v1/namespaces/{namespace}/experiences", data={"agent": "x"}, headers=told
        )

    assert answer.status_code == 415


async def test_a_session_is_no_key_for_the_api(app, operator_token):
    async with a_browser(app, operator_token) as browser:
        session_id = browser.cookies["memlift_session"]
        answer = await browser.get("/v1/me", headers={"cookie": f"memlift_session={session_id}"})

    assert answer.status_code == 401


@pytest.mark.parametrize("role", ["reader", "agent", "evaluator"])
async def test_who_may_only_read_sees_no_button_but_the_way_out(app, agent_client, namespace, role):
    client = await agent_client(role)
    async with a_browser(app, token_of(client)) as browser:
        for path in ("/", "/jobs"):
            answer = await browser.get(at(namespace, path))
            assert answer.status_code == 200
            forms = [form for form in Markup(answer.text).of("form") if form["method"] == "post"]
            assert [form["action"] for form in forms] == ["/dashboard/logout"]
        assert (await browser.get(at(namespace, "/keys"))).status_code == 403
        csrf = await csrf_of(browser, namespace)
        run = await browser.post(at(namespace, "/jobs/decay/runs"), data={"csrf": csrf})
        made = await browser.post("/dashboard/namespaces", data={"csrf": csrf, "slug": "mine"})

    assert (run.status_code, made.status_code) == (403, 403)


async def test_an_admin_sees_the_buttons_of_its_namespace_and_makes_none(
    app, agent_client, namespace
):
    admin = await agent_client("admin")
    async with a_browser(app, token_of(admin)) as browser:
        keys = await browser.get(at(namespace, "/keys"))
        spaces = await browser.get("/dashboard/namespaces")

    assert "Make the key" in keys.text
    assert "<option>operator</option>" not in keys.text
    assert "Make the namespace" not in spaces.text


async def test_stored_markup_is_shown_as_text(app, client, agent_client, namespace):
    await client.post("/v1/keys", json={"role": "reader", "name": NAME, "namespace": namespace})
    admin = await agent_client("admin")
    async with a_browser(app, token_of(admin)) as browser:
        answer = await browser.get(at(namespace, "/keys"))

    assert inline_parts(answer.text) == []
    assert NAME in " ".join(Markup(answer.text).text)


@pytest.mark.parametrize("name", sorted(ASSETS))
async def test_a_static_file_has_its_type_and_may_be_kept(app, name):
    async with a_browser(app) as browser:
        answer = await browser.get(ASSETS[name].url)

    kinds = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    wanted = kinds.get(name.rpartition(".")[2], "text/plain")
    assert answer.headers["content-type"].partition(";")[0] == wanted
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("name", ["nothing.js", "../__init__.py", "..%2f__init__.py"])
async def test_nothing_else_is_served_as_a_static_file(app, name):
    async with a_browser(app) as browser:
        answer = await browser.get(f"/dashboard/static/{name}")

    assert answer.status_code in (303, 404)
    assert "APIRouter" not in answer.text


@pytest.mark.parametrize("library", ["htmx", "uPlot", "pico"])
def test_each_library_lies_beside_its_licence(library):
    assert f"vendor/{library}.LICENSE" in ASSETS
    assert any(name.startswith(f"vendor/{library}-") for name in ASSETS)


def test_the_published_contract_knows_nothing_of_pages(app):
    assert not [path for path in app.openapi()["paths"] if path.startswith("/dashboard")]


def test_every_page_goes_through_the_guard():
    kinds = {type(route).__name__ for router in PAGES for route in router.routes}

    assert kinds == {"PageRoute"}


async def test_the_label_of_the_metrics_is_the_route_not_the_path(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        await browser.get(at(namespace, "/jobs"))
        metrics = await browser.get("/metrics")

    assert 'route="/dashboard/ns/{namespace}/jobs"' in metrics.text
    assert namespace not in metrics.text
