"""An adversary at work in a world: its keys, its budget, and what it has counted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.attack.wire import Answer, Budget
from benchmarks.attack.world import Key, World


@dataclass(slots=True)
class Assault:
    """One adversary. `sources` are what a rollback takes to undo each of its keys, and its party
    as a whole; `own` are the memories it wrote,
    `leaks` the surfaces on which it read what is private.
    """

    world: World
    budget: Budget
    counts: dict[str, float] = field(default_factory=dict[str, float])
    keys: list[Key] = field(default_factory=list[Key])
    sources: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    own: set[str] = field(default_factory=set[str])
    leaks: set[str] = field(default_factory=set[str])

    def recruit(self, name: str, *agents: str) -> Key:
        """A key of role agent in the hands of the adversary."""
        key = self.world.key(name, *agents)
        self.keys.append(key)
        self.sources.append({"key_id": key.id})
        return key

    def ask(
        self, key: Key, method: str, rest: str, body: object = None, *, cost: int = 1
    ) -> Answer:
        """One request of the budget, or a batch of `cost` items."""
        return self.budget.ask(key.caller, method, self.world.path(rest), body, cost=cost)

    def post(self, key: Key, rest: str, body: object) -> Any:
        """The body of the answer, whatever it is."""
        return self.ask(key, "POST", rest, body).body

    def receive(self, key: Key, wanted: object) -> tuple[str, list[str]] | None:
        """A retrieval: its id and the memories served; None where it is refused."""
        body = self.post(key, "/retrievals", wanted)
        if body.get("retrieval_id") is None:
            return None
        return body["retrieval_id"], [memory["memory_id"] for memory in body["memories"]]

    def report(self, key: Key, receipt: str, told: object) -> Answer:
        """An outcome under a receipt."""
        return self.ask(key, "POST", f"/retrievals/{receipt}/outcome", told)

    def add(self, name: str, number: float = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + number

    def most(self, name: str, number: float) -> None:
        self.counts[name] = max(self.counts.get(name, 0), number)

    def remember(self, key: Key, body: Mapping[str, object]) -> str | None:
        """Store an experience of the adversary's; None where it is refused."""
        answer = self.ask(key, "POST", "/experiences", body)
        memory_id = answer.body.get("id") if answer.good else None
        if memory_id is not None:
            self.own.add(memory_id)
        return memory_id


@dataclass(frozen=True, slots=True)
class Attack:
    """A script. `counts` begin at 0, so that what never happened is counted too; one that moves no
    weights by its nature is played on a small bank and `weighed` not at all.
    """

    name: str
    about: str
    play: Callable[[Assault], None]
    counts: Sequence[str] = ()
    weighed: bool = True
    beyond: bool = False
    """Beyond what the targets are about: its figures are reported beside them."""
    after: Callable[[Assault], None] | None = None
    """What the suite looks up afterwards, outside the budget."""
