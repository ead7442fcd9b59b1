"""A forecaster behind a URL: it gets the event as the older contract has it, with a guideline.

`POST URL` with {market_ticker, title, category, rules, close_time, outcomes, crowd, guideline};
`guideline` is "" in the call without memory. Answered as the contract says: {probabilities, p_yes,
rationale}, where either of the first two will do.
"""

from dataclasses import dataclass, replace
from typing import cast

import httpx
from memlift_client import Retrieval

from clients.prophet.deadline import TooSlow, within
from clients.prophet.event import Event
from clients.prophet.forecaster import Advised, Answer, NoAnswer, Wish
from clients.prophet.reading import SHOWN, Document, read_document
from clients.prophet.usage import Usage


@dataclass(frozen=True, slots=True)
class EndpointForecaster:
    """seconds: how long one answer may take."""

    url: str
    seconds: float = 8.0
    wish = Wish(k=8, all_rankers=False, format="brief")

    def alone(self, event: Event) -> Answer:
        return self._asked(event, "")

    def advised(self, event: Event, alone: Answer | None, served: Retrieval) -> Advised:
        if not served.guideline.text and alone is not None:
            return Advised(alone)
        return Advised(self._asked(event, served.guideline.text or ""))

    def _asked(self, event: Event, guideline: str) -> Answer:
        body = _wire(event) | {"guideline": guideline}
        try:
            reply = within(
                self.seconds, lambda: httpx.post(self.url, json=body, timeout=self.seconds)
            )
            document: object = reply.raise_for_status().json()
        except (TooSlow, httpx.HTTPError, ValueError) as fault:
            raise NoAnswer(f"{type(fault).__name__}: {fault}"[: 2 * SHOWN]) from None
        if not isinstance(document, dict):
            raise NoAnswer("the endpoint answered with no JSON object")
        answer = read_document(cast("Document", document), event)
        return replace(answer, usage=Usage(calls=1, unpriced=1))


def _wire(event: Event) -> dict[str, object]:
    return {
        "event_ticker": event.slug,
        "market_ticker": event.slug,
        "title": event.title,
        "category": event.category or "",
        "rules": event.rules,
        "close_time": None if event.closes_at is None else event.closes_at.isoformat(),
        "outcomes": list(event.outcomes),
        "crowd": dict(event.crowd),
        "sources": list(event.sources),
    }
