"""One namespace of the soak: what was said to it, what it acknowledged, and who may speak."""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from benchmarks.soak.wire import Wire

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
STEP = timedelta(seconds=20)
AGENTS = ("alder", "birch", "cedar")
LOUD = "loud"
KEPT = 4_000
SETTINGS = {"raw_gate": 0.05, "score_floor": 0.01, "daily_credits": 20, "control_rate": 0.05}

SITUATIONS = (
    "A forecast of rain for a dry month",
    "A refund for a parcel that came twice",
    "A nightly export that ended half-way",
    "A vote count that does not match the register",
    "A river level reported without its unit",
    "A rollout that is slower than the last one",
)
LESSONS = tuple(
    f"{advice}, {reason}"
    for advice in ("start from the base rate", "ask for the source", "wait for the second report")
    for reason in ("the first answer is often late", "copies differ", "somebody has rounded it")
)
WORDINGS = 12
"""How many wordings of a lesson edits choose from."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """A key, and the agent it speaks for (None: for any)."""

    token: str
    id: str
    agent: str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt as its opener got it."""

    id: str
    speaker: Speaker
    purpose: str
    arm: str
    cited: tuple[str, ...]
    known_at: str


@dataclass(frozen=True, slots=True)
class Told:
    """A report that was acknowledged."""

    receipt: Receipt
    body: dict[str, Any]
    outcome_id: str


@dataclass(slots=True)
class Kept:
    """A memory that one caller at a time changes, as it was acknowledged last."""

    id: str
    situation: str
    lesson: str
    is_there: bool = True
    is_erased: bool = False


@dataclass(slots=True)
class Ground:
    """Shared by all callers; each list is of what the server has acknowledged."""

    slug: str
    replay: bool
    admin: Speaker
    evaluator: Speaker
    agents: tuple[Speaker, ...]
    loud: Speaker
    memories: set[str] = field(default_factory=set[str])
    erased: set[str] = field(default_factory=set[str])
    versions: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    open: deque[Receipt] = field(default_factory=lambda: deque[Receipt](maxlen=KEPT))
    receipts: list[str] = field(default_factory=list[str])
    told: deque[Told] = field(default_factory=lambda: deque[Told](maxlen=KEPT))
    outcomes: set[str] = field(default_factory=set[str])
    tickets: deque[tuple[Speaker, Any]] = field(
        default_factory=lambda: deque[tuple[Speaker, Any]](maxlen=50)
    )
    tried: set[str] = field(default_factory=set[str])
    shelf: list[Kept] = field(default_factory=list[Kept])
    once: dict[str, str] = field(default_factory=dict[str, str])
    """Receipts by the trace under which each was asked for until it was answered."""
    said_once: dict[str, str] = field(default_factory=dict[str, str])
    """Memories by the text that was sent until it was answered."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    _moment: datetime = BEGINNING

    def path(self, rest: str) -> str:
        return f"/v1/namespaces/{self.slug}{rest}"

    def moment(self, ahead: timedelta = STEP) -> str:
        """A later time than any before; for namespaces whose callers say what time it is."""
        with self.lock:
            self._moment += ahead
            return self._moment.isoformat()

    def timed(self, name: str, at: str | None = None) -> dict[str, str]:
        """The field in which callers say the time, where they do."""
        return {name: at or self.moment()} if self.replay else {}

    def take(self, speaker: Speaker | None, most: int) -> list[Receipt]:
        """Receipts that await their outcome, opened by this key (None: by any)."""
        with self.lock:
            mine = [r for r in self.open if speaker is None or r.speaker is speaker][:most]
            taken = set(mine)
            self.open = deque((r for r in self.open if r not in taken), maxlen=KEPT)
        return mine

    def earlier(self, speaker: Speaker | None, chance: Random) -> Told | None:
        """A report of before."""
        with self.lock:
            found = [t for t in list(self.told)[-400:] if speaker in (None, t.receipt.speaker)]
        return chance.choice(found) if found else None

    def some_memory(self, chance: Random) -> str | None:
        with self.lock:
            living = sorted(self.memories - self.erased)
        return chance.choice(living) if living else None


def made(wire: Wire, slug: str, clock: str, policy: str) -> Ground:
    """A namespace with its keys."""
    body = {"slug": slug, "clock": clock, "policy": policy, "settings": SETTINGS}
    answer = wire.ask(wire.cluster.key, "POST", "/v1/namespaces", body)
    if answer.status != CREATED:
        raise SystemExit(f"no namespace {slug}: {answer.status} {answer.body}")
    return Ground(
        slug=slug,
        replay=clock == "replay",
        admin=_speaker(wire, slug, "admin", None),
        evaluator=_speaker(wire, slug, "evaluator", None),
        agents=tuple(_speaker(wire, slug, "agent", name) for name in AGENTS),
        loud=_speaker(wire, slug, "agent", LOUD),
    )


CREATED = 201


def _speaker(wire: Wire, slug: str, role: str, agent: str | None) -> Speaker:
    body: dict[str, object] = {"role": role, "name": agent or role, "namespace": slug}
    agents: Sequence[str] | None = None if agent is None else [agent]
    if agents is not None:
        body |= {"agents": agents, "verifies": "test"}
    answer = wire.ask(wire.cluster.key, "POST", "/v1/keys", body)
    if answer.status != CREATED:
        raise SystemExit(f"no key: {answer.status} {answer.body}")
    return Speaker(answer.body["token"], answer.body["id"], agent)
