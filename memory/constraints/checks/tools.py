"""Checks of runs with tools: errors, repetitions, what was read before it was changed, the end."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from memory.constraints.checks.observations import (
    USER,
    Action,
    CheckFinding,
    ObservableCheck,
    ObservedRun,
    by_tool,
    finding,
    ids_in,
    only,
)
from memory.constraints.entities import Wording

_SAFE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
"""What may be said of a tool's name in a sentence: anybody can name a tool."""


LISTED = 2
"""So many ids in one answer are a list."""


def _errors(run: ObservedRun) -> Iterator[int]:
    return (place for place, one in enumerate(run.actions) if one.is_call and one.failed)


def _next(run: ObservedRun, place: int) -> Action | None:
    """What the agent did after this."""
    return next((one for one in run.actions[place + 1 :] if one.role != USER), None)


def _error_unanswered(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """After an error it neither called the same tool in another way nor spoke with the user."""
    places = list(_errors(run))
    return only(applies=bool(places), violated=any(_carries_on(run, one) for one in places))


def _carries_on(run: ObservedRun, place: int) -> bool:
    failed, then = run.actions[place], _next(run, place)
    if then is None:
        return True
    if then.is_said:
        return False
    return then.tool != failed.tool or then.signature == failed.signature


def _error_unresolved(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """A tool's last word in the run was an error."""
    last = [run.actions[place] for _, place in by_tool(run)]
    applies = any(True for _ in _errors(run))
    return only(applies=applies, violated=any(one.failed for one in last))


def _error_repeated(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """A call that failed was made again, word for word."""
    failed: set[str] = set()
    again = False
    for call in run.calls:
        again = again or call.signature in failed
        if call.failed:
            failed.add(call.signature)
    return only(applies=bool(failed), violated=again)


def _any_error(run: ObservedRun) -> Mapping[str, CheckFinding]:
    return only(applies=bool(run.calls), violated=any(call.failed for call in run.calls))


def _two_errors(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """Two calls in a row failed."""
    calls = run.calls
    pairs = pairwise(calls)
    applies = any(call.failed for call in calls)
    return only(applies=applies, violated=any(a.failed and b.failed for a, b in pairs))


def _repeated(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """A call was repeated while nothing had been asked of another tool in between."""
    calls = run.calls
    pairs = pairwise(calls)
    return only(applies=len(calls) > 1, violated=any(a.signature == b.signature for a, b in pairs))


def _asked_again(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The same call brought the same answer a second time."""
    seen: set[tuple[str, str]] = set()
    again = False
    for call in run.calls:
        key = (call.signature, call.text)
        again = again or key in seen
        seen.add(key)
    return only(applies=len(run.calls) > 1, violated=again)


def _unread(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """By tool: it was called with an id that no earlier answer contained."""
    seen: set[str] = set()
    found: dict[str, CheckFinding] = {}
    for call in run.calls:
        named = call.tokens
        tool = call.tool or ""
        if named and _SAFE.fullmatch(tool):
            bad = not named & seen or found.get(tool) is CheckFinding.VIOLATED
            found[tool] = finding(violated=bad)
        if not call.failed:
            seen |= ids_in(call.text)
    return found


def _unconfirmed(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """By tool: nothing that the call names was told to the user, who then spoke, before it."""
    if not run.is_dialogue:
        return {}
    agreed: set[str] = set()
    told: set[str] = set()
    found: dict[str, CheckFinding] = {}
    for one in run.actions:
        if one.is_said:
            told |= ids_in(one.text)
        elif one.role == USER and one.tool is None:
            agreed |= told
        elif one.is_call and one.tokens and _SAFE.fullmatch(one.tool or ""):
            bad = not one.tokens & agreed or found.get(one.tool or "") is CheckFinding.VIOLATED
            found[one.tool or ""] = finding(violated=bad)
    return found


def _unsourced(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """By tool: an id among the arguments that nobody had named before."""
    known = set(ids_in(run.task))
    found: dict[str, CheckFinding] = {}
    for one in run.actions:
        if one.is_call and one.tokens and _SAFE.fullmatch(one.tool or ""):
            bad = not one.tokens <= known or found.get(one.tool or "") is CheckFinding.VIOLATED
            found[one.tool or ""] = finding(violated=bad)
        if one.role == USER or one.is_call:
            known |= ids_in(one.text)
    return found


def _refused(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """By tool: one of its calls was answered with an error."""
    found: dict[str, CheckFinding] = {}
    for call in run.calls:
        if _SAFE.fullmatch(call.tool or ""):
            bad = call.failed or found.get(call.tool or "") is CheckFinding.VIOLATED
            found[call.tool or ""] = finding(violated=bad)
    return found


def _unchecked(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """By tool: nothing about what it named was asked of another tool after its last call."""
    found: dict[str, CheckFinding] = {}
    for tool, place in by_tool(run):
        named = run.actions[place].tokens
        if named and _SAFE.fullmatch(tool):
            later = (one for one in run.actions[place + 1 :] if one.is_call and one.tool != tool)
            found[tool] = finding(violated=not any(one.tokens & named for one in later))
    return found


def _twice(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """By tool: it was called for the same thing twice, and neither call failed."""
    seen: set[tuple[str, str]] = set()
    found: dict[str, CheckFinding] = {}
    for call in run.calls:
        tool = call.tool or ""
        if call.failed or not call.tokens or not _SAFE.fullmatch(tool):
            continue
        keys = {(tool, token) for token in call.tokens}
        bad = bool(keys & seen) or found.get(tool) is CheckFinding.VIOLATED
        found[tool] = finding(violated=bad)
        seen |= keys
    return found


def _several_at_once(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """By tool: it was called right after itself, without a word to the user between."""
    if not run.is_dialogue:
        return {}
    found: dict[str, CheckFinding] = {}
    before: str | None = None
    for one in run.actions:
        if one.is_call and _SAFE.fullmatch(one.tool or ""):
            bad = one.tool == before or found.get(one.tool or "") is CheckFinding.VIOLATED
            found[one.tool or ""] = finding(violated=bad)
        before = one.tool if one.is_call else None
    return found


def _listed_unopened(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """An answer listed ids of one shape of which some were opened with a call, but not all."""
    asked: set[str] = set()
    for call in run.calls:
        asked |= call.tokens
    applies = violated = False
    for call in run.calls:
        listed = [one for one in _lists(call.text) if len(one) >= LISTED]
        for ids in listed:
            opened = ids & asked
            applies = applies or bool(opened)
            violated = violated or (bool(opened) and bool(ids - asked))
    return only(applies=applies, violated=violated)


_LIST = re.compile(r"\[([^][{}]{3,2000})\]")


def _lists(text: str) -> Iterator[frozenset[str]]:
    """The ids of each plain list in an answer."""
    return (ids_in(found) for found in _LIST.findall(text))


def _user_id_unused(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The user named an id that no call ever used."""
    named: set[str] = set()
    used: set[str] = set()
    for one in run.actions:
        if one.role == USER and one.tool is None:
            named |= {token for token in ids_in(one.text) if not token.isdigit()}
        elif one.is_call:
            used |= one.tokens
    return only(applies=bool(named) and bool(used), violated=not named <= used)


def _number_untold(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The agent told the user a number that nobody and nothing had named before."""
    known = set(ids_in(run.task))
    told = nowhere = False
    for one in run.actions:
        numbers = {token for token in ids_in(one.text) if token.isdigit()}
        if one.is_said and numbers:
            told = True
            nowhere = nowhere or not numbers <= known
        known |= ids_in(one.text) | one.tokens
    return only(applies=run.is_dialogue and told and bool(run.calls), violated=nowhere)


def _announced(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """By tool: the agent named it to the user and never called it."""
    called = {call.tool for call in run.calls}
    said = run.said
    named = {name for name in _TOOL_NAME.findall(said) if _SAFE.fullmatch(name)}
    applies = run.is_dialogue and bool(called) and bool(named)
    return only(applies=applies, violated=not named <= called)


_TOOL_NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def _silent_end(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The last thing that the agent did was a call: nobody was told of its outcome."""
    own = [one for one in run.actions if one.role != USER]
    return only(
        applies=run.is_dialogue and bool(run.calls), violated=own[-1].is_call if own else False
    )


def _asked_before_looking(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """After the user had named an id the agent asked on instead of looking it up."""
    named = False
    for one in run.actions:
        if one.role == USER and one.tool is None:
            named = named or any(not token.isdigit() for token in ids_in(one.text))
        elif named:
            return only(applies=bool(run.calls) and run.is_dialogue, violated=one.is_said)
    return {}


def _text_with_call(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """Style: it calls without a word beforehand."""
    pairs = pairwise(run.actions)
    together = any(one.is_said and other.is_call for one, other in pairs)
    return only(applies=run.is_dialogue and bool(run.calls), violated=not together)


TOOLS = (
    ObservableCheck(
        "error_unanswered",
        Wording(
            "a step in the middle of the work answers with an error",
            "retrying it changed, or telling the user, before going on",
            "carrying on as if it had worked",
        ),
        "went on after an error as if it had worked",
        _error_unanswered,
    ),
    ObservableCheck(
        "error_unresolved",
        Wording(
            "something that was tried fails",
            "coming back to it until it works or the user knows that it does not",
            "leaving an error as the last word",
        ),
        "left an error as the last word",
        _error_unresolved,
    ),
    ObservableCheck(
        "error_repeated",
        Wording(
            "a call was refused",
            "changing what the refusal names before trying again",
            "sending the same once more",
        ),
        "sent a refused call again unchanged",
        _error_repeated,
    ),
    ObservableCheck(
        "any_error",
        Wording(
            "a call takes ids and amounts",
            "reading them from earlier answers before it is made",
            "finding out by refusals",
        ),
        "ran into an error",
        _any_error,
    ),
    ObservableCheck(
        "two_errors_running",
        Wording(
            "a call has failed",
            "looking something up before the next attempt",
            "a second attempt that fails at once",
        ),
        "failed twice in a row",
        _two_errors,
    ),
    ObservableCheck(
        "call_repeated",
        Wording(
            "an answer has come",
            "working with it, or changing the next call",
            "the same call again without a change between",
        ),
        "repeated a call without a change between",
        _repeated,
    ),
    ObservableCheck(
        "asked_again",
        Wording(
            "something was looked up before",
            "using the answer that is there",
            "looking the same up again",
        ),
        "looked the same up twice",
        _asked_again,
    ),
    ObservableCheck(
        "acted_unread",
        Wording(
            "{slot} is about to be called for an object",
            "reading that object first",
            "calling {slot} with an id that was not looked up",
        ),
        "called {slot} for something it had not read",
        _unread,
    ),
    ObservableCheck(
        "acted_unconfirmed",
        Wording(
            "{slot} is about to be called for a user",
            "naming to the user what will be done and waiting for the answer",
            "calling {slot} before the user has heard what it is about",
        ),
        "called {slot} before the user had heard what it was about",
        _unconfirmed,
    ),
    ObservableCheck(
        "argument_unsourced",
        Wording(
            "{slot} needs an id or an amount",
            "one that the user named or an earlier answer contained",
            "an id or an amount that stands nowhere before",
        ),
        "called {slot} with a value that stood nowhere before",
        _unsourced,
    ),
    ObservableCheck(
        "call_refused",
        Wording(
            "{slot} is about to be called",
            "checking its conditions against what was read",
            "a call of {slot} that is refused",
        ),
        "had a call of {slot} refused",
        _refused,
    ),
    ObservableCheck(
        "outcome_unchecked",
        Wording(
            "{slot} has been called",
            "a look afterwards whether it did what it should",
            "ending without having looked",
        ),
        "did not look at what {slot} had done",
        _unchecked,
    ),
    ObservableCheck(
        "done_twice",
        Wording(
            "{slot} has been called for an object",
            "leaving it at that",
            "calling {slot} for the same object a second time",
        ),
        "called {slot} twice for the same thing",
        _twice,
    ),
    ObservableCheck(
        "called_in_a_row",
        Wording(
            "{slot} is needed several times",
            "telling the user between one call and the next",
            "several calls of {slot} in a row",
        ),
        "called {slot} several times in a row",
        _several_at_once,
    ),
    ObservableCheck(
        "listed_unopened",
        Wording(
            "an answer lists several ids of which one is wanted",
            "opening each of them before deciding",
            "a decision after opening only some",
        ),
        "opened only some of the ids that were listed",
        _listed_unopened,
    ),
    ObservableCheck(
        "user_id_unused",
        Wording(
            "the user names an id",
            "looking it up",
            "an id of the user's that is never looked up",
        ),
        "never looked up an id that the user had named",
        _user_id_unused,
    ),
    ObservableCheck(
        "number_untold",
        Wording(
            "the user is told an amount",
            "one that an answer contains or that was calculated with the means at hand",
            "an amount out of one's head",
        ),
        "told the user a number that stood nowhere before",
        _number_untold,
    ),
    ObservableCheck(
        "announced_not_done",
        Wording(
            "an action was announced to the user",
            "carrying it out",
            "announcing it and leaving it at that",
        ),
        "announced something and never did it",
        _announced,
    ),
    ObservableCheck(
        "silent_end",
        Wording(
            "the last call has been answered",
            "telling the user what came of it",
            "ending on a call",
        ),
        "ended on a call without a word",
        _silent_end,
    ),
    ObservableCheck(
        "asked_before_looking",
        Wording(
            "the user has named an id",
            "looking it up before asking for more",
            "asking for what could have been looked up",
        ),
        "asked the user instead of looking up the id it had",
        _asked_before_looking,
    ),
    ObservableCheck(
        "text_with_call",
        Wording(
            "a call is made in a conversation",
            "a word to the user together with it",
            "a call without a word",
        ),
        "called without a word",
        _text_with_call,
        control=True,
    ),
)
