"""How far a stranger has to go from the overview: no story takes more than four clicks."""

from typing import Literal

from playwright.sync_api import Locator, Page

from tests.browser.story import SHOP

MOST = 4
Width = Literal[1440, 390]
WIDTHS: tuple[Width, ...] = (1440, 390)


class Clicks:
    """A mouse, or a thumb, that begins at the overview and counts; typing into a field is no
    click.
    """

    def __init__(self, page: Page, width: Width = 1440, slug: str = SHOP) -> None:
        self.page, self.n = page, 0
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"/dashboard/ns/{slug}/")

    def on(self, place: Locator) -> None:
        self.n += 1
        assert self.n <= MOST
        place.click()

    def on_question(self, words: str) -> None:
        """One of those that the overview answers by a link."""
        questions = self.page.get_by_role("navigation", name="What would you like to know?")
        self.on(questions.get_by_role("link", name=words, exact=True))

    def on_alert(self, name: str) -> None:
        """What an alert of the overview offers to do."""
        self.on(self.page.locator(f"#alert-{name}").get_by_role("link"))

    def on_button(self, name: str) -> None:
        self.on(self.page.get_by_role("button", name=name, exact=True))
