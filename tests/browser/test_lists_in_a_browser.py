"""Lists of more than a page: every match is reached once, and totals are the database's (P27)."""

from collections.abc import Callable

import psycopg
import pytest
from memlift_client import MemLift
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.story import BANK, MANY
from tests.browser.test_first_paint import total_of

LIST = f"/dashboard/ns/{BANK}/memories"


def shown_ids(page: Page) -> list[str]:
    links = page.locator("#memories tbody td.text a").evaluate_all(
        "links => links.map(link => link.pathname)"
    )
    return [link.rsplit("/", 1)[-1] for link in links]


def all_ids(page: Page) -> list[str]:
    """Of every page from this one on, as somebody who clicks Next sees them."""
    found = shown_ids(page)
    while (after := page.get_by_role("link", name="Next page")).count():
        after.click()
        page.wait_for_load_state()
        found += shown_ids(page)
    return found


def counted(database: "psycopg.Connection[tuple[int]]", where: str = "true") -> int:
    """By the database itself, as it is stored; rows are those of the namespace that is set."""
    database.execute(
        "SELECT set_config('memlift.namespace', id::text, false) FROM namespace WHERE slug = %s",
        [BANK],
    )
    asked = f"SELECT count(*) FROM memory WHERE erased_at IS NULL AND {where}"
    found = database.execute(asked).fetchone()  # pyright: ignore[reportArgumentType] - our own text
    assert found is not None
    return found[0]


def test_paging_shows_each_memory_exactly_once(page: Page, bank_ids: list[str]) -> None:
    page.goto(LIST)
    total = total_of(page)
    found = all_ids(page)

    assert len(found) == total == MANY
    assert set(found) == set(bank_ids)
    assert found == bank_ids[::-1]


def test_a_filter_finds_what_stands_past_the_first_page(page: Page, bank_ids: list[str]) -> None:
    page.goto(LIST)
    assert not set(bank_ids[:2]) & set(shown_ids(page))

    page.get_by_label("Status").select_option("suspended")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**status=suspended**")

    assert shown_ids(page) == bank_ids[1::-1]
    assert total_of(page) == 2


@pytest.mark.parametrize(
    ("label", "given", "places"),
    [
        ("Text in situation or lesson", "drawer 3 of", {3}),
        ("Weight to", "0.52", {0, 1, 2, 3, 4}),
    ],
)
def test_words_and_weights_are_sought_in_the_whole_bank(
    page: Page, bank_ids: list[str], label: str, given: str, places: set[int]
) -> None:
    page.goto(LIST)
    page.get_by_label(label).fill(given)
    page.get_by_role("button", name="Filter").click()
    page.wait_for_load_state()

    assert set(shown_ids(page)) == {bank_ids[place] for place in places}
    assert total_of(page) == len(places)


def test_a_filter_of_more_than_a_page_keeps_through_the_pages(
    page: Page, bank_ids: list[str]
) -> None:
    page.goto(LIST)
    page.get_by_label("Agent").select_option("right")
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**agent=right**")
    total = total_of(page)

    assert all_ids(page) == bank_ids[1::2][::-1]
    assert total == MANY // 2


def test_sorted_by_weight_the_order_is_that_of_the_api_over_all_pages(
    page: Page, bank: MemLift
) -> None:
    for order in ("asc", "desc"):
        page.goto(LIST)
        for _ in range(1 if order == "asc" else 2):
            page.locator("th a", has_text="Weight").click()
            page.wait_for_url("**sort=weight**")
        page.wait_for_url(f"**order={order}**")
        sorts = "ascending" if order == "asc" else "descending"
        expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", sorts)
        found = all_ids(page)

        rows = bank.each_memory(sort="weight", order=order)
        assert found == [row.id for row in rows]
        assert len(found) == MANY


def test_an_empty_answer_looks_other_than_an_empty_bank(page: Page, bank: MemLift) -> None:
    page.goto(f"{LIST}?text=no+such+words")
    expect(page.get_by_role("heading", name="No memory matches")).to_be_visible()

    page.goto("/dashboard/ns/default/memories")
    expect(page.get_by_role("heading", name="No memory is here yet")).to_be_visible()


def test_after_an_erasure_in_another_tab_totals_are_those_of_the_database(
    open_browser: Callable[..., BrowserContext],
    database: "psycopg.Connection[tuple[int]]",
    bank: MemLift,
) -> None:
    context = open_browser()
    here, there = context.new_page(), context.new_page()
    gone = [bank.remember(agent="left", situation=f"{word} lock", lesson=word).id for word in "ab"]
    here.goto(LIST)
    assert total_of(here) == MANY + 2 == counted(database)

    for memory_id in gone:
        there.goto(f"{LIST}/{memory_id}")
        there.get_by_role("button", name="Erase …").click()
        there.get_by_role("button", name="Yes: erase it for good").click()
        expect(there.get_by_role("status")).to_contain_text("Erased")

    here.get_by_role("link", name="Next page").click()
    here.wait_for_url("**cursor=**")
    assert total_of(here) == MANY == counted(database)
    rest = all_ids(here)
    here.goto(LIST)
    first = shown_ids(here)
    assert not set(first) & set(gone)
    assert counted(database, "status = 'suspended'") == 2
    assert len(set(first) | set(rest)) == MANY


def test_many_are_changed_at_once_after_a_review(page: Page, bank: MemLift) -> None:
    def suspended() -> int:
        return bank.list_memories(status="suspended", limit=1).total

    before = suspended()
    page.goto(LIST)
    for place in (0, 1, 2):
        page.locator("#memories tbody input[type=checkbox]").nth(place).check()
    changed = shown_ids(page)[:3]
    page.get_by_role("button", name="Review …").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Suspend 3 memories?")
    assert suspended() == before

    page.get_by_role("button", name="Yes: suspend them").click()
    expect(page.get_by_role("status")).to_have_text("3 memories were suspended.")
    assert suspended() == before + 3
    for memory_id in changed:
        bank.restore(memory_id)
