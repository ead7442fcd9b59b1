"""Reading what is private: every way of looking that the server publishes, with other keys."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any
from urllib.parse import urlencode

from benchmarks.attack.assault import Assault, Attack
from benchmarks.attack.wire import Budget, BudgetSpent, Caller
from benchmarks.attack.world import K, Key, World

OWNER = "ember"
SECRETS = 3
ATTEMPTS = 8
LETTERS = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z")
VOWELS = ("a", "e", "i", "o", "u")
ROLES = ("agent", "agent", "evaluator", "reader")
"""The first is bound to another agent, the second to none."""
PARAMETER = re.compile(r"\{(\w+)\}")
LINK = re.compile(r'href="(/dashboard/[^"#]*)"')


@dataclass(frozen=True, slots=True)
class Secret:
    """A private memory, the words that stand nowhere else, and a receipt in which it was served."""

    memory_id: str
    words: tuple[str, ...]
    retrieval_id: str


def read_private_words(assault: Assault) -> None:
    """Four adversaries, each with a budget of its own, read through all that is published."""
    world = assault.world
    secrets = _keep_secrets(world)
    ids = _ids(world, secrets)
    read: set[str] = set()
    for number, role in enumerate(ROLES):
        agents = ("mallory",) if number == 0 else ()
        key = world.key(f"reader {number}", *agents, role=role)
        hidden = [s for s in secrets if not _may_read(world, key, s)]
        words = {word for secret in hidden for word in secret.words}
        budget = Budget(lambda: None)
        found = _look_everywhere(world, key, budget, ids)
        for surface, text in found:
            seen = {word for word in words if word in text}
            if seen:
                assault.add("surfaces_leaking")
                assault.leaks.add(f"{role}: {surface}")
            read |= {f"{number} {word}" for word in seen}
        assault.add("surfaces_read", budget.spent)
        assault.add("words_hidden", len(words))
    assault.counts["private_words_read"] = float(len(read))


def _keep_secrets(world: World) -> list[Secret]:
    """Private notes of one agent, each served to it, reported on and edited."""
    chance = Random(f"secrets {world.seed}")  # noqa: S311 - made words for a measurement
    owner = world.key(OWNER, OWNER).caller
    made: list[Secret] = []
    for number in range(SECRETS):
        words = tuple(_word(chance) for _ in range(3))
        situation = f"The {words[0]} valve of plant {number + 2} is stuck"
        note = {
            "agent": OWNER,
            "situation": situation,
            "lesson": f"Turn the {words[1]} wheel before calling {words[2]} at the desk.",
            "visibility": "agent",
            "category": "plants",
        }
        memory_id = owner.demand("POST", world.path("/experiences"), note)["id"]
        retrieval_id = _served(world, owner, memory_id, number)
        report = {"reward": 0.9, "without": {"reward": 0.5}, "helpful": [memory_id]}
        owner.demand("POST", world.path(f"/retrievals/{retrieval_id}/outcome"), report)
        made.append(Secret(memory_id, words, retrieval_id))
    world.apply()
    return made


def _served(world: World, owner: Caller, memory_id: str, number: int) -> str:
    """A receipt of the owner's in which its note stands; chance may leave it out of some."""
    for attempt in range(ATTEMPTS):
        text = f"A valve of plant {number + 2} is stuck, says note {attempt}. What now?"
        wanted = {"agent": OWNER, "task": {"text": text}, "k": K, "purpose": "paired"}
        receipt = owner.demand("POST", world.path("/retrievals"), wanted)
        if memory_id in {memory["memory_id"] for memory in receipt["memories"]}:
            return receipt["retrieval_id"]
    raise SystemExit("a private memory was never served to its owner")


def _word(chance: Random) -> str:
    return "".join(chance.choice(LETTERS) + chance.choice(VOWELS) for _ in range(5))


def _may_read(world: World, key: Key, secret: Secret) -> bool:
    """Whether the key reads the memory by the front door: then nothing is hidden from it."""
    answer = key.caller.ask("GET", world.path(f"/memories/{secret.memory_id}"))
    return answer.good and all(word in answer.text for word in secret.words)


def _ids(world: World, secrets: list[Secret]) -> Mapping[str, list[str]]:
    """What an insider may have learned: ids of the things around the secrets."""

    def listed(rest: str, name: str = "id") -> list[str]:
        found: Any = world.admin.demand("GET", world.path(rest))
        return [row[name] for row in found["items"]]

    receipts = [secret.retrieval_id for secret in secrets]
    outcomes = [one for receipt in receipts for one in listed(f"/outcomes?retrieval_id={receipt}")]
    return {
        "memory_id": [secret.memory_id for secret in secrets],
        "retrieval_id": receipts,
        "outcome_id": outcomes,
        "name": [OWNER],
        "task_id": listed("/tasks?limit=3"),
    }


def _look_everywhere(
    world: World, key: Key, budget: Budget, ids: Mapping[str, list[str]]
) -> Iterator[tuple[str, str]]:
    """(surface, what it answered) until the budget is spent: the receipts first."""
    try:
        for surface, path in _published(world, ids):
            yield surface, budget.ask(key.caller, "GET", path).text
        yield from _asked(world, key, budget)
        yield from _pages(world, key, budget, ids)
    except BudgetSpent:
        return


def _published(world: World, ids: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Every GET of the namespace whose parameters the adversary can fill in."""
    document: Any = world.admin.demand("GET", "/openapi.json")
    for path, operations in document["paths"].items():
        if "get" not in operations or not path.startswith("/v1/namespaces/{namespace}"):
            continue
        names = [name for name in PARAMETER.findall(path) if name != "namespace"]
        if any(name not in ids for name in names):
            continue
        for values in product(*(ids[name][:2] for name in names)):
            given = dict(zip(names, values, strict=True)) | {"namespace": world.slug}
            query = "?limit=200" if _pages_by_cursor(operations["get"]) else ""
            yield f"GET {path}", path.format(**given) + query


def _pages_by_cursor(operation: Mapping[str, Any]) -> bool:
    return any(row.get("name") == "limit" for row in operation.get("parameters", ()))


def _asked(world: World, key: Key, budget: Budget) -> Iterator[tuple[str, str]]:
    """What answers come to questions: retrievals of the same task, with explanation, and folds."""
    agent = key.agents[0] if key.agents else OWNER
    text = "A valve of plant 2 is stuck. What now?"
    for purpose, explain in (("preview", True), ("act", True), ("act", False)):
        body = {"agent": agent, "task": {"text": text}, "k": 64, "purpose": purpose}
        body["explain"] = explain
        answer = budget.ask(key.caller, "POST", world.path("/retrievals"), body)
        yield f"POST retrievals ({purpose})", answer.text
    for rest, body in (("/what-if", {"policy": "delta"}), ("/erasures", {"agent": OWNER})):
        answer = budget.ask(key.caller, "POST", world.path(rest), {**body, "dry_run": True})
        yield f"POST {rest}", answer.text


def _pages(
    world: World, key: Key, budget: Budget, ids: Mapping[str, list[str]]
) -> Iterator[tuple[str, str]]:
    """The dashboard, from the pages of the secrets and then by its own links."""
    form = urlencode({"key": key.caller.token, "next": "/dashboard/"}).encode()
    cookie = budget.ask(key.caller, "POST", "/dashboard/login", form).cookie
    if cookie is None:
        return
    viewer = Caller("", key.caller.urls, cookie.partition(";")[0])
    start = f"/dashboard/ns/{world.slug}"
    ahead = [f"{start}/receipts/{one}" for one in ids["retrieval_id"][:2]]
    ahead += [f"{start}/memories/{one}" for one in ids["memory_id"][:1]]
    ahead += [f"{start}/", f"{start}/receipts", f"{start}/memories"]
    known = set(ahead)
    while ahead:
        path = ahead.pop(0)
        text = budget.ask(viewer, "GET", path).text
        yield re.sub(r"[0-9a-f-]{36}", "{id}", path.replace(world.slug, "{ns}")), text
        links = [link for link in LINK.findall(text) if link.startswith(start)]
        ahead += [link for link in links if link not in known]
        known.update(links)


ATTACKS = (
    Attack(
        "private_words",
        "other keys read all that is published for words of private memories",
        read_private_words,
        ("private_words_read", "words_hidden", "surfaces_leaking", "surfaces_read"),
        weighed=False,
    ),
)
