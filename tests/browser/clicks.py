"""How far a stranger has to go from the overview: no story takes more than four clicks."""

import os
from pathlib import Path
from typing import Literal

from playwright.sync_api import Locator, Page

from clients.demo.screenshots import PHONE, SIZE, keep
from tests.browser.story import SHOP

# The folder for pictures of the stories, relative to where the tests run; none is drawn without it.
PICTURES = os.environ.get("STORY_PICTURES")
MOST = 4
Width = Literal[1440, 390]
WIDTHS: tuple[Width, ...] = (1440, 390)


class Clicks:
    """A mouse, or a thumb, that begins at the overview and counts; typing into a field is no
    click.
    """

    def __init__(self, page: Page, width: Width = 1440, slug: str = SHOP) -> None:
        self.page, self.n, self._width = page, 0, width
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

    def draw(self, name: str, top: Locator | None = None) -> None:
        """What is seen where the story ends, `top` first: on a desk in both themes, on a phone in
        one.
        """
        if PICTURES is None:
            return
        is_phone = self._width == PHONE["width"]
        self.page.set_viewport_size(PHONE if is_phone else SIZE)
        if top is not None:
            top.evaluate("one => one.scrollIntoView()")
        themes: tuple[Literal["light", "dark"], ...] = ("light",) if is_phone else ("light", "dark")
        for theme in themes:
            self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            end = "phone" if is_phone else theme
            keep(self.page, Path(PICTURES) / f"{name}-{end}.png")
