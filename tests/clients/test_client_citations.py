"""Which of the served memories a text cites."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest
from memlift_client import cited

from memory.receipts.guideline_entities import Guideline as ServersGuideline
from memory.receipts.guideline_entities import Line

# The client in TypeScript is held to the same.
SHARED = json.loads(Path(__file__).with_name("citations.json").read_text(encoding="utf-8"))
ONE, TWO = (SHARED["citations"][label] for label in ("m1", "m2"))


@dataclass(frozen=True)
class AGuideline:
    citations: Mapping[str, str]


@dataclass(frozen=True)
class ARetrieval:
    guideline: AGuideline = field(default_factory=lambda: AGuideline(SHARED["citations"]))


@pytest.mark.parametrize(("text", "found"), [*SHARED["cases"], ("[" * 50_000 + "m1]", [ONE])])
def test_a_text_cites_what_the_guideline_maps(text, found):
    assert cited(text, ARetrieval()) == found


def test_it_goes_by_the_mapping_whatever_the_form_of_a_citation():
    served = ARetrieval(AGuideline({"m:01900000": ONE, "note-7": TWO}))

    assert cited("As [m:01900000] and [note-7] say, not [m1].", served) == [ONE, TWO]


def test_the_servers_own_lines_are_read_back():
    lines = (Line("- by bo: «start low» [m1] [m2]", (UUID(ONE), UUID(TWO))),)
    guideline = ServersGuideline("text", lines, 3, "words", ())
    shown = AGuideline({label: str(one) for label, one in guideline.citations.items()})

    assert cited("I did as [m2] says.", ARetrieval(shown)) == [TWO]
