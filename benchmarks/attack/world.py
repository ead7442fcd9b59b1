"""A namespace with honest agents in it: the bank, their rounds of work, and what is read of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from benchmarks.attack.bank import AUTHORS, Note, notes, rewards, task
from benchmarks.attack.wire import Caller

CREATED, CONFLICT = 201, 409
K = 3
ROUNDS_BEFORE = 2
PROBES = 15
"""Retrievals by others for each memory that was attacked."""
DOWN, UP = 3, 2
"""How many good memories adversaries run down, and how many bad ones they praise."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key that the suite has made, and who uses it."""

    id: str
    caller: Caller
    agents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Victim:
    """A memory that an adversary wants moved."""

    note: Note
    memory_id: str


@dataclass(slots=True)
class World:
    """One namespace. `admin` is the operator; `honest` has a bound key for each author."""

    admin: Caller
    urls: Sequence[str]
    seed: int
    slug: str
    notes: list[Note]
    honest: dict[str, Key] = field(default_factory=dict[str, Key])
    ids: dict[int, str] = field(default_factory=dict[int, str])
    rounds: int = 0
    _keys: list[Key] = field(default_factory=list[Key])

    def path(self, rest: str) -> str:
        return f"/v1/namespaces/{self.slug}{rest}"

    def key(self, name: str, *agents: str, role: str = "agent") -> Key:
        """A new key of the namespace; bound to `agents` where any are named."""
        wanted = {"role": role, "name": name, "namespace": self.slug, "agents": agents or None}
        made = self.admin.demand("POST", "/v1/keys", wanted)
        key = Key(made["id"], Caller(made["token"], self.urls), agents)
        self._keys.append(key)
        return key

    def tester(self, name: str, agent: str) -> Key:
        """A key of an agent whose word an administrator takes for a test's, where keys have that;
        in a server without such keys every key may say so.
        """
        wanted = {"role": "agent", "name": name, "namespace": self.slug, "agents": [agent]}
        answer = self.admin.ask("POST", "/v1/keys", wanted | {"verifies": "test"})
        if not answer.good:
            return self.key(name, agent)
        key = Key(answer.body["id"], Caller(answer.body["token"], self.urls), (agent,))
        self._keys.append(key)
        return key

    def close(self) -> None:
        for key in self._keys:
            key.caller.close()

    def victims(self) -> tuple[list[Victim], list[Victim]]:
        """Good memories to run down and bad ones to praise; the last of each is fresh."""

        def some(number: int, *, good: bool) -> list[Victim]:
            fitting = [note for note in self.notes if note.good is good]
            chosen = [note for note in fitting if not note.fresh][: number - 1]
            chosen += [note for note in fitting if note.fresh][:1]
            return [Victim(note, self.ids[note.number]) for note in chosen]

        return some(DOWN, good=True), some(UP, good=False)

    def by_id(self) -> dict[str, Note]:
        return {self.ids[note.number]: note for note in self.notes if note.number in self.ids}

    def store(self, chosen: Iterable[Note]) -> None:
        """Each note by its author's key."""
        by_author: dict[str, list[Note]] = {}
        for note in chosen:
            by_author.setdefault(note.author, []).append(note)
        for author, its in by_author.items():
            items = [_experience(note) for note in its]
            path = self.path("/experiences/batch")
            stored = self.honest[author].caller.demand("POST", path, {"items": items})
            for note, item in zip(its, stored["items"], strict=True):
                if item["status"] != CREATED:
                    raise SystemExit(f"a memory of the bank was not stored: {item}")
                self.ids[note.number] = item["id"]

    def honest_round(self) -> None:
        """Every memory's task once, by some honest agent, half of them in pairs; then applied."""
        number = self.rounds
        self.rounds += 1
        chance = Random(f"round {self.seed} {number}")  # noqa: S311 - a mix of tasks, no secret
        living = [note for note in self.notes if note.number in self.ids]
        chance.shuffle(living)
        for place, author in enumerate(AUTHORS):
            share = living[place :: len(AUTHORS)]
            self._work(self.honest[author], author, share, chance)
        self.apply()

    def apply(self) -> None:
        self.admin.demand("POST", self.path("/outcomes/apply"), {})

    def probe(self, victims: Sequence[Victim]) -> dict[str, float]:
        """For each victim, the share of the retrievals of the agents that did not write it, for
        tasks that it is nearest to, in which it is served. The same tasks every time.
        """
        return {v.memory_id: self._probed(v) for v in victims}

    def statuses(self) -> dict[str, str]:
        """Of all experiences, by id."""
        path = self.path("/memories?kind=experience&limit=200")
        listed = self.admin.demand("GET", path)["items"]
        return {row["id"]: row["status"] for row in listed}

    def weights(self) -> dict[str, float]:
        """What the bank says of each memory, for no agent in particular."""
        listed = self.admin.demand("GET", self.path("/bank?limit=200"))["items"]
        return {row["memory_id"]: row["effective_weight"] for row in listed}

    def without(self, **source: str) -> dict[str, float]:
        """The weights as they would be without what a key (or agent) reported: a rollback's dry
        run, which folds all other outcomes again.
        """
        body = {**source, "dry_run": True}
        found = self.admin.demand("POST", self.path("/rollbacks"), body)["difference"]
        changed = {row["memory_id"]: row["after"] for row in found["weights"]}
        return self.weights() | {k: v for k, v in changed.items() if v is not None}

    def roll_back(self, **source: str) -> None:
        self.admin.demand("POST", self.path("/rollbacks"), {**source, "dry_run": False})
        self.apply()

    def run_job(self, job: str) -> None:
        self.admin.demand("POST", self.path(f"/jobs/{job}/runs"), {"dry_run": False})

    def retrieve_many(self, key: Key, items: Sequence[Mapping[str, object]]) -> list[Any]:
        """The answers to a batch of retrievals, all of which have to be good."""
        path = self.path("/retrievals/batch")
        found = key.caller.demand("POST", path, {"items": list(items)})["items"]
        if any(item["retrieval"] is None for item in found):
            raise SystemExit(f"a retrieval was refused: {found[0]}")
        return [item["retrieval"] for item in found]

    def _work(self, key: Key, agent: str, share: Sequence[Note], chance: Random) -> None:
        number = self.rounds
        paired = [chance.random() < 0.5 for _ in share]  # noqa: PLR2004 - half of them
        asks = [
            ask(agent, task(note, self.seed, number), paired=both)
            for note, both in zip(share, paired, strict=True)
        ]
        served = self.retrieve_many(key, asks)
        worth = {memory_id: note.worth for memory_id, note in self.by_id().items()}
        reports: list[dict[str, object]] = []
        for receipt, both in zip(served, paired, strict=True):
            lines = [memory["memory_id"] for memory in receipt["memories"]]
            with_memory, alone = rewards(chance, [worth.get(one, 0.0) for one in lines])
            report: dict[str, object] = {"retrieval_id": receipt["retrieval_id"]}
            report["reward"] = with_memory
            if both:
                report["without"] = {"reward": alone}
            reports.append(report)
        key.caller.demand("POST", self.path("/outcomes/batch"), {"items": reports})

    def _probed(self, victim: Victim) -> float:
        others = [name for name in AUTHORS if name != victim.note.author]
        served = 0
        for place, agent in enumerate(others):
            numbers = range(place, PROBES, len(others))
            asks = [_probe(agent, victim.note, self.seed, number) for number in numbers]
            for receipt in self.retrieve_many(self.honest[agent], asks):
                lines = [memory["memory_id"] for memory in receipt["memories"]]
                served += victim.memory_id in lines
        return served / PROBES


def open_world(admin: Caller, urls: Sequence[str], seed: int, name: str) -> World:
    """A fresh namespace with a key for each honest agent, and nothing stored."""
    slug = _namespace(admin, f"attack-{name}-{seed}")
    world = World(admin, urls, seed, slug, notes(seed))
    world.honest = {author: world.key(author, author) for author in AUTHORS}
    return world


def settle(world: World, rounds: int = ROUNDS_BEFORE) -> None:
    """The bank as an adversary finds it: most memories with a record, a few fresh ones."""
    world.store(note for note in world.notes if not note.fresh)
    for _ in range(rounds):
        world.honest_round()
    world.store(note for note in world.notes if note.fresh)


def ask(agent: str, text: str, *, paired: bool = False, k: int = K) -> dict[str, object]:
    """A retrieval that serves memory for certain where it is `paired`."""
    return {
        "agent": agent,
        "task": {"text": text},
        "k": k,
        "purpose": "paired" if paired else "act",
    }


PROBE_NUMBERS = 1_000
"""Where the numbers of tasks begin that are only used to look."""


def _probe(agent: str, note: Note, seed: int, number: int) -> dict[str, object]:
    text = task(note, seed, PROBE_NUMBERS + number)
    key = f"probe-{note.number}-{number}"
    return {"agent": agent, "task": {"text": text, "key": key}, "k": K, "arm": "on"}


def _experience(note: Note) -> dict[str, object]:
    return {
        "agent": note.author,
        "situation": note.situation,
        "lesson": note.lesson,
        "category": note.category,
    }


def _namespace(admin: Caller, slug: str) -> str:
    """One that is not there yet: a server may have been attacked before."""
    for number in count():
        name = f"{slug}-{number}" if number else slug
        answer = admin.ask("POST", "/v1/namespaces", {"slug": name})
        if answer.good:
            return name
        if answer.status != CONFLICT:
            raise SystemExit(f"no namespace: {answer.status} {answer.text[:300]}")
    raise AssertionError("numbers do not end")
