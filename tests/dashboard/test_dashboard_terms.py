"""A page explains a word as the glossary does."""

import re
from pathlib import Path

import pytest

from server.dashboard.terms import COLUMNS, EXPLAINED, TERMS
from server.dashboard.terms import GLOSSARY as GLOSSARY_TERMS

GLOSSARY = Path(__file__).parents[2] / "docs" / "reference" / "glossary.md"
TEMPLATES = Path(__file__).parents[2] / "server" / "dashboard" / "templates"
ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)


def glossary() -> dict[str, str]:
    """Each word with its meaning; several words on a line share it."""
    meanings: dict[str, str] = {}
    for words, meaning in ROW.findall(GLOSSARY.read_text(encoding="utf-8")):
        for word in re.sub(r"\(.*?\)", "", words).split(","):
            meanings.setdefault(word.strip(), meaning)
    return meanings


@pytest.mark.parametrize("term", sorted(GLOSSARY_TERMS))
def test_a_term_says_what_the_glossary_says(term: str) -> None:
    assert TERMS[term] == glossary()[term]


def test_what_the_glossary_does_not_explain_is_the_name_of_a_column_or_figure() -> None:
    assert set(TERMS) - set(glossary()) == set(COLUMNS)


def test_every_word_that_a_page_explains_has_its_line() -> None:
    pages = "".join(page.read_text() for page in TEMPLATES.glob("*.html"))
    explained = re.findall(r'(?:\bterm\(|term_name=)"([^"]+)"', pages)
    assert explained
    assert set(explained) - set(TERMS) == set()


def test_at_most_25_words_are_marked_for_explanation() -> None:
    assert len(EXPLAINED) <= 25
    assert set(TERMS) >= EXPLAINED
