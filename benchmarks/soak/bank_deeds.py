"""What callers do to the bank: remember, edit, pause, erase, try candidates, run jobs, undo."""

from datetime import UTC, datetime, timedelta

from benchmarks.soak.ground import LESSONS, SITUATIONS, WORDINGS, Ground
from benchmarks.soak.player import NEW, OK, Player
from benchmarks.soak.tally import LOST_WRITE

MOVED = frozenset({200, 404, 409})
"""A memory of that status cannot do so, or is erased: both are true answers."""
EDITED = MOVED | {412}
FOUND = frozenset({200, 404})
TRIED = frozenset({200, 201, 403, 409})
MISSING = 404
RAN = frozenset({200, 409})
JOBS = ("decay", "acquire", "tickets", "reflect", "merge", "health", "rebuild")
DAY = timedelta(days=1)


def remember(player: Player, ground: Ground) -> None:
    """Some of a small set of texts, so that most are there already."""
    speaker = player.chance.choice(ground.agents)
    items = []
    for _ in range(player.chance.randint(1, 6)):
        number = player.chance.randrange(len(SITUATIONS))
        body = {
            "agent": speaker.agent,
            "situation": SITUATIONS[number],
            "lesson": player.chance.choice(LESSONS),
            "category": f"kind {number % 3}",
            **ground.timed("learned_at"),
        }
        if player.happens(0.2):
            body |= {
                "verify": True,
                "task": {"text": f"{SITUATIONS[number]}?", "key": f"v{number}"},
            }
        items.append(("remember", NEW, body))
    entries = player.does_all(speaker, ground.path("/experiences/batch"), items)
    ids = [entry["id"] for entry in entries if entry["status"] in NEW]
    with ground.lock:
        ground.memories.update(ids)
    if ids and player.happens(0.3):
        found = player.does(
            "read memory", FOUND, ground.admin, "GET", ground.path(f"/experiences/{ids[-1]}")
        )
        if found.status == MISSING and ids[-1] not in ground.erased:
            player.tally.violate(f"memory {ids[-1]} was acknowledged and is gone", LOST_WRITE)


def edit(player: Player, ground: Ground) -> None:
    """Another wording, upon the version just read."""
    memory = ground.some_memory(player.chance)
    if memory is None:
        return
    path = ground.path(f"/experiences/{memory}")
    read = player.does("read memory", FOUND, ground.admin, "GET", path)
    if not read.good:
        return
    lesson = f"{player.chance.choice(LESSONS)}, wording {player.chance.randrange(WORDINGS)}"
    if lesson == read.body["lesson"]:
        return
    body = {"lesson": lesson, **ground.timed("known_at")}
    version = int(read.body["version"])
    answer = player.does("edit", EDITED, ground.admin, "PATCH", path, body, version=version)
    if answer.good:
        with ground.lock:
            ground.versions.setdefault(memory, []).append(answer.body["version"])


def change_status(player: Player, ground: Ground) -> None:
    """Pause a memory, or bring one back."""
    memory = ground.some_memory(player.chance)
    if memory is None:
        return
    action = player.chance.choices(("suspend", "restore", "retire"), (4, 7, 1))[0]
    path = ground.path(f"/experiences/{memory}/{action}")
    player.does(action, MOVED, ground.admin, "POST", path, {})


def erase(player: Player, ground: Ground) -> None:
    """Erase a memory for good."""
    memory = ground.some_memory(player.chance)
    if memory is None:
        return
    with ground.lock:
        ground.erased.add(memory)
    player.does("erase", FOUND, ground.admin, "DELETE", ground.path(f"/experiences/{memory}"))


def claim(player: Player, ground: Ground) -> None:
    """Ask for candidates to try."""
    speaker = player.chance.choice(ground.agents)
    body = {"agent": speaker.agent, "limit": 2}
    answer = player.does("claim", OK, speaker, "POST", ground.path("/tickets/claims"), body)
    if answer.good:
        with ground.lock:
            ground.tickets.extend((speaker, ticket) for ticket in answer.body["items"])


def try_out(player: Player, ground: Ground) -> None:
    """Report the trials of a ticket: its holder, or now and then somebody else; also twice."""
    with ground.lock:
        if not ground.tickets:
            return
        holder, ticket = player.chance.choice(list(ground.tickets))
    speaker = player.chance.choice(ground.agents) if player.happens(0.1) else holder
    reward = player.chance.choice((0.3, 0.9))
    body = {
        "agent": speaker.agent,
        "trials": [
            {"slot": trial["slot"], "reward": reward, "without": {"reward": 0.4}}
            for trial in ticket["trials"]
        ],
        **ground.timed("known_at"),
    }
    path = ground.path(f"/tickets/{ticket['id']}/trials")
    answer = player.does("trials", TRIED, speaker, "POST", path, body)
    if answer.status in NEW:
        with ground.lock:
            ground.tried.add(ticket["id"])


def run_job(player: Player, ground: Ground) -> None:
    """Run a job by hand; where callers say the time, a day passes now and then."""
    ahead = DAY if player.happens(0.3) else timedelta(seconds=1)
    now = {"now": ground.moment(ahead)} if ground.replay else {}
    dry = player.happens(0.3)
    body = {"dry_run": dry, **now}
    job = player.chance.choice(JOBS)
    path = ground.path(f"/jobs/{job}/runs")
    answer = player.does(f"job {job}", RAN, ground.admin, "POST", path, body)
    if answer.good and job == "rebuild" and not answer.body["result"]["exact"]:
        player.tally.violate(f"a rebuild of {ground.slug} was not exact: {answer.body['result']}")


def roll_back(player: Player, ground: Ground) -> None:
    """Look what withdrawing a key's word would change; now and then do it."""
    dry = player.happens(0.7)
    since = datetime.now(UTC) - timedelta(seconds=player.chance.randint(2, 20))
    body = {"key_id": ground.loud.id, "since": since.isoformat(), "dry_run": dry}
    kind = "rollback, dry" if dry else "rollback"
    player.does(kind, OK, ground.admin, "POST", ground.path("/rollbacks"), body)


def look_around(player: Player, ground: Ground) -> None:
    """Read what people read."""
    rest = player.chance.choice(
        ("/learning-health", "/weights", "/effect", "/rankers", "/tickets", "/jobs/runs", "/audit")
    )
    player.does(f"read {rest}", OK, ground.admin, "GET", ground.path(rest))
