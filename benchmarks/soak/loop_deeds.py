"""What callers do in the loop: retrieve, report in all ways there are, read back, apply."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from benchmarks.soak.ground import SITUATIONS, Ground, Receipt, Speaker, Told
from benchmarks.soak.player import NEW, OK, Player

TAKEN = frozenset({200, 202})
RACED = TAKEN | {409}
"""Another caller may have corrected the same outcome in between."""
MISSING = frozenset({404})
REFUSED = frozenset({400, 413, 415, 422})
FORBIDDEN = frozenset({403})
UNSERVED = frozenset({200, 409, 422})
MINUTE = 60.0
OPENED = 201
POOR = 0.1
TASKS = 40
Item = tuple[str, frozenset[int], dict[str, Any]]


def retrieve(player: Player, ground: Ground) -> None:
    """A batch of questions by one agent, a few of them promised as pairs or without memory."""
    speaker = player.chance.choice((*ground.agents, *ground.agents, ground.loud))
    items = [_question(player, ground, speaker) for _ in range(player.chance.randint(8, 96))]
    path = ground.path("/retrievals/batch")
    entries = player.does_all(speaker, path, items)
    opened = [
        _receipt(entry["retrieval"], speaker) for entry in entries if entry["status"] == OPENED
    ]
    with ground.lock:
        ground.open.extend(opened)
        ground.receipts.extend(receipt.id for receipt in opened)
    if opened and player.happens(0.3):
        player.reads_back(ground, "receipt", [f"/retrievals/{opened[-1].id}"])


def _question(player: Player, ground: Ground, speaker: Speaker) -> Item:
    purpose = player.chance.choices(
        ("act", "paired", "off", "all_rankers", "preview"), (60, 20, 10, 7, 3)
    )[0]
    number = player.chance.randrange(TASKS)
    body: dict[str, Any] = {
        "agent": speaker.agent,
        "task": _task(number),
        "k": player.chance.choice((1, 3, 5)),
        "max_tokens": player.chance.choice((200, 1000)),
        **ground.timed("as_of"),
    }
    if purpose == "off":
        body |= {"arm": "off"}
    elif purpose == "all_rankers":
        body |= {"all_rankers": True, "format": "memories"}
    else:
        body |= {"purpose": purpose}
    if player.happens(0.02):
        body |= {"expires_in": MINUTE}
    return f"retrieve, {purpose}", NEW, body


def _task(number: int) -> dict[str, str]:
    text = f"{SITUATIONS[number % len(SITUATIONS)]}, case {number}: what comes first?"
    return {"text": text, "key": f"case-{number}", "category": f"kind {number % 3}"}


def _receipt(served: Any, speaker: Speaker) -> Receipt:
    cited = tuple(memory["memory_id"] for memory in served["memories"] if memory["cited"])
    return Receipt(
        id=served["retrieval_id"],
        speaker=speaker,
        purpose=served["purpose"],
        arm=served["arm"],
        cited=cited,
        known_at=served["as_of"],
    )


def look_back(player: Player, ground: Ground) -> None:
    """A question as of an earlier moment: weights are refolded for it."""
    told = ground.earlier(None, player.chance)
    if told is None:
        return
    speaker = told.receipt.speaker
    body = {"agent": speaker.agent, "task": _task(1), "as_of": told.receipt.known_at}
    body |= {"purpose": "preview"}
    player.does("retrieve, past", OK, speaker, "POST", ground.path("/retrievals"), body)


def report(player: Player, ground: Ground) -> None:
    """A batch of outcomes: first words, and then what people do to them afterwards."""
    speaker = player.chance.choice((*ground.agents, ground.loud, ground.evaluator))
    by = None if speaker is ground.evaluator else speaker
    taken = ground.take(by, player.chance.randint(32, 200))
    said: list[tuple[Receipt, Item]] = [(one, _first(player, ground, one)) for one in taken]
    for _ in range(1 + len(taken) // 5):
        again = _again(player, ground, by)
        if again is not None:
            said.append(again)
    player.chance.shuffle(said)
    path = ground.path("/outcomes/batch")
    entries = player.does_all(speaker, path, [item for _, item in said])
    known = [
        Told(receipt, body, entry["outcome"]["outcome_id"])
        for (receipt, (_, _, body)), entry in zip(said, entries, strict=False)
        if entry["status"] in TAKEN
    ]
    with ground.lock:
        ground.told.extend(known)
        ground.outcomes.update(told.outcome_id for told in known)
    if known and player.happens(0.3):
        player.reads_back(ground, "outcome", [f"/outcomes/{known[-1].outcome_id}"])


def _first(player: Player, ground: Ground, receipt: Receipt) -> Item:
    body: dict[str, Any] = {
        "retrieval_id": receipt.id,
        "reward": round(player.chance.random(), 3),
        **ground.timed("known_at", receipt.known_at),
    }
    kind = "single"
    if receipt.purpose == "paired" and player.happens(0.6):
        kind, body["without"] = "paired", {"reward": round(player.chance.random(), 3)}
    if receipt.cited and player.happens(0.1):
        body[player.chance.choice(("helpful", "harmful"))] = [receipt.cited[0]]
    if body["reward"] < POOR and player.happens(0.1):
        body["lesson"] = {"lesson": f"do not trust the first count, {player.chance.randint(1, 9)}"}
    return f"outcome, {kind}", TAKEN, body


Change = Callable[[Player, Told], Item]


def _repeated(_: Player, told: Told) -> Item:
    return "outcome, repeated", RACED, told.body


def _tested(player: Player, told: Told) -> Item:
    body = told.body | {"verifier": "test", "reward": round(player.chance.random(), 3)}
    return "outcome, test over self", RACED, body


def _claimed(player: Player, told: Told) -> Item:
    body = told.body | {"verifier": "human", "reward": round(player.chance.random(), 3)}
    return "outcome, claimed too high", FORBIDDEN, body


def _disagreeing(player: Player, told: Told) -> Item:
    body = told.body | {"evaluator": "another", "reward": round(player.chance.random(), 3)}
    return "outcome, disagreeing", RACED, body


def _corrected(player: Player, told: Told) -> Item:
    body = told.body | {"supersedes": told.outcome_id, "reward": round(player.chance.random(), 3)}
    return "outcome, corrected", RACED, body


def _late_half(player: Player, told: Told) -> Item:
    body = told.body | {"without": {"reward": round(player.chance.random(), 3)}}
    return "outcome, late half", RACED, body


def _unknown(player: Player, told: Told) -> Item:
    body = told.body | {"retrieval_id": str(UUID(int=player.chance.getrandbits(128)))}
    return "outcome, unknown receipt", MISSING, body


def _unserved(player: Player, told: Told) -> Item:
    body = told.body | {"helpful": [str(UUID(int=player.chance.getrandbits(128)))]}
    return "outcome, unserved memory", UNSERVED, body


CHANGES: tuple[tuple[Change, int], ...] = (
    (_repeated, 8),
    (_tested, 3),
    (_claimed, 1),
    (_disagreeing, 4),
    (_corrected, 2),
    (_late_half, 2),
    (_unknown, 2),
    (_unserved, 2),
)


def _again(player: Player, ground: Ground, by: Speaker | None) -> tuple[Receipt, Item] | None:
    told = ground.earlier(by, player.chance)
    if told is None:
        return None
    change = player.chance.choices([c for c, _ in CHANGES], [share for _, share in CHANGES])[0]
    return told.receipt, change(player, told)


def report_foreign(player: Player, ground: Ground) -> None:
    """Reports for receipts of another key, of another namespace, and of nobody."""
    told = ground.earlier(None, player.chance)
    if told is None:
        return
    others = [one for one in ground.agents if one is not told.receipt.speaker]
    path = ground.path(f"/retrievals/{told.receipt.id}/outcome")
    body = {"reward": 0.5, **ground.timed("known_at", told.receipt.known_at)}
    stranger = player.chance.choice(others)
    player.does("outcome, foreign key", FORBIDDEN, stranger, "POST", path, body)


def report_malformed(player: Player, ground: Ground) -> None:
    """Bodies that no outcome can have."""
    told = ground.earlier(None, player.chance)
    if told is None:
        return
    path = ground.path(f"/retrievals/{told.receipt.id}/outcome")
    body = player.chance.choice(MALFORMED)
    player.does("outcome, malformed", REFUSED, told.receipt.speaker, "POST", path, body)


MALFORMED = (
    b'{"reward": NaN}',
    b'{"reward": Infinity}',
    b'{"reward": 1.5}',
    b'{"reward": -0.1}',
    b'{"reward": "1"}',
    b'{"reward": 0.5',
    b'{"reward": 0.5, "score": 1}',
    b'{"metric": "brier", "value": {"p": [NaN]}, "truth": {"y": [1]}}',
    b'{"reward": 1, "evaluator": "\\ud800"}',
    b"[]",
    b"null",
    b"\x00",
    b"{}",
)


def apply(player: Player, ground: Ground) -> None:
    """Apply now, beside the leader."""
    path = ground.path("/outcomes/apply")
    player.does("apply", OK, ground.evaluator, "POST", path, {})
