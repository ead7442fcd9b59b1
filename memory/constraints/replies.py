"""What a language model is given of a pair, and what its answer becomes."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from memory.constraints.contrast_entities import PairClass
from memory.constraints.entities import MAX_ENTRIES, PART, Wording
from memory.llm.redaction import redacted
from memory.llm.replies import Malformed, inner_objects, read_object, text_of


@dataclass(frozen=True, slots=True)
class Material:
    """A task and the texts of two runs of it; a run of code is its result.

    `identifiers` are names the task is known by besides its words, such as an entry point.
    """

    task: str
    preferred: str
    unpreferred: str
    pair_class: PairClass
    identifiers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DistilledWordings:
    """The wordings that may be stored, and what was refused: `text` and `reason` of each."""

    wordings: tuple[Wording, ...] = ()
    rejected: tuple[Mapping[str, object], ...] = ()


NO_OBJECT = "no_object"


NO_TRIGGER = "no_trigger"


NO_OBLIGATION = "no_obligation"


NO_AVOID = "no_avoid"


NO_TEXT = "no_text"


TOO_MANY = "too_many"


REPEATED = "repeated"


SHOWN = 400
"""So much of an entry is kept with the reason why it is not used."""


# The words that come before a part when it is served; models repeat them.
_LEAD = re.compile(r"^(?:when(?:ever)?|enforce|avoid)\b[\s:,]*", re.IGNORECASE)


Rejection = Mapping[str, object]


def read_answer(answer: str, pair_class: PairClass) -> DistilledWordings:
    """The wordings of an answer, at most three. Of one that breaks off, what was whole before; an
    answer without entries says that there is nothing to learn. Raises Malformed where there is no
    entry that can be used and none was left out on purpose.
    """
    entries, broken = _entries(answer)
    wordings: list[Wording] = []
    rejected: list[Rejection] = [] if broken is None else [_rejection("", broken)]
    for entry in entries:
        made = _wording(entry, pair_class)
        if isinstance(made, Wording):
            made = _unless(made, wordings)
        if isinstance(made, Wording):
            wordings.append(made)
        else:
            rejected.append(_rejection(entry, made))
    if entries and not wordings:
        reasons = sorted({str(one["reason"]) for one in rejected})
        raise Malformed(f"no entry can be used: {', '.join(reasons)}")
    return DistilledWordings(tuple(wordings), tuple(rejected))


def _entries(answer: str) -> tuple[Sequence[object], str | None]:
    """The entries, and what was wrong with the answer if they had to be picked out of it."""
    try:
        found = read_object(answer, ("entries",))["entries"]
    except Malformed as fault:
        picked = inner_objects(answer, "trigger")
        if fault.kind in ("echoed", "empty") or all(isinstance(one, str) for one in picked):
            raise
        # A bare list of entries is whole; what breaks off is not.
        return picked, fault.kind if fault.kind == "truncated" else None
    if not isinstance(found, list):
        raise Malformed("entries is not a list")
    return cast("list[object]", found), None


def _wording(entry: object, pair_class: PairClass) -> Wording | str:
    """The entry as a wording, or the reason why it is none."""
    if not isinstance(entry, dict):
        return NO_OBJECT
    read = cast("dict[str, object]", entry)
    try:
        trigger, enforce, avoid = _parts(read)
    except Malformed as fault:
        return fault.detail
    if pair_class is PairClass.BOTH_WRONG:
        enforce = None
    if trigger is None:
        return NO_TRIGGER
    if enforce is None and avoid is None:
        return NO_AVOID if pair_class is PairClass.BOTH_WRONG else NO_OBLIGATION
    return Wording(trigger, enforce, avoid)


def _parts(entry: Mapping[str, object]) -> Iterator[str | None]:
    return iter([_part(entry, name) for name in ("trigger", "enforce", "avoid")])


def _part(entry: Mapping[str, object], name: str) -> str | None:
    """A part without the word that precedes it and the stop behind it; None where it is empty."""
    value = entry.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    bare = _LEAD.sub("", text_of(entry, name, 2 * PART)).rstrip(" .;:,")
    return text_of({name: bare}, name, PART) if bare else None


def _unless(wording: Wording, known: Sequence[Wording]) -> Wording | str:
    if wording in known:
        return REPEATED
    return wording if len(known) < MAX_ENTRIES else TOO_MANY


def _rejection(entry: object, reason: str) -> Rejection:
    text = entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False, default=str)
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")
    return {"text": redacted(whole)[:SHOWN], "reason": reason}
