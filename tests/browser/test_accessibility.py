"""axe-core finds nothing serious on any page: by day, by night, on wide and on narrow screens."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from memlift_client import MemLift
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.pages import every_page
from tests.browser.story import SHOP, Story

Open = Callable[..., BrowserContext]
HOME = f"/dashboard/ns/{SHOP}"
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
HOW = "the accessibility tests need axe-core: npm ci --prefix tests/browser"
UNNAMED = """[...document.querySelectorAll('table')]
    .filter(one => !one.closest('[role=img]'))
    .filter(one => !one.caption || !one.caption.textContent.trim()
        || [...one.querySelectorAll('th')].some(th => !th.scope))
    .map(one => one.outerHTML.slice(0, 200))"""
GRAVE = {"serious", "critical"}


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.exists():
        assert "CI" not in os.environ, HOW
        pytest.skip(HOW)
    return AXE.read_text(encoding="utf-8")


def grave_faults(page: Page, axe: str) -> list[str]:
    """What axe finds, with where it stands."""
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page(
    open_browser: Open, shop: MemLift, shop_told: Story, axe: str, scheme: str, width: int
) -> None:
    context = open_browser(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    found: dict[str, list[str]] = {}
    for path in every_page(shop, shop_told):
        page.goto(HOME + path)
        if faults := grave_faults(page, axe):
            found[path] = faults

    assert found == {}


def test_every_table_says_what_it_is_and_whose_title_each_title_is(
    page: Page, shop: MemLift, shop_told: Story
) -> None:
    found: dict[str, list[str]] = {}
    for path in every_page(shop, shop_told):
        page.goto(HOME + path)
        if unnamed := page.evaluate(UNNAMED):
            found[path] = unnamed

    assert found == {}
    page.goto(HOME + "/")
    expect(page.get_by_role("table", name="What memory did, by agent and category")).to_be_visible()


def test_axe_finds_nothing_serious_before_the_login_and_on_an_empty_namespace(
    open_browser: Open, shop_told: Story, axe: str
) -> None:
    for key, path in ((None, "/dashboard/login"), ("operator", "/dashboard/ns/default/")):
        context = open_browser(None) if key is None else open_browser()
        page = context.new_page()
        page.goto(path)
        assert grave_faults(page, axe) == []


def test_axe_finds_nothing_serious_in_the_sheet_of_shortcuts(
    page: Page, shop_told: Story, axe: str
) -> None:
    page.goto(HOME + "/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()

    assert grave_faults(page, axe) == []
