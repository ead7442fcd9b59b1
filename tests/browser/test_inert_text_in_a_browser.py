"""What somebody stored is shown and does nothing, on whatever page it appears (P20)."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.story import SHOP, Story

HOME = f"/dashboard/ns/{SHOP}"
SAID = "<script>document.title = 'taken over'</script> ![pixel](https://elsewhere.test/p.png)"


def assert_inert(page: Page) -> None:
    """Requests to elsewhere fail the test at its end, by the fixture `watched`."""
    body = page.locator("main")
    expect(body).to_contain_text(SAID)
    expect(body.locator("script, img, iframe")).to_have_count(0)
    assert "MemLift" in page.title()
    assert "taken over" not in page.title()


@pytest.mark.parametrize("query", ["?category=books&text=pixel", "?text=%3Cscript%3E"])
def test_in_the_list_of_memories_it_is_text(page: Page, shop_told: Story, query: str) -> None:
    page.goto(f"{HOME}/memories{query}")

    assert_inert(page)


def test_on_its_own_page_it_is_text_whole_emoji_and_all(page: Page, shop_told: Story) -> None:
    page.goto(f"{HOME}/memories/{shop_told.hostile_id}")

    assert_inert(page)
    expect(page.locator("#lesson")).to_contain_text("\U0001f469\u200d\U0001f680")
    expect(page.locator("#lesson")).to_contain_text("שלום")


def test_what_turns_the_direction_of_text_is_shown_and_turns_nothing(
    page: Page, shop_told: Story
) -> None:
    page.goto(f"{HOME}/memories/{shop_told.hostile_id}")

    expect(page.locator("#lesson .unseen", has_text="U+202E")).to_be_visible()
    isolates = page.locator("#lesson").evaluate("one => getComputedStyle(one).unicodeBidi")
    assert isolates in ("isolate", "plaintext")


def test_in_the_playground_it_is_text(page: Page, shop_told: Story) -> None:
    page.goto(f"{HOME}/playground")
    page.get_by_label("Task, in the agent's own words").fill(SAID)
    page.get_by_label("Agent", exact=True).fill("clerk")
    page.get_by_role("button", name="Try it").click()

    expect(page.get_by_role("heading", name="What clerk would get")).to_be_visible()
    assert_inert(page)


def test_typed_back_into_a_form_it_stays_in_its_field(page: Page, shop_told: Story) -> None:
    page.goto(f"{HOME}/memories?text=%22%3E%3Cscript%3Edocument.title%3D1%3C/script%3E")

    field = page.get_by_label("Text in situation or lesson")
    expect(field).to_have_value('"><script>document.title=1</script>')
    expect(page.locator("main script")).to_have_count(0)
