"""Stored text on a page: it does nothing, and hides nothing."""

import re

from dashboard_builders import Markup
from hypothesis import given
from hypothesis import strategies as st
from loop_pages import HOSTILE

from server.dashboard.stored import brief, stored


def test_markup_is_characters():
    assert "<script" not in stored(HOSTILE)
    assert [tag for tag, _ in Markup(stored(HOSTILE)).tags] == ["bdi", "span", "span", "span"]


def test_what_is_invisible_is_shown_by_its_code():
    said = Markup(stored("ignore\u200b rules \u202edrawkcab\u3164\U000e0041")).said()

    assert said == "ignore U+200B rules U+202E drawkcab U+3164 U+E0041"


def test_an_emoji_stays_whole():
    picture = "\U0001f469\u200d\U0001f680 \u2764\ufe0f"

    assert "U+" not in stored(picture)
    assert picture in stored(picture)


def test_a_joiner_among_letters_is_shown():
    assert "U+200D" in stored("pass\u200dword")


def test_lines_and_tabs_stay():
    assert "one\n\ttwo" in stored("one\n\ttwo")


def test_what_is_brief_is_one_line_and_no_longer_than_told():
    assert Markup(brief("one\n two", 80)).said() == "one two"
    assert Markup(brief("x" * 300, 10)).said() == "xxxxxxxxx…"


def test_nothing_is_shown_of_nothing():
    assert (stored(None), brief(None)) == ("", "")


@given(st.text(max_size=60))
def test_whatever_is_stored_adds_no_tag_of_its_own(text):
    tags = [tag for tag, _ in Markup(stored(text)).tags]

    assert tags[0] == "bdi"
    assert set(tags[1:]) <= {"span"}
    assert not re.search("[\u200b\u202a-\u202e\u2066-\u2069\u3164]", stored(text))
