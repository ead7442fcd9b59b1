"""What a check sees of a run, and what it says of it."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory.constraints.entities import Wording

USER, AGENT = "user", "assistant"
"""Who acts. What a tool answers stands with its call."""


class CheckFinding(StrEnum):
    KEPT = "kept"
    VIOLATED = "violated"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class Action:
    """One step: something said (`tool` is None), or a call with its answer.

    `failed`: the tool answered with an error.
    """

    role: str
    text: str = ""
    tool: str | None = None
    arguments: Mapping[str, object] | None = None
    failed: bool = False

    @property
    def is_call(self) -> bool:
        return self.role == AGENT and self.tool is not None

    @property
    def is_said(self) -> bool:
        return self.role == AGENT and self.tool is None and bool(self.text.strip())

    @property
    def signature(self) -> str:
        """The same for two calls of one tool with the same arguments."""
        return f"{self.tool} {json.dumps(self.arguments, sort_keys=True, default=str)}"

    @property
    def tokens(self) -> frozenset[str]:
        """Ids and numbers among the arguments."""
        return ids_in(json.dumps(self.arguments, default=str)) if self.arguments else frozenset()


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """A run of a task, as far as checks look at it; never its reward.

    `result` is the answer that was handed in; None where there is none.
    """

    task: str
    actions: tuple[Action, ...] = ()
    result: str | None = None

    @property
    def calls(self) -> tuple[Action, ...]:
        return tuple(one for one in self.actions if one.is_call)

    @property
    def is_dialogue(self) -> bool:
        """Whether somebody spoke with the agent."""
        return any(one.role == USER for one in self.actions)

    @property
    def said(self) -> str:
        """All that the agent said."""
        return "\n".join(one.text for one in self.actions if one.is_said)

    @property
    def observed(self) -> str:
        """All that tools answered to the agent."""
        return "\n".join(one.text for one in self.actions if one.is_call)


Judge = Callable[[ObservedRun], Mapping[str, CheckFinding]]
"""A run → a finding by slot; a slot that is left out is not applicable. Without slots: `""`."""


@dataclass(frozen=True, slots=True)
class ObservableCheck:
    """Something that can be seen in a run, and the sentence that a person would say of it.

    `{slot}` in the wording stands for the slot. `failing` completes "in 12 of 13 tasks the run that
    failed …". `control`: a matter of style, tried like the others to see what the test refuses, and
    never admitted.
    """

    name: str
    wording: Wording
    failing: str
    judge: Judge
    control: bool = False

    def wording_for(self, slot: str) -> Wording:
        """The sentence with the slot filled in."""
        parts = (self.wording.trigger, self.wording.enforce, self.wording.avoid)
        trigger, enforce, avoid = (part and part.replace("{slot}", slot) for part in parts)
        return Wording(trigger or "", enforce, avoid)

    def failing_for(self, slot: str) -> str:
        return self.failing.replace("{slot}", slot)


def finding(*, violated: bool) -> CheckFinding:
    return CheckFinding.VIOLATED if violated else CheckFinding.KEPT


def only(*, applies: bool, violated: bool) -> Mapping[str, CheckFinding]:
    """The answer of a check without slots."""
    return {"": finding(violated=violated)} if applies else {}


_TOKEN = re.compile(r"[\w-]+")


_LEAST = 3
"""Shorter numbers stand in any text by chance."""


def ids_in(text: str) -> frozenset[str]:
    """Ids and numbers of three characters or more in a text: words that contain a digit."""
    found = (token.strip("-_").casefold() for token in _TOKEN.findall(text))
    return frozenset(
        token for token in found if len(token) >= _LEAST and any(map(str.isdecimal, token))
    )


_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> tuple[str, ...]:
    """The words and numbers of a text, folded."""
    return tuple(word.casefold() for word in _WORD.findall(text))


def contains(words: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the words contain these, one after the other."""
    return f" {' '.join(part)} " in f" {' '.join(words)} "


def by_tool(run: ObservedRun) -> Iterator[tuple[str, int]]:
    """The tools that the agent called, each with the place of its last call among the actions."""
    last: dict[str, int] = {}
    for place, action in enumerate(run.actions):
        if action.is_call and action.tool is not None:
            last[action.tool] = place
    yield from last.items()
