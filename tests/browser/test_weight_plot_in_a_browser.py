"""The plot of a weight has the points of the ledger, and can be read without a mouse."""

import pytest
from memlift_client import MemLift
from playwright.sync_api import Page, expect

from tests.browser.story import SHOP, Story


@pytest.fixture
def memory_page(page: Page, shop_told: Story) -> Page:
    page.goto(f"/dashboard/ns/{SHOP}/memories/{shop_told.memory_id}")
    return page


def drawn(page: Page) -> list[list[float]]:
    """What uPlot was given: times and weights; behind them stand the edges of the band."""
    return page.locator("[data-plot]").evaluate(
        "element => element.plot.data.slice(0, 2).map(c => [...c])"
    )


def test_the_points_are_the_events_of_the_ledger_and_then_the_weight_of_now(
    memory_page: Page, shop: MemLift, shop_told: Story
) -> None:
    times, weights = drawn(memory_page)

    events = [
        event
        for event in shop.each_weight_event(shop_told.memory_id)
        if event.weight_after is not None
    ]
    assert weights[:-1] == pytest.approx([event.weight_after for event in events])
    assert times[:-1] == pytest.approx([event.known_at.timestamp() for event in events], abs=1)
    now = shop.get_weight(shop_told.memory_id).effective_weight
    assert weights[-1] == pytest.approx(now, abs=1e-3)
    assert times == sorted(times)


def test_the_plot_has_a_size_and_is_drawn_in_ink(memory_page: Page) -> None:
    canvas = memory_page.locator("[data-plot] canvas")
    expect(canvas).to_have_count(1)

    box = canvas.bounding_box()
    inked = canvas.evaluate(
        "one => one.getContext('2d').getImageData(0, 0, one.width, one.height).data"
        ".filter((value, place) => place % 4 === 3 && value > 0).length"
    )
    assert box is not None
    assert box["width"] > 600
    assert inked > 1_000


def test_the_arrow_keys_read_each_point_with_its_reason(
    memory_page: Page, shop: MemLift, shop_told: Story
) -> None:
    first, *_ = shop.each_weight_event(shop_told.memory_id)
    plot = memory_page.locator("[data-plot]")
    plot.focus()

    memory_page.keyboard.press("ArrowRight")

    assert first.weight_after is not None
    note = memory_page.locator(".plot-note")
    expect(note).to_contain_text(first.reason)
    expect(note).to_contain_text(f"{first.weight_after:.3f}")
    memory_page.keyboard.press("ArrowLeft")
    expect(note).to_contain_text(first.reason)
    for _ in drawn(memory_page)[0]:
        memory_page.keyboard.press("ArrowRight")
    expect(note).to_contain_text("now, aged")


def test_the_table_below_the_plot_has_the_same_numbers(memory_page: Page) -> None:
    weights = drawn(memory_page)[1]

    # What ageing wrote down is folded, in a table of its own.
    moved, aged = (
        memory_page.locator(f"{table} tbody tr").evaluate_all(
            "(rows, column) => rows.map(row => row.cells[column].textContent.trim())", column
        )
        for table, column in (("#events", 0), ("#aged", 2))
    )
    said = sorted(weight for weight in (*moved, *aged) if weight)
    assert said == sorted(f"{weight:.3f}" for weight in weights[:-1])


def test_the_theme_redraws_the_plot_with_the_same_points(memory_page: Page) -> None:
    before = drawn(memory_page)

    memory_page.get_by_role("button", name="Dark").click()

    expect(memory_page.locator("html")).to_have_attribute("data-theme", "dark")
    assert drawn(memory_page) == before
    expect(memory_page.locator("[data-plot] canvas")).to_have_count(1)
