"""A page explains a word as the glossary does."""

import re
from pathlib import Path

import pytest

from server.dashboard.terms import TERMS

GLOSSARY = Path(__file__).parents[2] / "docs" / "reference" / "glossary.md"
ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)


def glossary() -> dict[str, str]:
    """Each word with its meaning; several words on a line share it."""
    meanings: dict[str, str] = {}
    for words, meaning in ROW.findall(GLOSSARY.read_text(encoding="utf-8").replace("†", "")):
        for word in re.sub(r"\(.*?\)", "", words).split(","):
            meanings.setdefault(word.strip(), meaning)
    return meanings


@pytest.mark.parametrize("term", sorted(TERMS))
def test_a_term_says_what_the_glossary_says(term):
    assert TERMS[term] == glossary()[term]
