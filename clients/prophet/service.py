"""The older contract, over HTTP: `POST /predict` with one event, answered with probabilities.

    {"event_ticker", "market_ticker", "title", "subtitle", "description", "category", "rules",
     "close_time", "outcomes": [...], "crowd": {name: p}}
    -> {"probabilities": {name: p}, "p_yes": 0.01…0.99, "rationale"}

`market_ticker` names the event. Without outcomes it is a question of Yes or No; with several,
exactly one comes true. `p_yes` is about Yes, else the first outcome, and kept within the bounds of
the public client. What the public client sends as `resolved_outcome` is not read.
"""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import FastAPI
from pydantic import BaseModel, Field, model_validator

from clients.prophet.agent import MemoryAgent
from clients.prophet.event import NO, YES, Event, folded

LEAST, MOST = 0.01, 0.99
MAX_OUTCOMES = 256

Name = Annotated[str, Field(min_length=1, max_length=200)]
Share = Annotated[float, Field(ge=0, le=1)]


class Asked(BaseModel):
    """The request; members that are not named here are ignored."""

    market_ticker: Annotated[str, Field(min_length=1)]
    title: Annotated[str, Field(min_length=1)]
    subtitle: str | None = None
    description: str | None = None
    category: str | None = None
    rules: str | None = None
    close_time: datetime | None = None
    outcomes: Annotated[list[Name], Field(max_length=MAX_OUTCOMES)] | None = None
    crowd: dict[str, Share] = Field(default_factory=dict[str, float])

    @model_validator(mode="after")
    def _distinct(self) -> "Asked":
        names = [folded(name) for name in self.outcomes or ()]
        if len(set(names)) != len(names):
            raise ValueError("two outcomes have the same name")
        return self

    def event(self) -> Event:
        title = f"{self.title} {self.subtitle}" if self.subtitle else self.title
        return Event(
            slug=self.market_ticker,
            title=title,
            outcomes=tuple(self.outcomes or (YES, NO)),
            category=self.category,
            rules=self.rules,
            closes_at=_zoned(self.close_time),
            crowd=self.crowd,
            sources=(self.description,) if self.description else (),
        )


class Answered(BaseModel):
    """A probability for each outcome by its exact name, and one for the older client."""

    probabilities: dict[str, float]
    p_yes: float
    rationale: str


def application(agent: MemoryAgent) -> FastAPI:
    """The service around this agent."""
    app = FastAPI(title="MemLift forecaster", docs_url=None, redoc_url=None)

    @app.post("/predict")
    def predict(asked: Asked) -> Answered:  # pyright: ignore[reportUnusedFunction] - the app has it
        event = asked.event()
        answer = agent.forecast(event)
        p_yes = min(MOST, max(LEAST, answer.probabilities[event.affirmative]))
        return Answered(
            probabilities=dict(answer.probabilities), p_yes=p_yes, rationale=answer.rationale
        )

    return app


def _zoned(moment: datetime | None) -> datetime | None:
    """A time without a zone is taken as UTC."""
    if moment is None or moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=UTC)
