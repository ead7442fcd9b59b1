"""Every page's first paint: its heading, and totals that are those of the API."""

import re
from collections.abc import Callable

import pytest
from memlift_client import MemLift
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.story import MANY, SHOP, Story

HOME = f"/dashboard/ns/{SHOP}"
HEADINGS = {
    "/": f"Overview of {SHOP}",
    "/memories": f"Memories of {SHOP}",
    "/playground": "Playground",
    "/receipts": "Receipts",
    "/receipts/outcomes": "Outcomes",
    "/candidates": "Candidates",
    "/constraints": "Constraints",
    "/contradictions": "Contradictions",
    "/jobs": f"Jobs of {SHOP}",
    "/time-travel": f"Time travel in {SHOP}",
    "/keys": "Keys",
    "/webhooks": f"Webhooks of {SHOP}",
}
TOTAL = re.compile(r"([\d,]+) \w+ in all")


def total_of(page: Page) -> int:
    """How many there are in all, by the line under the table."""
    found = TOTAL.search(page.locator(".pager").first.inner_text())
    assert found is not None
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("path", HEADINGS)
def test_a_page_has_its_heading_and_is_marked_in_the_navigation(
    page: Page, shop_told: Story, path: str
) -> None:
    page.goto(HOME + path)

    expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS[path])
    expect(page.locator("header nav a[aria-current=page]")).to_have_count(1)


TOTALS: dict[str, Callable[[MemLift], int]] = {
    "/memories": lambda shop: shop.list_memories(limit=1).total,
    "/receipts": lambda shop: shop.list_retrievals(state="all", limit=1).total,
    "/receipts/outcomes": lambda shop: shop.list_outcomes(limit=1).total,
    "/candidates": lambda shop: shop.list_tickets(limit=1).total,
    "/constraints": lambda shop: shop.list_constraints(limit=1).total,
    "/contradictions": lambda shop: shop.list_contradictions(state="all", limit=1).total,
}


@pytest.mark.parametrize("path", TOTALS)
def test_the_total_under_a_table_is_that_of_the_api(page: Page, shop: MemLift, path: str) -> None:
    page.goto(HOME + path)

    assert total_of(page) == TOTALS[path](shop) > 0


def test_the_overview_tells_the_lift_of_each_cell_as_the_api_does(
    page: Page, shop: MemLift
) -> None:
    page.goto(HOME + "/")

    rows = page.locator("section[aria-labelledby=lift] tbody tr")
    effects = shop.effect()
    expect(rows).to_have_count(len(effects))
    told = {row.split("\t")[0] for row in rows.all_inner_texts()}
    assert told == {effect.agent for effect in effects} > {"sprinter"}


def test_the_overview_counts_the_living_memories(page: Page, shop: MemLift) -> None:
    page.goto(HOME + "/")

    figure = page.locator(".figure", has_text="Living memories").locator(".value")
    living = [
        memory for memory in shop.each_memory() if memory.status not in ("retired", "rejected")
    ]
    expect(figure).to_have_text(f"{len(living)} memories")


def test_the_overview_counts_the_living_memories_of_a_bank_of_more_than_a_page(
    page: Page, bank: MemLift
) -> None:
    page.goto("/dashboard/ns/bank/")

    figure = page.locator(".figure", has_text="Living memories").locator(".value")
    expect(figure).to_have_text(f"{MANY} memories")


def test_a_reader_sees_the_pages_and_no_button_that_changes_anything(
    open_browser: Callable[..., BrowserContext], shop: MemLift
) -> None:
    token = shop.create_key(role="reader", name="a reader", namespace=SHOP).token
    page = open_browser(token).new_page()

    for path in ("/", "/memories", "/receipts", "/candidates", "/jobs", "/time-travel"):
        page.goto(HOME + path)
        expect(page.get_by_role("heading", level=1)).to_have_text(HEADINGS[path])
        actions = page.locator("form[method=post]").evaluate_all(
            "forms => forms.map(form => new URL(form.action).pathname)"
        )
        assert actions == ["/dashboard/logout"]


def test_a_namespace_without_memories_explains_how_they_come(page: Page, shop: MemLift) -> None:
    page.goto("/dashboard/ns/default/")

    expect(page.get_by_role("heading", name="Nothing is here yet")).to_be_visible()
    expect(page.locator("ol pre")).to_have_count(3)


def test_a_term_shows_its_line_of_the_glossary_on_focus(page: Page, shop_told: Story) -> None:
    page.goto(HOME + "/")
    term = page.locator(".term", has_text="Lift").first
    expect(term.locator(".tip")).to_be_hidden()

    term.focus()

    expect(term.locator(".tip")).to_be_visible()
