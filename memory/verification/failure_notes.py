"""What a failed run shows plainly, as one sentence of fixed shape; no language model, no guess.

Looked for in this order: an assertion that failed, with file and line; an answer that was right in
the wrong form; a run that ended in the midst of its calls; the last error of a tool, and what was
tried after it. A run that shows none of these has no note.

Other agents read a note. So what it repeats is rid of secrets and of what nobody sees before it is
cut or put into a sentence: of half a key nobody could tell that it is one. A value whose name says
that it is a secret is never repeated, wherever it stands.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import cast

from memory.kernel.confusables import is_hidden
from memory.kernel.normal_form import normal_form
from memory.llm.lesson_prompts import TaskKind
from memory.llm.redaction import REDACTED, names_a_secret, redacted
from memory.tasks.run_entities import Step

QUOTED = 120
"""The most characters of an error or an answer that a note repeats."""


VALUE = 40
"""The most characters of an argument's value that a note repeats."""


AROUND = 12
"""Characters before the place where two long values differ that are shown with it."""


NAME = 60
"""The most characters of a tool's or an argument's name that a note repeats."""


FORM_WORDS = 5
"""An answer has the wrong form where it says the right thing in so many words more."""


REPEATED = 3
"""From so many calls on, a row of calls of one tool is one that got stuck."""


SOON = 3
"""An error that more calls follow than this says nothing plainly of why the run failed."""


LITERAL = 3
"""From so many characters on, an argument's value is known again in an error."""


Arguments = Mapping[str, object] | None


_PLACED = re.compile(r"([\w./\\-]{1,200}\.\w{1,8}):(\d{1,7}): (?:AssertionError|assert)\b")


_TRACED = re.compile(r'File "([^"\n]{1,300})", line (\d{1,7})')


_ASSERTED = re.compile(r"^[>E\s]{0,12}(assert\b[^\n]{1,300})$", re.MULTILINE)


_REASON = re.compile(r"^[E\s]{0,12}AssertionError:? ?([^\n]{0,300})$", re.MULTILINE)


_CODE = re.compile(r"^(?:```|Traceback \(most recent|[ >E]*assert )|AssertionError", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool with its answer, which may have come in a step of its own."""

    tool: str
    arguments: Arguments
    error: str | None
    answered: bool


@dataclass(frozen=True, slots=True)
class _Step:
    """A step as a note may repeat it: its texts are without secrets. Its arguments are as they
    were, for calls are compared by them.
    """

    text: str | None
    role: str | None
    tool: str | None
    arguments: Arguments
    result: str | None
    error: str | None


@dataclass(frozen=True, slots=True)
class _Run:
    """A run as a note may repeat it."""

    steps: tuple[_Step, ...]
    result: str | None


def failure_note(steps: Sequence[Step], result: str | None, truth: str | None) -> str | None:
    """What the run shows, without secrets; None where it shows nothing plainly."""
    run = _without_secrets(steps, result)
    return (
        _failed_assertion(run)
        or _wrong_form(run.result, truth)
        or _ended_in_calls(run)
        or _tool_error(calls_of(run.steps))
    )


def kind_of(steps: Sequence[Step], result: str | None, metric: str) -> TaskKind:
    """Which kind of task a run was about, by what it shows."""
    if metric == "brier":
        return "forecast"
    said = "\n".join([*(_output(step) for step in steps), result or ""])
    if _CODE.search(said):
        return "code"
    return "tool_use" if any(step.tool is not None for step in steps) else "question"


def calls_of(steps: Sequence[_Step]) -> list[ToolCall]:
    """The calls of the agent in their order, each with the answer that followed it."""
    calls: list[ToolCall] = []
    for step in steps:
        if step.tool is None or step.role == "user":
            continue
        error = step.error
        answered = error is not None or step.result is not None or step.role == "tool"
        last = calls[-1] if calls else None
        answers = step.arguments is None and last is not None and not last.answered
        if answers and last is not None and last.tool == step.tool:
            calls[-1] = ToolCall(last.tool, last.arguments, error, answered=True)
        else:
            calls.append(ToolCall(step.tool, step.arguments, error, answered))
    return calls


def _without_secrets(steps: Sequence[Step], result: str | None) -> "_Run":
    """What was said, without secrets: those known by their form, and those that some call of the
    run had under a secret's name.
    """
    named = {value for step in steps for value in _secrets("", step.arguments)}
    longest_first = sorted(named, key=lambda value: (-len(value), value))

    def masked(text: str | None) -> str | None:
        if not text:
            return text
        text = _visible(text)
        for value in longest_first:
            text = "".join(_by_name(text, value, REDACTED))
        return redacted(text)

    return _Run(
        tuple(
            _Step(
                text=masked(step.text),
                role=step.role,
                tool=step.tool,
                arguments=step.arguments,
                result=masked(step.result),
                error=masked(step.error),
            )
            for step in steps
        ),
        masked(result),
    )


def _visible(text: str) -> str:
    """The text without what a reader does not see, which could split a secret or turn a line."""
    return "".join(one for one in text if not is_hidden(one))


def _secrets(name: str, value: object) -> Iterator[str]:
    """The values in the arguments of a call under a secret's name, at whatever depth."""
    if isinstance(value, Mapping) and not names_a_secret(name):
        for inner, part in cast("Mapping[str, object]", value).items():
            yield from _secrets(inner, part)
    elif isinstance(value, list) and not names_a_secret(name):
        for part in cast("list[object]", value):
            yield from _secrets(name, part)
    elif names_a_secret(name):
        yield from (_visible(part) for _, part in _leaves(name, value) if len(part) >= LITERAL)


def _output(step: Step | _Step) -> str:
    return "\n".join(part for part in (step.result, step.error, step.text) if part)


def _failed_assertion(run: _Run) -> str | None:
    """The last assertion that failed, unless the tool that ran it answered without one later."""
    cleared: set[str | None] = set()
    for text, tool in (
        (run.result or "", None),
        *((_output(s), s.tool) for s in reversed(run.steps)),
    ):
        places = _PLACED.findall(text) or _TRACED.findall(text)
        said = _ASSERTED.findall(text) or [one for one in _REASON.findall(text) if one]
        if places and said and tool not in cleared:
            file, line = places[-1]
            name = file.replace("\\", "/").rsplit("/", 1)[-1]
            return (
                f"Check `{_cut(said[0].strip(), QUOTED)}` before you hand in: it failed at {name},"
                f" line {line}, and the run ended with it failing."
            )
        if tool is not None and text:
            cleared.add(tool)
    return None


def _wrong_form(result: str | None, truth: str | None) -> str | None:
    """An answer that holds what was right and is a whole sentence more."""
    if not result or not truth:
        return None
    given, right = normal_form(result).split(), normal_form(truth).split()
    if not right or len(given) < len(right) + FORM_WORDS:
        return None
    if not any(given[at : at + len(right)] == right for at in range(len(given))):
        return None
    n = "one word" if len(right) == 1 else f"{len(right)} words"
    return (
        f"Give the answer alone, here {n}, with no sentence around it: the right answer stood in"
        f" «{_cut(result, QUOTED)}», and that form was counted as wrong."
    )


def _ended_in_calls(run: _Run) -> str | None:
    """A run that ends while it calls one tool again and again, or with a call that failed, and says
    nothing after it.
    """
    calls = calls_of(run.steps)
    if run.result or len(calls) < REPEATED or run.steps[-1].tool is None:
        return None
    last = calls[-1]
    row = list(takewhile(lambda call: call.tool == last.tool, reversed(calls)))
    same = list(takewhile(lambda call: call.arguments == last.arguments, row))
    if len(same) >= REPEATED:
        return (
            f"Do not repeat a call that brings nothing new: this run sent the same call of"
            f" {_code(last.tool)} {len(same)} times until it ended without an answer."
        )
    if len(row) >= REPEATED or last.error is not None:
        failed = sum(call.error is not None for call in row)
        errors = f", {failed} with an error" if failed else ""
        how = f"the last {f'{len(row)} of ' if len(row) > 1 else ''}{_code(last.tool)}"
        return (
            f"Answer with what is known before the steps run out: this run made {len(calls)} calls,"
            f" {how}{errors}, and ended without an answer."
        )
    return None


def _tool_error(calls: Sequence[ToolCall]) -> str | None:
    """The last call that failed, and what was called after it."""
    failed = [at for at, call in enumerate(calls) if call.error is not None]
    if not failed:
        return None
    last, later = calls[failed[-1]], calls[failed[-1] + 1 :]
    told = f'When {_code(last.tool)} fails with "{_message(last)}"'
    worked = next((call for call in later if is_another_try(last, call)), None)
    if worked is not None:
        return f"{told}, {_what_worked(last, worked)}"
    if len(later) > SOON:
        return None
    before = [calls[at] for at in failed if is_another_try(calls[at], last)]
    same = sum(call.arguments == last.arguments for call in before)
    if same > 1:
        return (
            f"{told}, do not send the same call again: it failed {same} times unchanged. Change"
            " the arguments, or say that it cannot be done."
        )
    if len(before) >= REPEATED:
        changed = _changed(before[-2], last)
        tried = _code(changed[0]) if len(changed) == 1 else "its arguments"
        return (
            f"{told}, do not try other values of {tried} one after another: {len(before)} calls"
            " failed so. Look up what is valid first."
        )
    went_on = list(dict.fromkeys(call.tool for call in later))
    then = f"here the run went on with {_named(went_on)}" if went_on else "it was not tried again"
    return f"{told}, change the call or say that it did not work: {then}, and the task failed."


def is_another_try(first: ToolCall, second: ToolCall) -> bool:
    """Whether a call tries again what another one did: the same tool, about the same thing. That is
    an argument in common; of a tool with one argument, half of the words of the shorter value.
    """
    if first.tool != second.tool:
        return False
    if first.arguments == second.arguments:
        return True
    one, other = first.arguments or {}, second.arguments or {}
    if any(one[name] == other.get(name) for name in one):
        return True
    if len(one) != 1 or one.keys() != other.keys():
        return False
    words = [set(normal_form(str(value)).split()) for value in (*one.values(), *other.values())]
    shorter = min(map(len, words))
    return shorter > 0 and 2 * len(words[0] & words[1]) >= shorter


def _what_worked(failed: ToolCall, worked: ToolCall) -> str:
    changed = _changed(failed, worked)
    if not changed:
        return "send the same call again: here it went through the next time."
    parts = [_change(name, failed.arguments, worked.arguments) for name in changed[:2]]
    more = len(changed) - len(parts)
    others = f" and {more} more argument{'' if more == 1 else 's'}" if more else ""
    return f"change {' and '.join(parts)}{others}: here it went through."


def _change(name: str, before: Arguments, after: Arguments) -> str:
    """The argument by its name, with what differs in its value where that may be shown."""
    old, new = (before or {}).get(name), (after or {}).get(name)
    plain = all(isinstance(value, str | int | float) for value in (old, new))
    if not plain or names_a_secret(name):
        return _code(name)
    shown, instead = _difference(_shown(str(old)), _shown(str(new)))
    if shown == instead:
        return _code(name)
    return f'{_code(name)}, as from "{shown}" to "{instead}"'


def _difference(old: str, new: str) -> tuple[str, str]:
    """Two values; of long ones the part that begins shortly before they differ."""
    start = 0
    if max(len(old), len(new)) > VALUE:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))
        start = max(0, sum(1 for _ in same) - AROUND)
    head = "…" if start else ""
    return head + _cut(old[start:], VALUE), head + _cut(new[start:], VALUE)


def _shown(text: str) -> str:
    """A text of the run on one line, without secrets and hidden characters."""
    return " ".join(redacted(_visible(text)).split())


def _code(name: str) -> str:
    """A name that the run gave, marked as one."""
    plain = _shown(name).replace("`", "'")
    return f"`{_cut(plain, NAME)}`"


def _changed(one: ToolCall, other: ToolCall) -> list[str]:
    """The arguments in which two calls differ, in the order of the first."""
    first, second = one.arguments or {}, other.arguments or {}
    return [name for name in {**first, **second} if first.get(name) != second.get(name)]


def _named(names: Sequence[str]) -> str:
    return " and ".join(map(_code, names[:2]))


def _message(call: ToolCall) -> str:
    """The error's first sentence, values of the call's arguments by the names of these."""
    said = " ".join((call.error or "").strip().split("\n")[:3]).removeprefix("Error: ")
    for name, value in _leaves("", call.arguments):
        # A plain word in small letters may be the error's own.
        if len(value) >= LITERAL and not (value.isalpha() and value.islower()):
            place = f"<{_cut(_shown(name), NAME)}>"
            said = "".join(_by_name(said, value, place))
    head, stop, _ = said.partition(". ")
    return _cut(head + stop.strip(), QUOTED)


def _by_name(text: str, value: str, name: str) -> Iterator[str]:
    """The parts of a text, with a name for each place where a value stands between other words."""
    start = looked = 0
    while (at := text.find(value, looked)) >= 0:
        end = at + len(value)
        if _in_word(text[max(0, at - 1) : at]) or _in_word(text[end : end + 1]):
            looked = at + 1
            continue
        yield text[start:at]
        yield name
        start = looked = end
    yield text[start:]


def _in_word(character: str) -> bool:
    return character == "_" or character.isalnum()


def _leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    """The texts and numbers in the arguments of a call, each by the nearest name."""
    if isinstance(value, Mapping):
        for inner, part in cast("Mapping[str, object]", value).items():
            yield from _leaves(inner, part)
    elif isinstance(value, list):
        for part in cast("list[object]", value):
            yield from _leaves(name, part)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield name, str(value)


def _cut(text: str, most: int) -> str:
    """One line of at most so many characters, in which no quotation mark ends the quotation."""
    line = " ".join(text.split()).replace('"', "'")
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
