"""What sits inside the agent: anything that answers an event, first alone, then with memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from memlift_client import Retrieval

from clients.prophet.event import Event, Probabilities
from clients.prophet.usage import Usage


class NoAnswer(Exception):
    """The forecaster gave no answer that can be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A probability for each outcome of the event, and why."""

    probabilities: Probabilities
    rationale: str = ""
    usage: Usage = field(default_factory=Usage)
    """What it cost, as far as the forecaster knows."""


@dataclass(frozen=True, slots=True)
class Advised:
    """An answer made with memory.

    full: the answer had memory been followed wholly; rankers: one answer for each ranker; used:
    ids of the memories it acted on. Each None where the forecaster cannot tell.
    """

    answer: Answer
    full: Probabilities | None = None
    rankers: Mapping[str, Probabilities] | None = None
    used: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """How a forecaster wants to be served: how many memories, as prose or as data."""

    k: int
    all_rankers: bool
    format: Literal["brief", "memories"]


class Forecaster(Protocol):
    """Both calls raise NoAnswer. `advised` gets its own answer without memory, or None where that
    call failed.
    """

    @property
    def wish(self) -> Wish: ...

    def alone(self, event: Event) -> Answer: ...

    def advised(self, event: Event, alone: Answer | None, served: Retrieval) -> Advised: ...


def stand_in(event: Event) -> Answer:
    """What is answered where the forecaster said nothing: the crowd, where one is seen, else all
    outcomes alike.
    """
    crowd = event.by_crowd()
    if crowd is not None:
        return Answer(crowd, "The crowd's probabilities stand in.")
    return Answer(event.evenly(), "All outcomes alike stand in.")
