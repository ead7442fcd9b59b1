"""Says what a text asks for or tells, without what belongs to that one task."""

import re
from collections.abc import Sequence

from memory.contrast.literals import (
    NUMBER,
    QUOTED,
    TOKEN,
    Literals,
    is_identifier,
    opens_sentence,
    plain,
)
from memory.contrast.quantities import fold
from memory.contrast.words import AUXILIARIES, IMPERATIVES, PAST, PRONOUNS, STOP_LIST

MAX_QUESTION = 150
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?]?")
_ASKING = re.compile(r"\b(?:how (?!to\b)|what\b|which\b(?=[^,]*\?))", re.IGNORECASE)
_OPENING = re.compile(r"(?:who|whose|whom|when|where|why)\b", re.IGNORECASE)
_QUESTION = re.compile(r"(?:how (?:many|much|long|far|old)|what (?:is|was|are))\b", re.IGNORECASE)
_FRACTION = re.compile(r"\b\d+/\d+\b")
_CODE_LINE = re.compile(
    r"^[ \t]*(?:(?:def|class|from|import|assert)\b|@|>>>|\.\.\.|#).*$|https?://\S+", re.MULTILINE
)
_FENCE = re.compile(r"\"\"\"|'''|```\w*")
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St)\.?\s+")
_POSSESSIVE = re.compile(
    r"\b(?:(?:the|an?) )?someone(?:(?:,? and|,) someone)*(?:['\u2019]s\b|['\u2019](?!\w))"
)
_SEVERAL = re.compile(r"\bsomeone(?:(?:,? and|,)? someone)+\b")
_PLACE = re.compile(r"\b(?:the|an?) (?:they|someone|something)\b")
_HOW_MUCH = re.compile(r"some(?:\s*[-/*x]\s*some)+")
_DEMAND = re.compile(r"\b(?:task is to|(?:you|we) (?:need|have|want) to)\s+(.+)", re.IGNORECASE)
_WRAPPED = re.compile(r"(?<![.!?:;\s])[ \t]*\n[ \t]*(?=[a-z(])")


def kind_of_task(task: str, literals: Literals) -> str | None:
    """What a task asks for, to be said behind "when"; None for a task without words."""
    sentences = [s.strip() for s in _SENTENCE.findall(_prose(task)) if TOKEN.search(s)]
    asking = next((s for s in reversed(sentences) if _asks(s)), None)
    if asking is not None:
        return _asked(asking, literals)
    demanded = next(filter(None, map(_demanded, sentences)), None)
    if demanded is not None:
        return f"the task is to {_cut(abstract(demanded, literals))}"
    if not sentences:
        return None
    return f"a task reads \u201c{_cut(abstract(sentences[0], literals))}\u201d"


def _asks(sentence: str) -> bool:
    return sentence.endswith("?") or _QUESTION.match(sentence) is not None


def abstract(text: str, literals: Literals) -> str:
    """A text with numbers, quoted strings, identifiers and names put in general words."""
    text = QUOTED.sub("some text", _TITLE.sub("", text))
    text = re.sub(r"[$\u00a3\u20ac](?=\s?[\d.])", "", text)
    text = re.sub(r"(?<=\d)\s?%", " percent", text)
    text = _FRACTION.sub("some", text)
    text = NUMBER.sub(_general_number, text)
    text = TOKEN.sub(lambda token: _general(token, literals), text)
    text = _HOW_MUCH.sub("some", text)
    text = re.sub(r"\bsome-(?=\w)|\(\W{0,20}\)", "", text)
    text = _POSSESSIVE.sub("their", text)
    text = _PLACE.sub("something", _SEVERAL.sub("they", text))
    return fold(text)


def _general_number(match: re.Match[str]) -> str:
    number = match.group()
    return number if number[-1:].isdecimal() and plain(number) in {"0", "1", "2"} else "some"


def _general(match: re.Match[str], literals: Literals) -> str:
    token = match.group()
    if token.isdigit():
        return token if token in {"0", "1", "2"} else "some"
    folded = token.casefold()
    if folded in literals.identifiers or is_identifier(token):
        return "something"
    if not token[0].isupper():
        return "someone" if literals.found_in(token) else token
    if folded in literals.names:
        return "someone"
    if folded in literals.words or opens_sentence(match):
        return folded
    return token if token in STOP_LIST else "someone"


def _asked(sentence: str, literals: Literals) -> str:
    """A question as the thing asked: how many apples they have left."""
    opening = _ASKING.search(sentence) or _OPENING.match(sentence)
    if opening is None:
        return f"the question is \u201c{_cut(abstract(_lowered(sentence), literals))}\u201d"
    general = abstract(_lowered(sentence[opening.start() :]).rstrip("?!. "), literals)
    return f"the question is {_cut(_indirect(general))}"


def _indirect(question: str) -> str:
    """A question as an object clause: "how much did she pay" is "how much they paid"."""
    tokens = question.split()
    plural = {"he": "they", "she": "they", "someone": "they"}
    for at, token in enumerate(tokens[:-1]):
        if token not in AUXILIARIES:
            continue
        subject = tokens[at + 1]
        if subject not in PRONOUNS and subject != "someone":
            return question
        tokens[at + 1] = plural.get(subject, subject)
        return " ".join(_turned(tokens, at))
    return question


def _turned(tokens: Sequence[str], at: int) -> list[str]:
    """The subject before its verb; forms of "do" go into the verb."""
    auxiliary, subject, rest = tokens[at], tokens[at + 1], list(tokens[at + 2 :])
    head = [*tokens[:at], subject]
    if auxiliary == "did" and rest:
        return [*head, _past(rest[0]), *rest[1:]]
    if auxiliary in {"does", "do"} and rest:
        return [*head, *rest]
    plural = {"is": "are", "was": "were", "has": "have"}
    return [*head, plural.get(auxiliary, auxiliary) if subject == "they" else auxiliary, *rest]


def _past(word: str) -> str:
    verb = word.rstrip(",;:")
    return _past_of(verb) + word[len(verb) :]


def _past_of(verb: str) -> str:
    if verb in PAST:
        return PAST[verb]
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2:-1] not in {"a", "e", "i", "o", "u"}:
        return verb[:-1] + "ied"
    return verb + "ed"


def _prose(task: str) -> str:
    """A task without lines of code, fences and addresses."""
    prose = _CODE_LINE.sub("", _FENCE.sub("\n", task))
    return _WRAPPED.sub(" ", prose if TOKEN.search(prose) else task)


def _demanded(sentence: str) -> str | None:
    """What a sentence tells to do, from its verb on."""
    asked = _DEMAND.search(sentence)
    if asked is not None:
        return asked[1]
    first = TOKEN.search(sentence)
    return _lowered(sentence) if first and first.group().casefold() in IMPERATIVES else None


def _lowered(sentence: str) -> str:
    """A sentence with a small first letter, unless it begins with a name in a program."""
    first = TOKEN.match(sentence)
    if first is None or is_identifier(first.group()):
        return sentence
    return sentence[0].lower() + sentence[1:]


def _cut(text: str) -> str:
    """A text of a readable length, cut before a comma or a word."""
    text = text.strip(" ,;:.!?-")
    if len(text) <= MAX_QUESTION:
        return text
    short = text[:MAX_QUESTION].rsplit(" ", 1)[0]
    clause, comma, _ = short.rpartition(",")
    return clause if comma and len(clause) > MAX_QUESTION / 2 else short
