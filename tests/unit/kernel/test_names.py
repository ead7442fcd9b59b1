"""Names stand on one line of a terminal or a page: what acts there is no part of one."""

import pytest

from memory.kernel.errors import Rejected
from memory.kernel.text import cleaned_name, escape_controls, known_name
from memory.tasks.entities import AgentDraft, CategoryName
from memory.tenancy.entities import KeyDraft, Role

ACTING = [
    "nul\x00",
    "end\x1f",
    "\u2028start",
    "\x1b[31mred",
    "bell\x07",
    "two\nlines",
    "tab\tstop",
    "c1\x9b2J",
    "\u202edrawkcab",
]
WITH_MARKS = ["ops-bot", "Ünïcode", "שלום", "日本語", "a b", "\N{FAMILY}"]


@pytest.mark.parametrize("name", ACTING)
def test_a_name_that_acts_is_refused_where_it_is_made(name: str) -> None:
    for make in (
        lambda: cleaned_name(name, "name"),
        lambda: AgentDraft(name),
        lambda: KeyDraft(Role.OPERATOR, name),
        lambda: KeyDraft(Role.AGENT, "bot", "default", (name,)),
    ):
        with pytest.raises(Rejected, match=r"has the control character U\+[0-9A-F]{4}"):
            make()


@pytest.mark.parametrize("name", WITH_MARKS)
def test_names_of_every_script_are_names(name: str) -> None:
    assert cleaned_name(f" {name} ", "name") == name


@pytest.mark.parametrize("name", ["a\x00b", "\x00ab", "ab\x1c", "ab \x85 "])
def test_a_name_that_is_looked_up_is_no_other_for_what_is_dropped(name: str) -> None:
    for look in (lambda: known_name(name, "category"), lambda: CategoryName("a", name)):
        with pytest.raises(Rejected, match="category has the control character U"):
            look()


def test_an_older_name_with_a_control_character_is_still_found() -> None:
    assert known_name("two\nlines\n", "agent") == "two\nlines"


@pytest.mark.parametrize("name", ["\u200b", "\u200b\u200d \ufeff", "\u3164", "\u2800\ufe0f"])
def test_a_name_of_which_nothing_is_seen_is_refused(name: str) -> None:
    with pytest.raises(Rejected, match="category has invisible characters alone"):
        cleaned_name(name, "category")


def test_what_is_stored_already_is_written_by_its_number() -> None:
    assert escape_controls("\x1b[31m\u202ered\n") == r"\u{1b}[31m\u{202e}red\u{a}"
    assert escape_controls("one\ntwo\r", kept="\n") == "one\ntwo\\u{d}"
