"""A namespace that is fed with recorded runs over REST, and what can be read back from it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from benchmarks.bench import Bench
from benchmarks.contrast.groups import CATEGORIES, Group, Run
from benchmarks.load import Hit, Shot, fire, timings

BATCH = 256
FIRST_PROBLEM = 300
PAGE = 200
PARTS = 8
"""Time is taken in so many parts, so that growth shows."""


@dataclass(frozen=True, slots=True)
class Bank:
    """One namespace of the server under measurement."""

    bench: Bench
    slug: str

    @property
    def prefix(self) -> str:
        return f"/v1/namespaces/{self.slug}"

    def open(self, groups: Sequence[Group], taxonomy: Mapping[str, object]) -> None:
        """The namespace, the agents of these groups with their families, and the taxonomy."""
        self.make("/v1/namespaces", {"slug": self.slug})
        for agent, family in sorted({(r.agent, r.family) for g in groups for r in g.runs}):
            self.make(f"{self.prefix}/agents", {"name": agent, "family": family})
        self._good(fire(self.bench.server, [Shot("PUT", f"{self.prefix}/taxonomy", taxonomy)], 1))

    def ingest(self, groups: Sequence[Group], operation: str | None = None) -> None:
        """Every run of these groups, in batches that one caller sends; timed by parts."""
        bodies = [_trajectory(group, run) for group in groups for run in group.runs]
        shots = [
            Shot("POST", f"{self.prefix}/trajectories/batch", {"items": bodies[i : i + BATCH]})
            for i in range(0, len(bodies), BATCH)
        ]
        hits = self._good(fire(self.bench.server, shots, 1))
        for hit in hits:
            refused = [item for item in hit.answer["items"] if item["status"] >= FIRST_PROBLEM]
            if refused:
                raise SystemExit(f"runs were refused: {refused[:1]}")
        if operation is not None:
            self.bench.timed(operation, 1, timings(hits))

    def tasks(self) -> dict[str, str]:
        """The server's id of each task, by the caller's key."""
        return {run["task_key"]: run["task_id"] for run in self.every("trajectories")}

    def contrast(self, task_ids: Sequence[str], operation: str) -> None:
        """The pairs of each task, made in a call of its own; timed by parts."""
        shots = [Shot("POST", f"{self.prefix}/contrasts", {"task_id": one}) for one in task_ids]
        for part in range(PARTS):
            some = shots[len(shots) * part // PARTS : len(shots) * (part + 1) // PARTS]
            hits = self._good(fire(self.bench.server, some, 1))
            self.bench.timed(f"{operation}_{part + 1}", 1, timings(hits))

    def bring(self, said: Sequence[tuple[Group, str]]) -> list[list[str]]:
        """What the lint says of constraints that a caller brings: each with its task and its
        obligation.
        """
        shots = [
            Shot("POST", f"{self.prefix}/constraints", _constraint(group, enforce))
            for group, enforce in said
        ]
        return [hit.answer["lint"] for hit in self._good(fire(self.bench.server, shots, 1))]

    def every(self, noun: str, **filters: str) -> Iterator[dict[str, Any]]:
        """All rows of a listing, page by page."""
        cursor: str | None = None
        while True:
            words = {**filters, "limit": str(PAGE)} | ({"cursor": cursor} if cursor else {})
            [hit] = self._good(fire(self.bench.server, [self._get(noun, words)], 1))
            yield from hit.answer["items"]
            cursor = hit.answer["next_cursor"]
            if cursor is None:
                return

    def ask(self, agent: str, groups: Sequence[Group], *, told: bool) -> list[dict[str, Any]]:
        """What would be served for each task; `told`: its category is given."""
        asks = [_ask(agent, group, told=told) for group in groups]
        shots = [
            Shot("POST", f"{self.prefix}/retrievals/batch", {"items": asks[i : i + BATCH]})
            for i in range(0, len(asks), BATCH)
        ]
        answers: list[dict[str, Any]] = []
        for hit in self._good(fire(self.bench.server, shots, 1)):
            answers += [item["retrieval"] for item in hit.answer["items"]]
        return answers

    def _get(self, noun: str, words: dict[str, str]) -> Shot:
        return Shot("GET", f"{self.prefix}/{noun}?{urlencode(words)}")

    def make(self, path: str, body: object) -> Any:
        """The answer to a request that must succeed."""
        [hit] = self._good(fire(self.bench.server, [Shot("POST", path, body)], 1))
        return hit.answer

    def _good(self, hits: list[Hit]) -> list[Hit]:
        bad = [hit for hit in hits if not hit.timing.ok]
        if bad:
            raise SystemExit(f"the server refused {self.slug}: {bad[0].status} {bad[0].answer}")
        return hits


def _trajectory(group: Group, run: Run) -> dict[str, object]:
    body: dict[str, object] = {
        "agent": run.agent,
        "task": _task(group, told=True),
        "steps": [{"text": step} for step in run.steps],
        "reward": float(run.success),
        "verifier": "test",
    }
    return body if run.result is None else {**body, "result": run.result}


def _task(group: Group, *, told: bool) -> dict[str, object]:
    task: dict[str, object] = {"text": group.prompt}
    if told:
        category, subcategory = CATEGORIES[group.suite]
        task |= {"key": group.task, "category": category, "subcategory": subcategory}
    if group.entry_point is not None:
        task["metadata"] = {"identifiers": [group.entry_point]}
    return task


def _constraint(group: Group, enforce: str) -> dict[str, object]:
    return {
        "agent": group.runs[0].agent,
        "trigger": "a question of this kind is asked",
        "enforce": enforce,
        "task": _task(group, told=True),
    }


def _ask(agent: str, group: Group, *, told: bool) -> dict[str, object]:
    return {
        "agent": agent,
        "task": _task(group, told=told),
        "k": 1,
        "purpose": "preview",
        "arm": "on",
        "format": "memories",
    }
