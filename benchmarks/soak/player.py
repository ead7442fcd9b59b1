"""A caller: its chance, its connections, and how it counts what it does."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from benchmarks.soak.ground import Ground, Speaker
from benchmarks.soak.tally import LOST, PASSING, Tally
from benchmarks.soak.wire import PAUSE, Answer, Wire

OK = frozenset({200})
NEW = frozenset({200, 201})
BATCH = 207
TRIES = 600
AWAY = frozenset({409})
"""The same call is still under way, where its first answer was lost."""


@dataclass(frozen=True, slots=True)
class Player:
    """One caller among several; the same seed makes the same choices."""

    wire: Wire
    tally: Tally
    chance: Random

    def does(
        self, kind: str, allowed: frozenset[int], speaker: Speaker, *asked: Any, version: int = 0
    ) -> Answer:
        """One request that is one operation."""
        answer = self.wire.ask(speaker.token, *asked, version=version or None)
        self.tally.count(kind, answer.status, allowed, answer.body)
        return answer

    def does_once(
        self, kind: str, allowed: frozenset[int], speaker: Speaker, path: str, body: object
    ) -> Answer:
        """One write, sent under one idempotency key until it is answered for good: however often
        it was sent, it has its effect once.
        """
        once = str(UUID(int=self.chance.getrandbits(128)))
        answer = Answer(LOST, {})
        for _ in range(TRIES):
            answer = self.wire.ask(speaker.token, "POST", path, body, once=once)
            self.tally.count(kind, answer.status, allowed | AWAY, answer.body)
            if answer.status not in PASSING | AWAY:
                return answer
            time.sleep(PAUSE)
        self.tally.violate(f"{kind} was not answered in {TRIES} tries: {answer.body}")
        return answer

    def does_all(
        self, speaker: Speaker, path: str, items: list[tuple[str, frozenset[int], dict[str, Any]]]
    ) -> list[Any]:
        """One batch, each item of it an operation: its kind, its good answers, its body. Returns
        an entry for each item, or nothing where the whole batch failed.
        """
        body = {"items": [body for _, _, body in items]}
        answer = self.wire.ask(speaker.token, "POST", path, body)
        if answer.status != BATCH:
            for kind, _, _ in items:
                self.tally.count(kind, answer.status, frozenset(), answer.body)
            return []
        entries: list[Any] = answer.body["items"]
        for (kind, allowed, _), entry in zip(items, entries, strict=True):
            self.tally.count(kind, entry["status"], allowed, entry.get("problem"))
        return entries

    def happens(self, share: float) -> bool:
        return self.chance.random() < share

    def reads_back(self, ground: Ground, kind: str, paths: Iterable[str]) -> None:
        """What was just acknowledged is there, whichever process is asked."""
        for path in paths:
            self.does(f"read {kind}", OK, ground.admin, "GET", ground.path(path))
