"""Entries and counters, valid by default."""

import re
from datetime import UTC, datetime
from uuid import UUID

from memory.guidelines.compiler import Budget, compile_guideline
from memory.guidelines.entities import Directives, Entry, Guidance
from memory.guidelines.wording import Framing
from memory.memories.entities import Trust
from memory.receipts.guideline_entities import Format


class WordCounter:
    """Counts words: enough to see budgets kept."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


class ByteCounter:
    """Counts UTF-8 bytes, as a tokenizer does with what it does not know."""

    name = "bytes"

    def count(self, text: str) -> int:
        return len(text.encode())


class JoiningCounter:
    """Charges for every pair of lines: a text costs more than the sum of its parts."""

    name = "joining"

    def count(self, text: str) -> int:
        lines = text.strip().count("\n") + 1
        return len(re.findall(r"\w+", text)) + lines * (lines - 1)


def an_entry(number: int = 1, **changes: object) -> Entry:
    fields: dict[str, object] = {
        "id": UUID(int=number),
        "kind": "experience",
        "situation": f"situation {number}",
        "lesson": f"lesson {number}",
        "author": "a2",
        "score": 0.5,
        "effective_weight": 1.0,
        "trust": Trust.TRUSTED,
        "learned_at": datetime(2025, 6, 1, tzinfo=UTC),
    }
    return Entry(**{**fields, **changes})


def compiled(entries, max_tokens=32_000, counter=None, **framing):
    """In the format for people, which says all there is, unless another is asked for."""
    budget = Budget(max_tokens, counter or WordCounter())
    return compile_guideline(entries, budget, Framing(**{"format": Format.FULL, **framing}))


def briefly(entries, max_tokens=32_000, counter=None, **framing):
    """As an agent gets it."""
    return compiled(entries, max_tokens, counter, format=Format.BRIEF, **framing)


def a_guidance(**changes: object) -> Guidance:
    fields: dict[str, object] = {
        "id": UUID(int=0xFEED),
        "instruction": "check that a note fits",
        "author": "memlift",
        "effective_weight": 0.8,
        "trust": Trust.TRUSTED,
        "learned_at": datetime(2025, 6, 1, tzinfo=UTC),
        "directives": Directives(),
        "category": "weather",
    }
    return Guidance(**{**fields, **changes})


def guided(entries, max_tokens=32_000, counter=None, **directives):
    budget = Budget(max_tokens, counter or WordCounter())
    guidance = a_guidance(directives=Directives(**directives))
    return compile_guideline(entries, budget, Framing(format=Format.FULL), guidance)
