"""What must hold when the callers are gone: nothing acknowledged is lost, every state is a fold."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from benchmarks.soak.ground import Ground
from benchmarks.soak.player import OK, Player
from benchmarks.soak.tally import DOUBLED, LOST_WRITE

IN_EFFECT = ("accepted", "applied")
SAMPLE = 100
ROUNDS = 100
DAY = timedelta(days=1)


def judge(player: Player, grounds: list[Ground]) -> list[str]:
    """A line for each namespace; what is wrong becomes a violation."""
    lines: list[str] = []
    for ground in grounds:
        settle(player, ground)
        _outcomes(player, ground)
        _listed(player, ground)
        _once(player, ground)
        _sampled(player, ground)
        _edits(player, ground)
        lines.append(_rebuilt(player, ground))
    return lines


def settle(player: Player, ground: Ground) -> None:
    """Apply until nothing pends."""
    said: object = None
    for _ in range(ROUNDS):
        answer = player.wire.ask(ground.evaluator.token, "POST", ground.path("/outcomes/apply"), {})
        if answer.good and answer.body["pending"] == 0:
            return
        said = answer.body
    player.tally.violate(f"outcomes of {ground.slug} still pend: {said}")


def _outcomes(player: Player, ground: Ground) -> None:
    """Every acknowledged outcome is there and was decided; one a retrieval is in effect."""
    effective: Counter[str] = Counter()
    there: set[str] = set()
    for outcome in _each(player, ground, "/outcomes"):
        there.add(outcome["id"])
        if outcome["status"] in IN_EFFECT:
            effective[outcome["retrieval_id"]] += 1
        if outcome["status"] == "accepted":
            player.tally.violate(f"an outcome of {ground.slug} was never applied: {outcome['id']}")
    for outcome_id in sorted(ground.outcomes - there):
        said = f"an acknowledged outcome of {ground.slug} is gone: {outcome_id}"
        player.tally.violate(said, LOST_WRITE)
    for retrieval_id in [one for one, times in effective.items() if times > 1]:
        player.tally.violate(f"two outcomes of retrieval {retrieval_id} are in effect", DOUBLED)


def _listed(player: Player, ground: Ground) -> None:
    """Every acknowledged receipt and memory is there; what was erased has a row without words."""
    receipts = {one["retrieval_id"] for one in _each(player, ground, "/retrievals")}
    for receipt in sorted(set(ground.receipts) - receipts):
        player.tally.violate(f"an acknowledged receipt is gone: {receipt}", LOST_WRITE)
    memories = {one["id"] for one in _each(player, ground, "/experiences")}
    for memory in sorted(ground.memories - ground.erased - memories):
        player.tally.violate(f"an acknowledged memory is gone: {memory}", LOST_WRITE)


def _once(player: Player, ground: Ground) -> None:
    """What was sent until it was answered is there once, and is what the answer said."""
    by_text: dict[str, list[str]] = {}
    for memory in _each(player, ground, "/experiences"):
        by_text.setdefault(memory["situation"], []).append(memory["id"])
    for text, memory in sorted(ground.said_once.items()):
        if memory not in ground.erased:
            _require_once(player, f"memory {memory}", [memory], by_text.get(text, []))
    traces = player.chance.sample(sorted(ground.once), min(SAMPLE, len(ground.once)))
    for trace in traces:
        listed = _each(player, ground, "/retrievals", f"&trace_id={trace}")
        found = [one["retrieval_id"] for one in listed]
        _require_once(player, f"receipt of {trace}", [ground.once[trace]], found)


def _require_once(player: Player, what: str, said: list[str], found: list[str]) -> None:
    if found == said:
        return
    of = DOUBLED if len(found) > len(said) else LOST_WRITE
    player.tally.violate(f"{what} was acknowledged once and is there as {found}", of)


def _sampled(player: Player, ground: Ground) -> None:
    """Receipts, memories and tried tickets can be read; what was erased has no words left."""
    chance = player.chance
    receipts = chance.sample(ground.receipts, min(SAMPLE, len(ground.receipts)))
    living = sorted(ground.memories - ground.erased)
    memories = chance.sample(living, min(SAMPLE, len(living)))
    player.reads_back(ground, "receipt", [f"/retrievals/{one}" for one in receipts])
    player.reads_back(ground, "memory", [f"/experiences/{one}" for one in memories])
    player.reads_back(ground, "ticket", [f"/tickets/{one}" for one in sorted(ground.tried)])


def _edits(player: Player, ground: Ground) -> None:
    """Each acknowledged edit made a version of its own, and all of them are there."""
    for memory, versions in sorted(ground.versions.items()):
        if len(set(versions)) < len(versions):
            said = f"two edits of {memory} made the same version: {versions}"
            player.tally.violate(said, DOUBLED)
        if memory in ground.erased:
            continue
        path = ground.path(f"/experiences/{memory}/versions")
        answer = player.does("read versions", OK, ground.admin, "GET", path)
        kept = {row["version"] for row in answer.body.get("items", [])}
        if not kept >= set(versions):
            said = f"an edit of {memory} is gone: {versions} of {sorted(kept)}"
            player.tally.violate(said, LOST_WRITE)


def _rebuilt(player: Player, ground: Ground) -> str:
    """The live states against the whole ledger: looked at now, whatever ran before today."""
    now = {"now": ground.moment(DAY)} if ground.replay else {}
    path = ground.path("/jobs/rebuild/runs")
    answer = player.does("rebuild", OK, ground.admin, "POST", path, {"dry_run": True, **now})
    result = answer.body.get("result") or {}
    if result.get("exact") is not True:
        player.tally.violate(f"the rebuild of {ground.slug} is not exact: {answer.body}")
    return f"rebuild of {ground.slug}: {result}"


def _each(player: Player, ground: Ground, path: str, rest: str = "") -> Iterator[Any]:
    """All items of a list, page by page."""
    cursor = ""
    while True:
        page = ground.path(f"{path}?limit=200{rest}{cursor}")
        answer = player.wire.ask(ground.admin.token, "GET", page)
        if not answer.good:
            player.tally.violate(f"{page} was answered {answer.status}: {answer.body}")
            return
        yield from answer.body["items"]
        if answer.body["next_cursor"] is None:
            return
        cursor = f"&cursor={answer.body['next_cursor']}"
