"""What an operator wants to know in the morning is four clicks from the overview at most.

Is memory helping? What changed since yesterday? Why did this agent get this advice? Why did this
memory fall, and how is that undone?
"""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.clicks import MOST, WIDTHS, Clicks, Width
from tests.browser.story import LESSON, Story

LATELY = re.compile(r"weight lately: from \d\.\d\d to \d\.\d\d")
WIDE_AND_NARROW = pytest.mark.parametrize("width", WIDTHS)


@WIDE_AND_NARROW
def test_whether_memory_helps_is_said_at_once_and_shown_over_time_with_its_numbers(
    page: Page, shop_told: Story, width: Width
) -> None:
    clicks = Clicks(page, width)
    expect(page.locator("#verdict ~ .verdict .headline")).to_contain_text("memory")
    expect(page.get_by_role("heading", name="Lift over time")).to_be_visible()
    # All of it happened on one day: that there is nothing to draw yet is said.
    expect(page.locator("section[aria-labelledby=over-time]")).to_contain_text(
        "a point needs ten dates"
    )
    clicks.draw("is-it-helping")
    assert clicks.n == 0


@WIDE_AND_NARROW
def test_what_changed_since_yesterday_leads_to_the_memory_and_the_outcome_behind_it(
    page: Page, shop_told: Story, width: Width
) -> None:
    clicks = Clicks(page, width)
    moved = page.locator("section[aria-labelledby=movers]")
    row = moved.locator("table").first.locator("tbody tr", has_text=LESSON[:40])
    expect(row.locator("svg.spark")).to_have_attribute("aria-label", LATELY)
    clicks.draw("what-changed", moved)
    clicks.on(row.get_by_role("link"))
    expect(page.locator("#trajectory")).to_be_visible()
    clicks.on(page.locator("#events tbody tr", has_text="paired").last.get_by_role("link"))
    expect(page.locator("#moved-weights")).to_contain_text(LESSON[:40])
    assert clicks.n == 2


@WIDE_AND_NARROW
def test_why_an_agent_got_its_advice_is_found_by_words_of_its_task(
    page: Page, shop_told: Story, width: Width
) -> None:
    clicks = Clicks(page, width)
    clicks.on_question("Why did an agent get this advice?")
    page.get_by_label("Words of the task").fill("parcel 112")
    page.get_by_label("Agent").select_option("sprinter")
    clicks.on(page.get_by_role("button", name="Filter"))
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    clicks.on(page.locator("#rows tbody tr").get_by_role("link"))

    expect(page.locator("blockquote")).to_contain_text("Cancel order 112")
    expect(page.locator("ol.trace")).to_contain_text("1 served")
    expect(page.locator("section[aria-labelledby=memories]")).to_contain_text("similarity")
    expect(page.locator("figure.guideline pre")).to_contain_text(LESSON)
    expect(page.locator("table.waterfall tbody tr")).to_have_count(3)
    clicks.draw("why-this-advice")
    assert clicks.n == 3


@WIDE_AND_NARROW
def test_why_a_memory_fell_and_what_undoing_it_takes(
    page: Page, shop_told: Story, width: Width
) -> None:
    clicks = Clicks(page, width)
    row = page.locator("section[aria-labelledby=movers] tbody tr", has_text=LESSON[:40]).first
    clicks.on(row.get_by_role("link"))
    clicks.on(page.locator("#events tbody tr", has_text="paired").last.get_by_role("link"))
    expect(page.locator(".verdict.bad .headline")).to_contain_text("without memory")
    clicks.on(page.locator("details.confirm > summary", has_text="Correct the outcome"))
    form = page.locator("details[open] form")
    expect(form).to_contain_text("What the corrected one had moved is withdrawn.")
    # One click more does it; test_why_a_memory_fell.py does, and sees the weight come back.
    expect(form.get_by_role("button", name="Yes: correct the outcome")).to_be_visible()
    clicks.draw("why-it-fell", page.locator("#outcomes"))
    assert clicks.n == MOST - 1
