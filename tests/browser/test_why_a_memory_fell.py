"""The story of the how-to, step by step: find the memory that fell, see why, see the evidence, and
undo it, by correcting an outcome, by taking its source back, or by taking the memory out.
"""

import pytest
from memlift_client import MemLift
from playwright.sync_api import Page, expect

from server.dashboard.rendering import MINUS
from tests.acceptance.servers import Server
from tests.browser.story import LESSON, SHOP, Story
from tests.browser.test_weight_plot_in_a_browser import drawn

HOME = f"/dashboard/ns/{SHOP}"


def open_memory(page: Page, told: Story) -> None:
    page.goto(f"{HOME}/memories/{told.memory_id}")


def weight_on(page: Page) -> float:
    figure = page.locator(".figure", has_text="for no agent in particular").locator(".value")
    return float(figure.inner_text().split()[0])


def test_from_the_overview_the_weakest_memory_is_two_clicks_away(
    page: Page, shop_told: Story
) -> None:
    page.goto(HOME + "/")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Memories").click()
    page.locator("th a", has_text="Weight").click()
    page.wait_for_url("**sort=weight**")

    first = page.locator("#memories tbody tr").first
    expect(first).to_contain_text(LESSON[:40])
    first.locator("td.text a").click()
    expect(page.locator("#lesson")).to_have_text(LESSON)


def test_its_plot_and_ledger_say_when_and_why_it_fell(page: Page, shop_told: Story) -> None:
    assert shop_told.fallen < 0.8
    assert shop_told.risen > 1
    open_memory(page, shop_told)

    weights = drawn(page)[1]
    assert max(weights) == pytest.approx(shop_told.risen, abs=1e-3)
    assert weights[-1] == pytest.approx(shop_told.fallen, abs=1e-2)
    falls = [
        row
        for row in page.locator("#events tbody tr").all_inner_texts()
        if "\tpaired\t" in row and MINUS in row.partition("paired")[0]
    ]
    assert len(falls) == 6


def test_a_row_of_the_ledger_leads_to_the_outcome_that_moved_it(
    page: Page, shop_told: Story
) -> None:
    open_memory(page, shop_told)
    row = page.locator("#events tbody tr", has_text="paired").last
    row.get_by_role("link").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Receipt")
    effective = page.locator("table.outcomes tr[aria-current]")
    expect(effective).to_contain_text("in effect")
    expect(effective).to_contain_text("0.250")
    expect(effective).to_contain_text("0.750")


def test_its_episodes_lead_to_the_receipt_with_guideline_and_outcome(
    page: Page, shop_told: Story
) -> None:
    open_memory(page, shop_told)
    rows = page.locator("#episodes tbody tr")
    expect(rows).to_have_count(10)
    bad = rows.filter(has_text="sprinter")
    expect(bad).to_have_count(6)
    bad.first.get_by_role("link").first.click()

    expect(page.locator("blockquote")).to_contain_text("the carrier picked the parcel up")
    expect(page.locator("figure.guideline pre")).to_contain_text(LESSON)
    expect(page.locator("table.outcomes tr[aria-current]")).to_contain_text("in effect")


def test_the_record_by_agent_shows_for_whom_it_did_harm(page: Page, shop_told: Story) -> None:
    open_memory(page, shop_told)

    rows = {
        row.split("\t")[0]: row.split("\t")[3:7]
        for row in page.locator("#records tbody tr").all_inner_texts()
    }
    assert rows["sprinter"] == ["0.250", "6", "0.750", "6"]
    assert rows["clerk"] == ["0.800", "4", "0.500", "4"]


def test_taken_out_of_service_it_is_not_served_until_it_is_restored(
    page: Page, shop: MemLift, shop_told: Story
) -> None:
    open_memory(page, shop_told)
    page.locator("details.confirm > summary", has_text="Suspend").click()
    page.locator("details[open]").get_by_label("Reason").fill("under review")
    page.get_by_role("button", name="Yes: suspend").click()
    expect(page.get_by_role("status")).to_have_text("The memory was suspended.")
    expect(page.locator("main")).to_contain_text("under review")
    assert shop.get_memory(shop_told.memory_id).status == "suspended"

    page.locator("details.confirm > summary", has_text="Restore").click()
    page.get_by_role("button", name="Yes: restore").click()
    expect(page.get_by_role("status")).to_have_text("The memory was restored.")
    assert shop.get_memory(shop_told.memory_id).status == "active"


def test_a_corrected_outcome_gives_back_what_it_had_taken(
    page: Page, server: Server, shop: MemLift, shop_told: Story
) -> None:
    open_memory(page, shop_told)
    before = weight_on(page)
    page.goto(f"{HOME}/receipts/{shop_told.receipts[-1]}")
    page.locator("details.confirm > summary", has_text="Correct the outcome").click()
    form = page.locator("details[open] form")
    form.get_by_label("Reward, from 0 to 1").fill("0.9")
    form.get_by_label("Reward without memory").fill("0.5")
    form.get_by_label("Who found out").select_option("human")
    form.get_by_role("button", name="Yes: correct the outcome").click()
    expect(page.get_by_role("status")).to_contain_text("The outcome is stored: accepted")
    expect(page.locator("table.outcomes tbody tr")).to_have_count(2)

    server.until(lambda: not shop.list_outcomes(state="accepted", limit=1).total)
    open_memory(page, shop_told)
    assert weight_on(page) > before
    expect(page.locator("#events tbody tr", has_text="withdrawn")).not_to_have_count(0)


def test_what_taking_the_source_back_would_change_is_shown_before(
    page: Page, shop: MemLift, shop_told: Story
) -> None:
    before = shop.get_weight(shop_told.memory_id).effective_weight
    preview(page)

    expect(page.locator(".figure", has_text="Outcomes withdrawn")).to_contain_text("6")
    row = page.locator("tr", has_text=LESSON[:40])
    expect(row).to_contain_text(f"{before:.2f}"[:3])
    assert shop.get_weight(shop_told.memory_id).effective_weight == pytest.approx(before, abs=1e-3)


def test_the_source_taken_back_the_weight_is_what_it_was(page: Page, shop_told: Story) -> None:
    preview(page)
    page.get_by_role("button", name="Yes: withdraw it").click()
    expect(page.get_by_role("status")).to_contain_text("Withdrawn: 6 outcomes")

    open_memory(page, shop_told)
    assert weight_on(page) == pytest.approx(shop_told.risen, abs=0.01)
    expect(page.locator("#lesson")).to_have_text(LESSON)
    assert drawn(page)[1][-1] == pytest.approx(shop_told.risen, abs=0.01)


def preview(page: Page) -> None:
    page.goto(f"{HOME}/time-travel")
    section = page.locator("section[aria-labelledby=rollback]")
    section.get_by_label("Agent").fill("sprinter")
    section.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Preview of a rollback")
