"""On a phone, by day, by night and without motion: lists are cards, and a guideline is copied."""

from collections.abc import Callable

import pytest
from memlift_client import MemLift
from playwright.sync_api import BrowserContext, expect

from tests.browser.pages import every_page
from tests.browser.story import LESSON, Story
from tests.browser.test_first_paint import HOME
from tests.browser.test_without_a_mouse_or_scripts import contrast

Open = Callable[..., BrowserContext]
PHONE = {"width": 390, "height": 844}
SIDEWAYS = """() => [document.scrollingElement, ...document.querySelectorAll('main *')]
    .filter(one => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1)
    .filter(one => one === document.scrollingElement
        || ['auto', 'scroll'].includes(getComputedStyle(one).overflowX))
    .map(one => one.outerHTML.slice(0, 160))"""


@pytest.mark.parametrize(
    ("path", "table"), [("/memories", "#memories"), ("/receipts", "#rows"), ("/audit", "#rows")]
)
def test_a_list_needs_no_scrolling_sideways_and_stays_a_table(
    open_browser: Open, shop_told: Story, path: str, table: str
) -> None:
    page = open_browser(viewport=PHONE).new_page()
    page.goto(HOME + path)

    over = page.locator(table).evaluate(
        "one => one.parentElement.scrollWidth - one.parentElement.clientWidth"
    )
    assert over <= 0
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(1 + page.locator(f"{table} tbody tr").count())


def test_nothing_scrolls_sideways_on_any_page(
    open_browser: Open, shop: MemLift, shop_told: Story
) -> None:
    page = open_browser(viewport=PHONE).new_page()
    found: dict[str, list[str]] = {}
    for path in every_page(shop, shop_told):
        page.goto(HOME + path)
        # What is folded away is as wide as what is open.
        page.evaluate("document.querySelectorAll('main details').forEach(one => one.open = true)")
        if wide := page.evaluate(SIDEWAYS):
            found[path] = wide

    assert found == {}


def test_a_memory_has_its_weight_above_its_lesson(open_browser: Open, shop_told: Story) -> None:
    page = open_browser(viewport=PHONE).new_page()
    page.goto(f"{HOME}/memories?text=carrier")
    row = page.locator("#memories tbody tr", has_text=LESSON[:40])

    weight, lesson = (row.locator(part).bounding_box() for part in ("td.lead", "td.text"))
    assert weight is not None
    assert lesson is not None
    assert weight["y"] < lesson["y"]
    told = float(row.locator("td.lead").inner_text())
    assert told == pytest.approx(shop_told.fallen, abs=0.02)


@pytest.mark.parametrize("width", [PHONE["width"], 1440])
def test_a_menu_opens_within_the_screen_and_escape_closes_it(
    open_browser: Open, shop_told: Story, width: int
) -> None:
    page = open_browser(viewport={**PHONE, "width": width}).new_page()
    page.goto(f"{HOME}/")
    menus = page.get_by_role("navigation", name="Pages").locator("details")

    for place in range(menus.count()):
        menu = menus.nth(place)
        menu.locator("summary").click()
        for link in menu.get_by_role("link").all():
            # Playwright tries a click only where the link receives it: nothing cuts it off.
            link.click(trial=True)
            box = link.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        page.keyboard.press("Escape")
        expect(menu).not_to_have_attribute("open", "")
        expect(menu.locator("summary")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_the_overview_begins_with_stands_out(
    open_browser: Open, shop_told: Story, scheme: str
) -> None:
    page = open_browser(color_scheme=scheme).new_page()
    page.goto(f"{HOME}/")

    for selector in (".headline", "ol.bars a .count", "ol.bars .muted", "table.movers td.bad"):
        assert contrast(page, selector) >= 4.5, selector


def test_nothing_moves_for_who_wants_no_motion(open_browser: Open, shop_told: Story) -> None:
    page = open_browser(reduced_motion="reduce").new_page()
    page.goto(f"{HOME}/")

    moving = page.evaluate(
        "[...document.querySelectorAll('*')].filter(one => parseFloat("
        "getComputedStyle(one).transitionDuration) > 0.001).length"
    )
    assert moving == 0


def test_a_guideline_is_copied_as_it_was_sent(
    open_browser: Open, shop: MemLift, shop_told: Story
) -> None:
    context = open_browser()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    receipt = shop_told.receipts[0]
    page.goto(f"{HOME}/receipts/{receipt}")

    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()

    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == shop.get_retrieval(receipt).guideline.text
    assert LESSON in copied
