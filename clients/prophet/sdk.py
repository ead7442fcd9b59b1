"""The agent for today's SDK of Prophet Arena (prophet-arena): `arena.run` it, or `arena.evaluate`
it over a local dataset.

Over a dataset of the past the memory server's namespace has to have a replay clock, and the agent
has to be told when each window was asked: `moments_of` reads that from the records.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import cast

import arena

from clients.prophet.agent import MemoryAgent
from clients.prophet.event import Event

MOMENT = timedelta(seconds=1)

Moments = Callable[[arena.Event], datetime | None]
Record = Mapping[str, object]


def now(_: arena.Event) -> datetime | None:
    """Every event is asked about now: for namespaces with a wall clock."""
    return None


class ProphetAgent(arena.Agent):
    """Answers with what its memory agent says. `asked_at` gives the time of each question."""

    def __init__(self, name: str, agent: MemoryAgent, asked_at: Moments = now) -> None:
        super().__init__(name)
        self._agent = agent
        self._asked_at = asked_at

    def forecast(self, event: arena.Event) -> arena.Forecast:
        answer = self._agent.forecast(event_of(event, self._asked_at(event)))
        return arena.Forecast(
            probabilities=dict(answer.probabilities), rationale=answer.rationale or None
        )


def event_of(event: arena.Event, asked_at: datetime | None = None) -> Event:
    """The SDK's event in our words."""
    return Event(
        slug=event.slug,
        title=event.title or event.slug,
        outcomes=tuple(event.outcome_names),
        exclusive=event.mutually_exclusive,
        category=event.category or None,
        rules=event.criteria,
        closes_at=event.window_closes_at or event.close_at,
        window=event.window or 0,
        crowd=dict(event.crowd),
        sources=tuple(f"{s.title or s.url or ''}: {s.summary or ''}" for s in event.context),
        asked_at=asked_at,
    )


def moments_of(records: Iterable[Record]) -> Moments:
    """When each window of a dataset was asked: when its snapshot was taken, else just before it
    closed.
    """
    taken: dict[tuple[str, int], datetime] = {}
    for record in records:
        for window in cast("Iterable[Record]", record.get("windows") or ()):
            moment = window.get("taken_at")
            if moment is not None:
                key = (str(record["slug"]), cast("int", window["round"]))
                taken[key] = moment_of(str(moment))

    def asked_at(event: arena.Event) -> datetime | None:
        closed = (event.window_closes_at or event.close_at) - MOMENT
        return taken.get((event.slug, event.window or 0), closed)

    return asked_at


def moment_of(text: str) -> datetime:
    """A time as the records have it; without a zone it is UTC."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
