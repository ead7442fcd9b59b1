"""The agent: an event → what memory says → a forecast without and with it → handed in → answered.

It always answers. Where the memory server is silent it forecasts without memory; where the
forecaster is silent something stands in for it; and the rationale says so.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from memlift_client import PredictionFields, Retrieval

from clients.prophet.event import Event
from clients.prophet.forecaster import Advised, Answer, Forecaster, NoAnswer, stand_in
from clients.prophet.recall import Recall, Silence
from clients.prophet.telling import with_sources
from clients.prophet.usage import Usage

LOG = logging.getLogger("memlift.prophet")
MAX_RATIONALE = 8_000

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of both runs; None where one gave nothing. `notes` are for the rationale."""

    alone: Answer | None
    advised: Advised | None
    served: Retrieval | None
    notes: tuple[str, ...]

    def given(self, event: Event) -> Answer:
        """The answer with memory, else without, else what stands in."""
        if self.advised is not None:
            return self.advised.answer
        return self.alone or stand_in(event)

    @property
    def usage(self) -> Usage:
        """What both runs cost; the same answer twice was one."""
        answers = [self.alone, None if self.advised is None else self.advised.answer]
        different = {id(one): one.usage for one in answers if one is not None}
        return sum(different.values(), Usage())


@dataclass(frozen=True, slots=True)
class MemoryAgent:
    """A forecaster, with the memory that it asks."""

    forecaster: Forecaster
    recall: Recall
    hide_price: bool = False

    def forecast(self, event: Event) -> Answer:
        """A probability for each outcome. Raises nothing but for faults of our own."""
        seen = event.without_prices() if self.hide_price else event
        attempt = self._attempted(seen)
        given = attempt.given(seen)
        said = " ".join(part for part in (given.rationale, *attempt.notes) if part)
        prediction = self._prediction(attempt, given, with_sources(said, event))
        handed_in = self.recall.tell(seen, prediction)
        if handed_in is not None:
            said += f" The memory server did not take the forecast ({handed_in.reason})."
        return Answer(given.probabilities, said[:MAX_RATIONALE], attempt.usage)

    def _attempted(self, event: Event) -> Attempt:
        served = self.recall.ask(event, self.forecaster.wish)
        alone = _tried(event, lambda: self.forecaster.alone(event))
        notes = [_silent(alone)] if isinstance(alone, str) else []
        start = None if isinstance(alone, str) else alone
        if isinstance(served, Silence):
            notes.append(f"Forecast without memory: the server gave none ({served.reason}).")
            return Attempt(start, None, None, tuple(notes))
        advised = _tried(event, lambda: self.forecaster.advised(event, start, served))
        if isinstance(advised, str):
            notes.append(f"Forecast without memory: no answer with it ({advised}).")
            return Attempt(start, None, served, tuple(notes))
        return Attempt(start, advised, served, tuple(notes))

    def _prediction(self, attempt: Attempt, given: Answer, said: str) -> PredictionFields:
        """What is handed in. Only a run that really used what was served names its receipt: memory
        is not to be judged by an answer it had no part in.
        """
        fields = PredictionFields(
            agent=self.recall.agent,
            probabilities=given.probabilities,
            rationale=said[:MAX_RATIONALE],
        )
        advised, served = attempt.advised, attempt.served
        if advised is None or served is None:
            return fields
        fields["retrieval_id"] = served.receipt
        if attempt.alone is not None:
            fields["baseline_probabilities"] = attempt.alone.probabilities
        if advised.full is not None:
            fields["full_probabilities"] = advised.full
        if advised.rankers is not None:
            fields["answers"] = advised.rankers
        if advised.used is not None:
            fields["used"] = advised.used
        return fields


def _tried(event: Event, work: Callable[[], Result]) -> Result | str:
    """The result, or why there is none."""
    try:
        return work()
    except NoAnswer as fault:
        LOG.warning("%s: the forecaster gave no answer: %s", event.key, fault)
        return str(fault)


def _silent(reason: str) -> str:
    return f"The forecaster gave no answer without memory ({reason})."
