"""Tables of the dashboard, as somebody hears them."""

import re

import pytest

from server.dashboard.rendering import TEMPLATES

TABLE = re.compile(r"<table\b[^>]*>(.{0,20})", re.DOTALL)
TITLE = re.compile(r"<th\b([^>]*)>")
PAGES = sorted(TEMPLATES.glob("*.html"))


@pytest.mark.parametrize("template", PAGES, ids=[one.stem for one in PAGES])
def test_a_table_begins_with_what_it_shows_and_its_titles_say_what_they_head(template):
    text = template.read_text(encoding="utf-8")
    assert all("caption(" in begins for begins in TABLE.findall(text))
    assert all("scope=" in attributes for attributes in TITLE.findall(text))
