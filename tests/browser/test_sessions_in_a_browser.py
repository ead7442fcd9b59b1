"""Who gets in, until when, and that no other site can act for them."""

from collections.abc import Callable

import httpx
import psycopg
import pytest
from memlift_client import MemLift
from playwright.sync_api import BrowserContext, Page, expect

from tests.acceptance.servers import Server
from tests.browser.conftest import Watched, log_in
from tests.browser.story import SHOP, Story

Open = Callable[..., BrowserContext]
COOKIE = "memlift_session"
HOME = f"/dashboard/ns/{SHOP}/"


@pytest.fixture
def token(shop: MemLift) -> str:
    """Of an admin's key of the shop, for one test."""
    return shop.create_key(role="admin", name="for one test", namespace=SHOP).token


def cookie_of(context: BrowserContext) -> str:
    [found] = [one for one in context.cookies() if one.get("name") == COOKIE]
    assert found.get("httpOnly") is True
    assert found.get("sameSite") == "Strict"
    return str(found.get("value"))


def test_a_key_that_is_none_is_refused_and_says_so(open_browser: Open, watched: Watched) -> None:
    watched.expected = {401}
    page = open_browser(key=None).new_page()
    page.goto("/dashboard/login")
    page.get_by_label("Key").fill("ml_00000000000000000000000000000000_wrong")
    page.get_by_role("button", name="Log in").click()

    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
    assert page.context.cookies() == []


def test_after_the_login_one_stands_where_one_wanted_to_go(
    open_browser: Open, operator_key: str, shop_told: Story
) -> None:
    page = open_browser(key=None).new_page()
    wanted = f"/dashboard/ns/{SHOP}/memories?status=active"

    log_in(page, operator_key, wanted)

    assert page.url.endswith(wanted)


def test_an_expired_session_leads_to_the_login_and_says_why(
    open_browser: Open,
    token: str,
    database: "psycopg.Connection[tuple[object, ...]]",
    watched: Watched,
) -> None:
    # Where the page asks for its events once more before it is loaded again, they are refused.
    watched.expected.add(401)
    page = open_browser(token).new_page()
    page.goto(HOME)
    ended = database.execute(
        "UPDATE dashboard_session SET expires_at = created_at + interval '1 microsecond' "
        "WHERE key_id = (SELECT id FROM api_key WHERE name = 'for one test' "
        "ORDER BY created_at DESC LIMIT 1)"
    )
    assert ended.rowcount == 1

    page.reload()

    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
    expect(page.get_by_role("status")).to_contain_text("The session is over")


def test_a_revoked_key_ends_its_session_at_once(
    open_browser: Open, token: str, shop: MemLift
) -> None:
    page = open_browser(token).new_page()
    page.goto(HOME)
    [mine] = [
        key for key in shop.each_key() if key.name == "for one test" and key.revoked_at is None
    ][-1:]
    shop.revoke_key(mine.id)

    page.goto(HOME + "memories")

    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
    expect(page.get_by_role("status")).to_contain_text("revoked")


def test_logged_out_the_cookie_opens_nothing_any_more(open_browser: Open, token: str) -> None:
    context = open_browser(token)
    page = context.new_page()
    page.goto(HOME)
    kept = cookie_of(context)
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")

    context.add_cookies([{"name": COOKIE, "value": kept, "url": page.url}])
    page.goto(HOME)

    expect(page.get_by_role("heading", level=1)).to_have_text("Log in")


def test_a_form_without_its_token_is_refused(
    page: Page, watched: Watched, shop: MemLift, shop_told: Story
) -> None:
    watched.expected = {403}
    page.goto(f"/dashboard/ns/{SHOP}/memories/{shop_told.memory_id}")
    page.locator("input[name=csrf]").evaluate_all("fields => fields.forEach(f => f.remove())")
    page.get_by_text("Suspend", exact=True).click()
    page.get_by_role("button", name="Yes: suspend").click()

    expect(page.get_by_text("not of this session")).to_be_visible()
    assert shop.get_memory(shop_told.memory_id).status == "active"


def test_a_page_of_another_site_cannot_act_for_who_is_logged_in(
    page: Page, watched: Watched, server: Server, shop: MemLift, shop_told: Story
) -> None:
    """Another port of the same machine is another origin and the same site, cookie and all."""
    address = f"{server.url}/dashboard/ns/{SHOP}/memories/{shop_told.memory_id}/status/suspend"
    page.goto(HOME)
    token = page.locator("input[name=csrf]").first.get_attribute("value")
    foreign = "http://127.0.0.1:9"
    watched.origins.add(foreign)
    watched.expected = {403}
    page.route(
        f"{foreign}/**",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f"<form method=post action={address}><input name=csrf value={token}>"
            "<button>Win a prize</button></form>",
        ),
    )
    page.goto(f"{foreign}/prize")
    page.get_by_role("button", name="Win a prize").click()

    expect(page.get_by_text("another site")).to_be_visible()
    assert shop.get_memory(shop_told.memory_id).status == "active"


def test_no_other_site_can_frame_a_page_and_no_page_runs_what_stands_in_it(
    open_browser: Open, server: Server
) -> None:
    context = open_browser()
    answer = httpx.get(server.url + HOME, cookies={COOKIE: cookie_of(context)})

    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
