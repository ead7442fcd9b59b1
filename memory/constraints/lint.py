"""What a constraint's wording must be before it may be served: general, whole, no order."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal

from memory.constraints.entities import Wording

LITERAL = "literal"


AGENT_NAME = "agent_name"


NOT_ONE_SENTENCE = "not_one_sentence"


NO_TRIGGER = "no_trigger"


NO_ENFORCE = "no_enforce"


COMMANDS_TOOLS = "commands_tools"


INSTRUCTION_LIKE = "instruction_like"


REASONS = (
    LITERAL,
    AGENT_NAME,
    NOT_ONE_SENTENCE,
    NO_TRIGGER,
    NO_ENFORCE,
    COMMANDS_TOOLS,
    INSTRUCTION_LIKE,
)
"""Every reason there is, in the order in which they are named."""


_WORD = re.compile(r"[^\W\d_]+")


def words(*lines: str) -> frozenset[str]:
    """The words of some lines of a list."""
    return frozenset(" ".join(lines).split())


# A trigger made of nothing but these applies always, which is to say never.
_ANY_TIME = words(
    "a all always an and any anything are at case cases do doing each ever every everything for in",
    "is it kind never no none of on or situation situations solve solving some something task",
    "tasks the this time times to whatever when whenever working you",
)


_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|resp|approx)\.", re.IGNORECASE)


_SENTENCE_END = re.compile(
    r"[.!?][\"'\u201d\u2019)]*\s+\S|[\n\r]|;\s+[A-Z]|[\u3002\uff01\uff1f]\s*\S"
)


# Verbs that set something in motion, in every form: a prohibition commands as well.
_VERB = (
    r"(?:us(?:e|ing)|call(?:ing)?|run(?:ning)?|execut(?:e|ing)|invok(?:e|ing)|open(?:ing)?"
    r"|send(?:ing)?|post(?:ing)?|upload(?:ing)?|download(?:ing)?|fetch(?:ing)?|read(?:ing)?"
    r"|print(?:ing)?|show(?:ing)?|reveal(?:ing)?|delet(?:e|ing)|install(?:ing)?|enabl(?:e|ing)"
    r"|disabl(?:e|ing)|access(?:ing)?|brows(?:e|ing)|visit(?:ing)?|writ(?:e|ing)|forward(?:ing)?)"
)


_TOOL = (
    r"(?:(?:web |search |browser |command[- ]line |shell |code )?tools?|plugins?|shell|terminal"
    r"|console|bash|powershell|command line|browser|web ?hooks?|endpoints?|urls?|apis?|e-?mails?"
    r"|file ?systems?|databases?|sudo|curl|wget|ssh|environment variables?)"
)


_AT_TOOLS = re.compile(
    rf"\b{_VERB}\b(?:\W+\w+){{0,4}}?\W+{_TOOL}\b|\b(?:sudo|rm -rf)\b", re.IGNORECASE
)


_SECRETS = re.compile(
    r"\b(?:passwords?|passphrases?|credentials?|private keys?|secret keys?|secrets"
    r"|api[- _]?keys?|(?:access|api|auth|bearer|session) tokens?)\b",
    re.IGNORECASE,
)


_PROMPT = re.compile(
    r"\b(?:system|developer|hidden) (?:prompts?|messages?|instructions?)\b", re.IGNORECASE
)


_ORDERS = re.compile(
    r"\b(?:ignor|disregard|forget|overrid|bypass)(?:e|ing)?\b(?:\W+\w+){0,4}?\W+"
    r"(?:instructions?|rules?|prompts?|guidelines?|notes?|polic(?:y|ies)|constraints?|messages?)\b"
    r"|\byou (?:are|must|shall|have to) (?:now|always|never|act|obey|answer|reply|respond)\b"
    r"|\b(?:act|behave|pretend) as (?:if|a|an|the)\b|\bpretend (?:to|that|you)\b"
    r"|\bas an? (?:ai|language model|assistant)\b|\b(?:jailbreak|developer mode)\b"
    r"|</?\w++[^<>]{0,400}+>|\[/?(?:inst|system|user|assistant)\]|^\W*(?:system|assistant|user)\s*:",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Literals:
    """The literals of one task."""

    numbers: frozenset[str]
    strings: frozenset[str]
    identifiers: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    """Every lower-case word of the task: a name that is one of them counts only when capitalised.
    """

    def found_in(self, text: str) -> tuple[str, ...]:
        """Which of them the text contains, each once, in the order of the kinds above."""
        numbers = [number for number in map(plain, NUMBER.findall(text)) if number in self.numbers]
        folded, quotes = _folded(text), {_folded(quoted) for quoted in quoted_in(text)}
        strings = [string for string in sorted(self.strings) if _holds(folded, quotes, string)]
        tokens = TOKEN.findall(text)
        identifiers = [token for token in tokens if token.casefold() in self.identifiers]
        names = [token for token in tokens if self._named(token)]
        return tuple(dict.fromkeys([*numbers, *strings, *identifiers, *names]))

    def _named(self, token: str) -> bool:
        if token.casefold() not in self.names:
            return False
        return token[:1].isupper() or token.casefold() not in self.words


def lint(
    wording: Wording,
    literals: Literals,
    agents: Collection[str],
    *,
    enforce_required: bool = True,
) -> tuple[str, ...]:
    """Why a wording may not be served, in the order of REASONS; nothing when it may."""
    return tuple(_reasons(wording, literals, agents, enforce_required=enforce_required))


def _reasons(
    wording: Wording, literals: Literals, agents: Collection[str], *, enforce_required: bool
) -> Iterator[str]:
    parts = [p for p in (wording.trigger, wording.enforce, wording.avoid) if p is not None]
    # A bar keeps the parts apart without ending a sentence: nothing is found across them.
    whole = " | ".join(parts)
    found = {
        LITERAL: any(literals.found_in(part) for part in parts),
        AGENT_NAME: any(_names(whole, agent) for agent in agents),
        NOT_ONE_SENTENCE: any(_many_sentences(part) for part in parts),
        NO_TRIGGER: not _tells_when(wording.trigger),
        NO_ENFORCE: enforce_required and not _says_something(wording.enforce),
        COMMANDS_TOOLS: any(_commands(part) for part in parts),
        INSTRUCTION_LIKE: any(_ORDERS.search(part) for part in parts),
    }
    yield from (reason for reason in REASONS if found[reason])


def _names(text: str, agent: str) -> bool:
    name = agent.strip().casefold()
    return bool(name) and _stands_in(text.casefold(), name)


def _many_sentences(part: str) -> bool:
    return _SENTENCE_END.search(_ABBREVIATION.sub("", part)) is not None


def _tells_when(trigger: str) -> bool:
    return any(word.casefold() not in _ANY_TIME for word in _WORD.findall(trigger))


def _says_something(part: str | None) -> bool:
    return part is not None and _WORD.search(part) is not None


def _commands(part: str) -> bool:
    return any(pattern.search(part) for pattern in (_AT_TOOLS, _SECRETS, _PROMPT))


STOP_LIST = words(
    "A An And Any As At Be But By Do Each For From He Her His How I If In Is It Its My No Not Of",
    "On Or Our She So That The Their Then There These They This Those To Was We What When Where",
    "Which While Who Why With You Your",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May",
    "June July August September October November December",
    "Mr Mrs Ms Miss Dr Prof St Jr Sr",
    "Python Java Any Bool Boolean Callable Dict Exception False Iterable Float Int Integer List",
    "None Optional Sequence Set Str String True Tuple Union",
    "Args Constraints Example Examples Input Inputs Note Notes Output Outputs Parameters Return",
    "Returns",
)
"""Words whose capital says nothing: function words, days, months, titles, and what documentation
and types of programs are written with.
"""


# So small and so frequent that they belong to no task.
COMMON = frozenset({Decimal(0), Decimal(1), Decimal(2)})


NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?|(?<![\w.])\.\d+|[\u00bc-\u00be\u2150-\u215e]")


# An apostrophe inside or behind a word opens nothing; three quotes fence a text.
QUOTED = re.compile(
    r"(?<![\w\"])\"([^\"\n]{1,200})\"|(?<![\w'])'([^'\n]{1,200})'"
    r"|(?<!`)`([^`\n]{1,200})`|\u201c([^\u201d\n]{1,200})\u201d|\u2018([^\u2019\n]{1,200})\u2019"
)


_FENCE = re.compile(r"\"\"\"|'''|```")


TOKEN = re.compile(r"\w+")


# A sentence begins at the start, behind a full stop, after an empty line, and on a line that
# follows a finished one or opens with a bullet.
_SENTENCE_START = re.compile(
    r"(?:^|[.!?][\"'\u201d\u2019)]*+\s|\n[^\S\n]*+\n|[.!?:;)][\"'\u201d\u2019]*+[^\S\n]*+\n"
    r"|\n[^\S\n]*+(?:[-*#>\u2022]|\d++[.)]))[^\w\n]*+$"
)


_ABBREVIATED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|No|[A-Z])\.\s++[^\w\n]*+$")


# Where a sentence begins is seen in so many characters before a word.
_NEAR = 200


def literals_of(task_text: str, identifiers: Collection[str] = ()) -> Literals:
    """The literals of a task; `identifiers` adds names such as its entry point."""
    text = _FENCE.sub("\n\n", task_text)
    tokens = TOKEN.findall(text)
    named = {token.casefold() for name in identifiers for token in TOKEN.findall(name)}
    numbers = (plain(number) for number in NUMBER.findall(text))
    return Literals(
        numbers=frozenset(number for number in numbers if not _common(number)),
        strings=frozenset(_folded(string) for string in quoted_in(text)),
        identifiers=frozenset({t.casefold() for t in tokens if is_identifier(t)} | named),
        names=frozenset(name.casefold() for name in _named_things(text)),
        words=frozenset(token for token in tokens if token.islower()),
    )


def quoted_in(text: str) -> Iterator[str]:
    """What stands between quotes, and is more than white space."""
    for match in QUOTED.finditer(text):
        string = next(group for group in match.groups() if group is not None)
        if string.strip():
            yield string


def is_identifier(token: str) -> bool:
    """Whether a token is written like a name in a program."""
    if not any(character.isalnum() for character in token):
        return False
    if any(character.isupper() for character in token[1:]) or "_" in token:
        return True
    return any(c.isdigit() for c in token) and not token.isdigit()


def plain(number: str) -> str:
    """A number without separators and trailing zeros: 1,000.0 and 1000 are one number."""
    digits = number.replace(",", "")
    return format(Decimal(digits).normalize(), "f") if digits[-1:].isdecimal() else number


def _common(number: str) -> bool:
    return number[-1:].isdecimal() and Decimal(number) in COMMON


def _named_things(text: str) -> Iterator[str]:
    """Capitalised words that are not first in their sentence."""
    for match in TOKEN.finditer(text):
        word = match.group()
        if word[0].isupper() and word not in STOP_LIST and not opens_sentence(match):
            yield word


def opens_sentence(word: re.Match[str]) -> bool:
    """Whether a sentence begins with this word of a text."""
    before = word.string[max(0, word.start() - _NEAR - 1) : word.start()]
    near = before if len(before) <= _NEAR else "x" + before[-_NEAR:]
    return bool(_SENTENCE_START.search(near)) and not _ABBREVIATED.search(near)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _holds(folded: str, quotes: Collection[str], string: str) -> bool:
    """Whether a text contains a quoted string; one without words counts in quotes only."""
    if not TOKEN.search(string):
        return string in quotes
    return _stands_in(folded, string, before=string[0].isalnum(), behind=string[-1].isalnum())


def _stands_in(text: str, string: str, *, before: bool = True, behind: bool = True) -> bool:
    """Whether a text contains a string, not as a part of a longer word where that matters. Looked
    for as it is: a pattern for each of a thousand strings would have to be compiled.
    """
    start = text.find(string)
    while start >= 0:
        end = start + len(string)
        joined_before = before and start > 0 and _in_word(text[start - 1])
        joined_behind = behind and end < len(text) and _in_word(text[end])
        if not (joined_before or joined_behind):
            return True
        start = text.find(string, start + 1)
    return False


def _in_word(character: str) -> bool:
    return character == "_" or character.isalnum()
