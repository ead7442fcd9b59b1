"""From whatever a forecaster wrote to a probability for each outcome.

Much is forgiven: prose or a fence around the object, a single `p_yes`, percentages, numbers as
text, another case, names nobody asked for; and where exactly one outcome comes true, one that is
missing, and a sum that is not 1. What cannot be understood is refused, never guessed.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import cast

from clients.prophet.event import Event, folded
from clients.prophet.forecaster import Answer, NoAnswer

ROUNDING = 0.01
MAX_TEXT = 10_000
MAX_RATIONALE = 4_000
SHOWN = 80

Document = Mapping[str, object]


def read_text(text: str, event: Event) -> Answer:
    """The first object in the text that answers the event. Raises NoAnswer."""
    refused = NoAnswer(f"no JSON object in {text[:SHOWN]!r}")
    for document in _objects(text[:MAX_TEXT]):
        try:
            return read_document(document, event)
        except NoAnswer as fault:
            refused = fault
    raise refused


def read_document(document: Document, event: Event) -> Answer:
    """Raises NoAnswer."""
    given = document.get("probabilities")
    named = _named(cast("Document", given) if isinstance(given, Mapping) else document, event)
    if not named and "p_yes" in document:
        named = {event.affirmative: _number(document["p_yes"], "p_yes")}
    rationale = document.get("rationale")
    said = rationale if isinstance(rationale, str) else ""
    return Answer(_whole(named, event), said[:MAX_RATIONALE])


def _objects(text: str) -> Iterator[Document]:
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield cast("Document", found)
        start = text.find("{", end)


def _named(given: Document, event: Event) -> dict[str, float]:
    found = {folded(name): value for name, value in given.items()}
    return {
        name: _number(found[folded(name)], name) for name in event.outcomes if folded(name) in found
    }


def _number(value: object, name: str) -> float:
    number = _percentage(value) if isinstance(value, str) else value
    # The range is checked before the conversion: an integer may be too large for a float.
    if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= 1:
        return math.fabs(float(number))
    raise NoAnswer(f"{name} is no probability: {str(value)[:SHOWN]}")


def _percentage(text: str) -> float | None:
    bare = text.strip()
    try:
        return float(bare.removesuffix("%")) / (100 if bare.endswith("%") else 1)
    except ValueError:
        return None


def _whole(named: dict[str, float], event: Event) -> dict[str, float]:
    """With the one outcome that was left out, where the others leave only one value for it."""
    missing = [name for name in event.outcomes if name not in named]
    left = 1 - math.fsum(named.values())
    if len(missing) == 1 and named and event.exclusive and left >= 0:
        named = {**named, missing[0]: left}
    elif missing:
        raise NoAnswer(f"no probability for {', '.join(missing)[:SHOWN]}")
    whole = {name: named[name] for name in event.outcomes}
    return _coherent(whole) if event.exclusive and len(whole) > 1 else whole


def _coherent(whole: dict[str, float]) -> dict[str, float]:
    """Scaled to sum to 1, unless only rounding keeps it from that."""
    total = math.fsum(whole.values())
    if total == 0:
        raise NoAnswer("every outcome is impossible, and one comes true")
    if abs(total - 1) <= ROUNDING:
        return whole
    return {name: min(1.0, p / total) for name, p in whole.items()}
