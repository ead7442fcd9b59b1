"""Stand-ins: a memory server in a few lines, a forecaster that says what it is told, arenas."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
from memlift_client import (
    AgentFields,
    Guideline,
    MemLift,
    Prediction,
    Retrieval,
    RetryPolicy,
    ServedMemory,
)
from memlift_client._reading import read

from clients.prophet.agent import MemoryAgent
from clients.prophet.event import Event
from clients.prophet.forecaster import Advised, Answer, Forecaster, NoAnswer, Wish
from clients.prophet.recall import Recall
from clients.prophet.resolutions import Resolution
from tests.fixtures.answers import a_document, made

Body = dict[str, Any]
FLAT, AGED = "flat/none", "weighted/30d"
MOMENT = "2026-01-05T00:00:00Z"

RETRIEVED: Body = a_document(
    Retrieval,
    retrieval_id="r-1",
    agent="prophet",
    task_id="t-1",
    category="weather",
    confidence=1.0,
    purpose="paired",
    arm="paired",
    propensity=1.0,
    eligible=True,
    bank_version=1,
    as_of=MOMENT,
    ranker=FLAT,
    strength=1.0,
    policy="belief",
    compiler="deterministic",
    guideline=a_document(Guideline, text="look back", tokens=2, counter="words"),
)
PREDICTED: Body = a_document(
    Prediction,
    id="p-1",
    agent="prophet",
    task_id="t-1",
    task_key="e#0",
    event="e",
    retrieval_id="r-1",
    revision=1,
    state="pending",
    probabilities={"Yes": 0.5, "No": 0.5},
)
PROBLEM: Body = {"title": "T", "code": "task_conflict", "detail": "the window closes otherwise"}


class SmallServer:
    """Knows retrievals, predictions and agents; logs what was asked. A conflict: the task with an
    end of its window is refused.
    """

    def __init__(self, *, conflict: bool = False) -> None:
        self.asked: list[tuple[str, Body]] = []
        self._conflict = conflict

    def __call__(self, request: httpx.Request) -> httpx.Response:
        kind = request.url.path.rsplit("/", 1)[-1]
        body: Body = json.loads(request.content)
        self.asked.append((kind, body))
        if kind == "agents":
            return httpx.Response(409, json=PROBLEM | {"code": "agent_exists", "status": 409})
        if self._conflict and "closes_at" in body.get("task", {}):
            return httpx.Response(409, json=PROBLEM | {"status": 409})
        return httpx.Response(201, json=RETRIEVED if kind == "retrievals" else PREDICTED)

    def bodies(self, kind: str) -> list[Body]:
        return [body for name, body in self.asked if name == kind]

    def recall(self) -> Recall:
        memory = MemLift(
            "http://memlift.test",
            "ml_k",
            retry_policy=RetryPolicy(attempts=1),
            transport=httpx.MockTransport(self),
        )
        return Recall(memory, "prophet", AgentFields(own_information=True))


@dataclass
class Parrot:
    """Says these probabilities of Yes; None is no answer."""

    without: float | None = 0.4
    given: float | None = 0.7
    says: str = "As I say."
    wish: Wish = field(default_factory=lambda: Wish(3, all_rankers=False, format="brief"))

    def alone(self, event: Event) -> Answer:
        return self._said(self.without)

    def advised(self, event: Event, alone: Answer | None, served: Retrieval) -> Advised:
        return Advised(self._said(self.given))

    def _said(self, yes: float | None) -> Answer:
        if yes is None:
            raise NoAnswer("it only coughed")
        return Answer({"Yes": yes, "No": 1 - yes}, self.says)


@dataclass
class Oracle:
    """Knows how events came out; an Exception is raised. Counts the questions."""

    knows: Mapping[str, Resolution | Exception | None]
    asked: list[str] = field(default_factory=list[str])

    def resolution_of(self, slug: str) -> Resolution | None:
        self.asked.append(slug)
        found = self.knows.get(slug)
        if isinstance(found, Exception):
            raise found
        return found


def an_agent(server: SmallServer, forecaster: Forecaster, **parts: bool) -> MemoryAgent:
    return MemoryAgent(forecaster, server.recall(), **parts)


def an_event(**parts: Any) -> Event:
    return Event(**{"slug": "e", "title": "Will it?", "outcomes": ("Yes", "No")} | parts)


def a_memory(score: float, metadata: Body, aged: float | None = None) -> ServedMemory:
    """With a score by two rankers; None is not in the second one's list."""
    return made(
        ServedMemory,
        memory_id="m",
        version=1,
        similarity=0.5,
        relevance=0.5,
        effective_weight=1.0,
        ranking_weight=1.0,
        score=score,
        scores={FLAT: score, AGED: aged},
        metadata=metadata,
    )


def a_retrieval(*memories: ServedMemory, **parts: Any) -> Retrieval:
    served = replace(read(Retrieval, RETRIEVED), rankers={FLAT: 0.8, AGED: 0.2}, memories=memories)
    return replace(served, guideline=made(Guideline, text="", counter="words"), **parts)
