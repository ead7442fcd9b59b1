"""What a constraint's wording must be before it may be served: general, whole, and no order."""

import re
from collections.abc import Collection, Iterator

from memory.contrast.literals import Literals, words
from memory.domain.constraint import Wording

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
    r"|</?\w+[^>]*>|\[/?(?:inst|system|user|assistant)\]|^\W*(?:system|assistant|user)\s*:",
    re.IGNORECASE,
)


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
    pattern = rf"(?<!\w){re.escape(name)}(?!\w)"
    return bool(name) and re.search(pattern, text.casefold()) is not None


def _many_sentences(part: str) -> bool:
    return _SENTENCE_END.search(_ABBREVIATION.sub("", part)) is not None


def _tells_when(trigger: str) -> bool:
    return any(word.casefold() not in _ANY_TIME for word in _WORD.findall(trigger))


def _says_something(part: str | None) -> bool:
    return part is not None and _WORD.search(part) is not None


def _commands(part: str) -> bool:
    return any(pattern.search(part) for pattern in (_AT_TOOLS, _SECRETS, _PROMPT))
