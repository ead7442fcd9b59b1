"""People's habits: keys, search, times of their own zone, and pages that stay up to date."""

from collections.abc import Callable

from memlift_client import MemLift
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.story import SHOP, Story
from tests.browser.test_first_paint import HOME

Open = Callable[..., BrowserContext]
PATIENCE_MS = 60_000


def heading(page: Page) -> str:
    return page.get_by_role("heading", level=1).inner_text()


def test_a_slash_searches_and_arrows_walk_through_what_was_found(
    page: Page, shop_told: Story
) -> None:
    page.goto(HOME + "/")
    page.keyboard.press("/")
    page.keyboard.type("carrier")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=carrier")
    expect(page.get_by_role("heading", name="Experiences")).to_be_visible()

    page.keyboard.press("ArrowDown")
    first = page.locator(".results a").first
    expect(first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(first).not_to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memories/*")


def test_g_and_a_letter_open_a_page_but_not_while_somebody_types(
    page: Page, shop_told: Story
) -> None:
    page.goto(HOME + "/")
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_url("**/memories")

    page.get_by_label("Text in situation or lesson").focus()
    page.keyboard.type("gr?/")
    expect(page.get_by_label("Text in situation or lesson")).to_have_value("gr?/")
    assert page.url.endswith("/memories")


def test_the_sheet_lists_the_keys_and_switches_them_off(page: Page, shop_told: Story) -> None:
    page.goto(HOME + "/")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog")
    expect(sheet).to_contain_text("Receipts")
    sheet.get_by_label("Shortcuts are on in this browser").uncheck()
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()

    page.goto(HOME + "/receipts")
    page.keyboard.press("?")
    expect(sheet).to_be_hidden()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(sheet).to_be_visible()


def test_times_are_told_as_how_long_ago_and_in_the_zone_that_is_chosen(
    open_browser: Open, shop_told: Story
) -> None:
    page = open_browser(timezone_id="Asia/Kolkata").new_page()
    page.goto(HOME + "/audit")
    time = page.locator("tbody time").first
    expect(time).to_contain_text("ago")
    assert "UTC" in str(time.get_attribute("title"))

    page.get_by_role("button", name="Show local times").click()
    expect(page.locator("footer")).to_contain_text("+05:30")
    assert "+05:30" in str(time.get_attribute("title"))
    page.goto(HOME + "/memories")
    expect(page.locator("footer")).to_contain_text("+05:30")
    page.get_by_role("button", name="Show UTC").click()
    expect(page.locator("footer")).to_contain_text("UTC")


def test_without_scripts_times_are_in_utc_and_the_search_works(
    open_browser: Open, shop_told: Story
) -> None:
    page = open_browser(java_script_enabled=False, timezone_id="Asia/Kolkata").new_page()
    page.goto(HOME + "/audit")
    expect(page.locator("tbody time").first).to_contain_text("UTC")
    page.get_by_label(f"Search {SHOP}").fill("carrier")
    page.get_by_label(f"Search {SHOP}").press("Enter")
    expect(page.get_by_role("heading", name="Experiences")).to_be_visible()


def test_the_overview_shows_a_new_receipt_without_being_loaded_again(
    page: Page, shop: MemLift
) -> None:
    page.goto(HOME + "/")
    expect(page.locator("[data-live-state]")).to_have_text("live", timeout=PATIENCE_MS)
    served = shop.retrieve(agent="clerk", task={"text": "Close the till", "category": "books"})

    link = page.locator(f"[data-live-receipts] a[href$='{served.receipt}']")
    expect(link).to_be_visible(timeout=PATIENCE_MS)


def test_a_list_is_saved_as_a_file(page: Page, shop_told: Story) -> None:
    page.goto(f"{HOME}/memories?category=orders")
    with page.expect_download() as told:
        page.get_by_role("link", name="CSV").click()

    assert told.value.suggested_filename == f"{SHOP}-memories.csv"
