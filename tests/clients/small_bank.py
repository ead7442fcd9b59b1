"""A bank in a list that speaks just enough of the contract for a replay."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from memlift_client import Guideline, OutcomeTaken, Remembered, Retrieval, ServedMemory

from tests.fixtures.answers import a_document

Fields = dict[str, Any]


FLAT, WEIGHTED = "flat/none", "weighted/none"


class SmallBank:
    """Has two rankers: the flat one would serve every memory with score ½, the other only the
    first, with score 1. Logs which kind of call came, at which time.
    """

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []
        self.memories: list[Fields] = []
        self.asked: dict[str, Fields] = {}
        self.outcomes: dict[str, Fields] = {}
        self._routes: Mapping[str, Callable[[Fields], Fields]] = {
            "experiences": self._remember,
            "retrievals": self._retrieve,
            "outcomes": self._report,
        }

    def __call__(self, request: httpx.Request) -> httpx.Response:
        *_, kind, action = request.url.path.split("/")
        if action == "apply":
            self.log.append(("apply", ""))
            numbers = {"bank_version": 1, "applied": 1, "pending": 0, "set_aside": 0}
            return httpx.Response(200, json=numbers)
        items = json.loads(request.content)["items"]
        rows = [{"index": n, "status": 201, **self._routes[kind](i)} for n, i in enumerate(items)]
        return httpx.Response(207, json={"items": rows})

    def _remember(self, item: Fields) -> Fields:
        self.log.append(("remember", item["learned_at"]))
        self.memories.append(item)
        named = {"id": f"m-{len(self.memories)}", "version": 1}
        return a_document(Remembered, **named, bank_version=1, memory_status="active")

    def _report(self, item: Fields) -> Fields:
        self.log.append(("report", item["known_at"]))
        self.outcomes[item["retrieval_id"]] = item
        taken = {"outcome_id": "o", "status": "accepted", "reason": None, "evidence": "paired"}
        return {"outcome": a_document(OutcomeTaken, **taken, warnings=[])}

    def _retrieve(self, item: Fields) -> Fields:
        self.log.append(("retrieve", item["as_of"]))
        receipt = f"r-{item['task']['key']}"
        self.asked[receipt] = item
        served = [_served(n, memory) for n, memory in enumerate(self.memories)]
        return {"retrieval": {**ANSWER, "retrieval_id": receipt, "memories": served}}


def _served(rank: int, memory: Fields) -> Fields:
    numbers = dict.fromkeys(
        ("similarity", "relevance", "effective_weight", "ranking_weight", "score"), 0.5
    )
    named = {"memory_id": f"m-{rank}", "version": 1, "rank": rank}
    scores = {FLAT: 0.5, WEIGHTED: None if rank else 1.0}
    members = {**named, **numbers, "scores": scores, "metadata": memory["metadata"]}
    return a_document(ServedMemory, **members)


ANSWER: Fields = a_document(
    Retrieval,
    agent="analog",
    task_id="t",
    category="fred",
    confidence=1.0,
    purpose="paired",
    arm="paired",
    propensity=1.0,
    eligible=True,
    bank_version=1,
    as_of="2026-01-05T00:00:00Z",
    ranker=FLAT,
    rankers={FLAT: 0.75, WEIGHTED: 0.25},
    strength=0.5,
    policy="belief",
    compiler="deterministic",
    guideline=a_document(Guideline, text="", counter="words"),
)
