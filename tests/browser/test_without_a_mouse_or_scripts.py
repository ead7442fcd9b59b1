"""Pages work without scripts, from the keyboard, by day and by night, and on a narrow screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from server.dashboard.navigation import NAVIGATION
from tests.browser.story import BANK, MANY, SHOP, Story
from tests.browser.test_first_paint import HEADINGS, HOME, total_of
from tests.browser.test_lists_in_a_browser import LIST, all_ids

Open = Callable[..., BrowserContext]


def test_without_scripts_tables_pages_and_filters_work(
    open_browser: Open, bank_ids: list[str]
) -> None:
    page = open_browser(java_script_enabled=False).new_page()
    page.goto(LIST)
    assert total_of(page) == MANY
    page.get_by_role("link", name="Next page").click()
    expect(page.get_by_role("link", name="First page")).to_be_visible()
    page.get_by_label("Status").select_option("suspended")
    page.get_by_role("button", name="Filter").click()

    expect(page.locator("#memories tbody tr")).to_have_count(2)
    expect(page.get_by_role("button", name="Dark")).to_be_hidden()


def test_without_scripts_a_memory_shows_its_ledger_and_can_be_suspended_and_restored(
    open_browser: Open, shop_told: Story
) -> None:
    page = open_browser(java_script_enabled=False).new_page()
    page.goto(f"{HOME}/memories/{shop_told.hostile_id}")
    expect(page.locator("#events tbody tr")).not_to_have_count(0)

    for word, said in (("Suspend", "suspended"), ("Restore", "restored")):
        page.locator("details.confirm > summary", has_text=word).click()
        page.get_by_role("button", name=f"Yes: {word.lower()}").click()
        expect(page.get_by_role("status")).to_have_text(f"The memory was {said}.")


def focused(page: Page) -> str:
    return page.evaluate(
        "(() => { const one = document.activeElement;"
        " return one.closest('table') ? 'table' : (one.id || one.innerText || one.tagName); })()"
    )


def test_the_first_key_press_offers_to_skip_to_the_content(page: Page, bank_ids: list[str]) -> None:
    page.goto(LIST)
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to content"
    expect(page.get_by_role("link", name="Skip to content")).to_be_in_viewport()

    page.keyboard.press("Enter")

    assert focused(page) == "content"


def test_from_the_content_the_tab_key_reaches_the_table(page: Page, bank_ids: list[str]) -> None:
    page.goto(LIST)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    passed = [_tabbed(page) for _ in range(40)]

    assert "table" in passed
    page.locator("th a", has_text="Weight").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**sort=weight**")
    assert len(all_ids(page)) == MANY


def _tabbed(page: Page) -> str:
    page.keyboard.press("Tab")
    return focused(page)


def contrast(page: Page, selector: str) -> float:
    """Of a text with what is behind it, as the accessibility guidelines reckon it."""
    return page.locator(selector).first.evaluate(
        """one => {
          const parts = c => c.match(/[\\d.]+/g).slice(0, 4).map(Number);
          const bright = c => parts(c).slice(0, 3).map(v => v / 255)
            .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
          let behind = one, ground = 'rgba(0,0,0,0)';
          while (behind && parts(ground)[3] === 0) {
            ground = getComputedStyle(behind).backgroundColor; behind = behind.parentElement;
          }
          const [a, b] = [bright(getComputedStyle(one).color), bright(ground)];
          return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        }"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_systems_theme_holds_and_texts_stand_out(
    open_browser: Open, shop_told: Story, scheme: str
) -> None:
    page = open_browser(color_scheme=scheme).new_page()
    page.goto(f"{HOME}/memories/{shop_told.memory_id}")

    ground = page.locator("html").evaluate("one => getComputedStyle(one).backgroundColor")
    dark = sum(int(part) for part in ground.split("(")[1].rstrip(")").split(",")[:3]) < 200
    assert dark == (scheme == "dark")
    for selector in ("h1", "p.muted", ".badge.good", "main a", "td", ".figure .notes"):
        assert contrast(page, selector) >= 4.5, selector


def test_the_chosen_theme_is_kept_from_page_to_page(open_browser: Open, shop_told: Story) -> None:
    page = open_browser(color_scheme="light").new_page()
    page.goto(HOME + "/")
    page.get_by_role("button", name="Dark").click()
    page.goto(HOME + "/memories")

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_role("button", name="Light")).to_be_visible()


@pytest.mark.parametrize("width", [360, 1280])
def test_no_page_is_wider_than_its_window(open_browser: Open, shop_told: Story, width: int) -> None:
    page = open_browser(viewport={"width": width, "height": 800}).new_page()
    wider: dict[str, int] = {}
    for path in dict.fromkeys([*HEADINGS, *(entry.path for entry in NAVIGATION)]):
        page.goto(HOME + path)
        if (over := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
            wider[path] = over

    assert wider == {}


def test_the_namespace_is_switched_from_the_header(
    page: Page, bank_ids: list[str], shop_told: Story
) -> None:
    page.goto(f"/dashboard/ns/{BANK}/")
    page.locator("details.switch > summary").click()
    page.get_by_role("link", name=SHOP, exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Overview of {SHOP}")
