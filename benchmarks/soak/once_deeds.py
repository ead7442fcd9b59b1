"""Writes that are sent until they are answered, and answers that are held against what was
acknowledged: nothing is there twice, and no process answers from before an acknowledged write.
"""

from typing import Any

from benchmarks.soak.ground import Ground, Kept
from benchmarks.soak.player import NEW, OK, Player
from benchmarks.soak.tally import STALE
from benchmarks.soak.wire import Answer

CONSONANTS, VOWELS = "bdfghklmnprstvz", "aeiou"
WORDS = 14
SHELF = 60
"""How many memories are followed at once; above it none is added."""
FOUND = 5
"""How many memories a question asks for."""
NEAR = 1e-3
"""How far two answers for a weight may lie apart: it fades as time goes by, and clocks jump."""
TOLD = frozenset({200, 202})


def write_once(player: Player, ground: Ground) -> None:
    """A receipt that can be found again by its trace, however often it is asked for."""
    speaker = player.chance.choice(ground.agents)
    trace = f"trace-{player.chance.getrandbits(64):x}"
    body = {"agent": speaker.agent, "task": {"text": _words(player)}, "trace_id": trace}
    body |= ground.timed("as_of")
    kind = "retrieve, once"
    answer = player.does_once(kind, NEW, speaker, ground.path("/retrievals"), body)
    if answer.good:
        with ground.lock:
            ground.once[trace] = answer.body["retrieval_id"]


def follow(player: Player, ground: Ground) -> None:
    """Change a memory that nobody else changes meanwhile, and ask every process for it."""
    kept = _take(player, ground) or _remember(player, ground)
    if kept is None or not _change(player, ground, kept):
        return
    _look(player, ground, kept, by_tag=False)
    _look(player, ground, kept, by_tag=True)
    if kept.is_there and player.happens(0.3):
        _learn(player, ground, kept)
    if not kept.is_erased:
        with ground.lock:
            ground.shelf.append(kept)


def _take(player: Player, ground: Ground) -> Kept | None:
    with ground.lock:
        if len(ground.shelf) < SHELF and (not ground.shelf or player.happens(0.3)):
            return None
        return ground.shelf.pop(player.chance.randrange(len(ground.shelf)))


def _remember(player: Player, ground: Ground) -> Kept | None:
    situation, lesson = _words(player), _words(player)
    speaker = ground.agents[0]
    body: dict[str, Any] = {"agent": speaker.agent, "situation": situation, "lesson": lesson}
    body["metadata"] = {"tags": [situation]}
    path = ground.path("/experiences")
    answer = player.does_once("remember, once", NEW, speaker, path, body)
    if not answer.good:
        return None
    with ground.lock:
        ground.memories.add(answer.body["id"])
        ground.said_once[situation] = answer.body["id"]
    return Kept(answer.body["id"], situation, lesson)


def _change(player: Player, ground: Ground, kept: Kept) -> bool:
    """Whether what holds now is known: where an answer was lost, nobody can say."""
    path = ground.path(f"/experiences/{kept.id}")
    if player.happens(0.3):
        return True
    if not kept.is_there:
        restored = player.does("restore", OK, ground.admin, "POST", f"{path}/restore", {})
        kept.is_there = True
        return restored.good
    if player.happens(0.5):
        return _edit(player, ground, kept)
    kept.is_there = False
    if player.happens(0.2):
        kept.is_erased = True
        with ground.lock:
            ground.erased.add(kept.id)
        return player.does("erase", OK, ground.admin, "DELETE", path).good
    return player.does("suspend", OK, ground.admin, "POST", f"{path}/suspend", {}).good


def _edit(player: Player, ground: Ground, kept: Kept) -> bool:
    path = ground.path(f"/experiences/{kept.id}")
    read = player.does("read memory", OK, ground.admin, "GET", path)
    if not read.good:
        return False
    if read.body["lesson"] != kept.lesson:
        player.tally.violate(f"memory {kept.id} was read as it was before an edit", STALE)
    version = int(read.body["version"])
    lesson = _words(player)
    edited = player.does(
        "edit", OK, ground.admin, "PATCH", path, {"lesson": lesson}, version=version
    )
    if edited.good:
        kept.lesson = lesson
        with ground.lock:
            ground.versions.setdefault(kept.id, []).append(edited.body["version"])
    return edited.good


def _look(player: Player, ground: Ground, kept: Kept, *, by_tag: bool) -> None:
    """A question in its own words finds it as it was acknowledged, or not at all. By its tag it is
    always found; among all, memories of more weight may take every place.
    """
    answer = _ask(player, ground, kept, purpose="preview", by_tag=by_tag)
    if not answer.good:
        return
    found = {memory["memory_id"]: memory for memory in answer.body["memories"]}
    served = found.get(kept.id)
    outdone = served is None and not by_tag and len(found) == FOUND
    if (served is not None) != kept.is_there and not outdone:
        said = "is served, and was taken out" if served else "is not found, and is there"
        player.tally.violate(f"memory {kept.id} {said}", STALE)
    if served is not None and kept.is_there and served["lesson"] != kept.lesson:
        player.tally.violate(f"memory {kept.id} was served as it was before an edit", STALE)


def _learn(player: Player, ground: Ground, kept: Kept) -> None:
    """What an applied outcome taught is in the next answer of any process."""
    asked = _ask(player, ground, kept, purpose="paired", k=1)
    cited = [one["memory_id"] for one in asked.body.get("memories", []) if one["cited"]]
    if not asked.good or cited != [kept.id]:
        return
    path = ground.path(f"/retrievals/{asked.body['retrieval_id']}/outcome")
    reward = player.chance.choice((0.0, 1.0))
    body = {"reward": reward, "without": {"reward": 0.5}}
    told = player.does("outcome, paired", TOLD, ground.agents[0], "POST", path, body)
    if not told.good:
        return
    with ground.lock:
        ground.outcomes.add(told.body["outcome_id"])
    apply = ground.path("/outcomes/apply")
    applied = player.does("apply", OK, ground.evaluator, "POST", apply, {})
    if not applied.good or applied.body["pending"]:
        return
    weight = ground.path(f"/experiences/{kept.id}/weight?agent={ground.agents[0].agent}")
    stored = player.does("read weight", OK, ground.admin, "GET", weight)
    served = _ask(player, ground, kept, purpose="preview", by_tag=True)
    if not stored.good or not served.good:
        return
    for memory in served.body["memories"]:
        if memory["memory_id"] == kept.id:
            _compare(player, kept, stored.body["effective_weight"], memory["effective_weight"])


def _compare(player: Player, kept: Kept, stored: float, served: float) -> None:
    if abs(stored - served) > NEAR:
        said = f"weight {served} of memory {kept.id} was served, and {stored} is stored"
        player.tally.violate(said, STALE)


def _ask(
    player: Player,
    ground: Ground,
    kept: Kept,
    *,
    purpose: str,
    k: int = FOUND,
    by_tag: bool = False,
) -> Answer:
    body: dict[str, Any] = {
        "agent": ground.agents[0].agent,
        "task": {"text": kept.situation},
        "k": k,
        "purpose": purpose,
        "gates": "off",
        "explore": False,
    }
    if by_tag:
        body["filter"] = {"tags": [kept.situation]}
    if purpose != "paired":
        body["arm"] = "on"
    path = ground.path("/retrievals")
    answer = player.does(f"retrieve, {purpose}", NEW, ground.agents[0], "POST", path, body)
    if answer.good and purpose != "preview":
        with ground.lock:
            ground.receipts.append(answer.body["retrieval_id"])
    return answer


def _words(player: Player) -> str:
    """Words that nobody has said before, so that no text is like another."""
    chance = player.chance

    def word() -> str:
        pairs = range(chance.randint(2, 4))
        return "".join(chance.choice(CONSONANTS) + chance.choice(VOWELS) for _ in pairs)

    return " ".join(word() for _ in range(WORDS))
