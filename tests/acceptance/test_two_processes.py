"""Two processes on one database are one server: whichever is asked, the same is answered."""

import itertools
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from uuid import uuid4

import httpx
import pytest
from memlift_client import MemLift

from clients.demo.replay import Arm, replay
from clients.demo.session import PLAIN
from clients.demo.statistics import Scored, brier
from clients.demo.streams import Question, Resolution, Stream
from tests.acceptance.servers import Server

ARM = "replayed"
FIRST_DAY = date(2026, 3, 2)
CITIES = ("Seattle", "Lisbon", "Nairobi", "Osaka")
SUBJECTS = ("rain", "a frost", "a storm", "fog before noon", "more than 20 degrees")
DAYS = 5
AT_ONCE = 50
# Which texts a process embeds together may move the last bit of a vector in half precision.
LAST_BIT = 1e-5


@pytest.fixture(scope="module")
def pair(shared_pair: tuple[Server, Server]) -> tuple[Server, Server]:
    """The owner of the database, and another process that was given its address."""
    return shared_pair


@pytest.fixture(scope="module")
def namespace(pair: tuple[Server, Server]) -> str:
    slug = f"pair-{uuid4().hex[:8]}"
    pair[0].client().create_namespace(slug)
    return slug


@pytest.fixture
def clients(pair: tuple[Server, Server], namespace: str) -> list[MemLift]:
    """One for each; the operator's key lies with the process that came first."""
    key = pair[0].home.operator_key.read_text().strip()
    return [server.client(namespace, key=key) for server in pair]


class Alternating(httpx.BaseTransport):
    """Sends every request to the other server than the one before."""

    def __init__(self, servers: Sequence[Server]) -> None:
        self._ports = itertools.cycle([server.port for server in servers])
        self._wire = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.url = request.url.copy_with(port=next(self._ports))
        return self._wire.handle_request(request)

    def close(self) -> None:
        self._wire.close()


@pytest.fixture(scope="module")
def both(pair: tuple[Server, Server]) -> Generator[MemLift]:
    """A client whose requests go to one process and the other in turn."""
    key = pair[0].home.operator_key.read_text().strip()
    with MemLift(pair[0].url, key, transport=Alternating(pair)) as memory:
        yield memory


def stream() -> Stream:
    """Forty questions over five dates; what happens is a rule that similar questions share."""
    asked = [
        (_question(day, city, subject), _happens(day, city, subject))
        for day in range(DAYS)
        for city in CITIES
        for subject in (SUBJECTS[day % 5], SUBJECTS[(day + 2) % 5])
    ]
    known = (Resolution(row.id, row.asked_on, happened) for row, happened in asked)
    return Stream("made", "made for this test", tuple(row for row, _ in asked), tuple(known))


def _question(day: int, city: str, subject: str) -> Question:
    on = FIRST_DAY + timedelta(days=day)
    return Question(
        id=f"{city}-{subject}-{day}",
        event_id=f"{city}-{day}",
        source="weather",
        topic="forecasts",
        text=f"Will {city} see {subject} on {on:%d %B}, after {day + 2} days of like weather?",
        asked_on=on,
        week=on - timedelta(days=on.weekday()),
    )


def _happens(day: int, city: str, subject: str) -> int:
    return int((CITIES.index(city) + 2 * SUBJECTS.index(subject) + day // 3) % 3 == 0)


@dataclass(frozen=True)
class Learned:
    """What a replay left: scores by question, weights by text, and the mean of each column."""

    scored: Sequence[Scored]
    weights: dict[tuple[str, str], float]

    def table(self) -> dict[str, float]:
        return {name: brier(self.scored, name) for name in self.scored[0].probability}


def replayed(memory: MemLift) -> Learned:
    slug = f"n{uuid4().hex[:12]}"
    memory.create_namespace(slug, clock="replay", learning="on", settings=PLAIN)
    inside = memory.within(slug)
    scored = replay(stream(), [Arm(ARM, inside)], lambda _: None)
    weights = {(row.situation, row.lesson): row.effective_weight for row in inside.each_weight()}
    return Learned(scored, weights)


def test_one_of_the_two_leads_and_both_say_the_same(pair: tuple[Server, Server]) -> None:
    leader, other = pair[0].with_leader(pair[1])

    assert other.leader() == leader.leader()
    assert not other.leads()


def test_a_replay_through_both_in_turn_gives_what_one_alone_gives(
    pair: tuple[Server, Server], both: MemLift
) -> None:
    alone = replayed(pair[0].client())
    shared = replayed(both)

    assert len(alone.scored) == 40
    assert len(set(alone.weights.values())) > 4
    assert shared.table() == pytest.approx(alone.table(), abs=LAST_BIT)
    for one, two in zip(alone.scored, shared.scored, strict=True):
        assert two.probability == pytest.approx(one.probability, abs=LAST_BIT)
    assert shared.weights == pytest.approx(alone.weights, abs=LAST_BIT)


def test_equal_experiences_sent_to_both_at_once_are_one_memory(clients: list[MemLift]) -> None:
    before = clients[0].list_experiences().total

    def remember(number: int) -> str:
        return (
            clients[number % 2]
            .remember(
                agent="solver", situation="the same at once", lesson="kept once", category="race"
            )
            .id
        )

    with ThreadPoolExecutor(AT_ONCE) as pool:
        ids = set(pool.map(remember, range(AT_ONCE)))

    assert len(ids) == 1
    assert clients[1].list_experiences().total == before + 1
    assert clients[0].get_experience(ids.pop()).evidence == AT_ONCE


def test_an_idempotency_key_is_honoured_by_the_process_that_did_not_see_it(
    pair: tuple[Server, Server], namespace: str
) -> None:
    key = pair[0].home.operator_key.read_text().strip()
    headers = {"authorization": f"Bearer {key}", "idempotency-key": uuid4().hex}
    body = {"agent": "solver", "task": {"text": "asked twice", "category": "race"}}

    def ask(server: Server, **changes: object) -> httpx.Response:
        url = f"{server.url}/v1/namespaces/{namespace}/retrievals"
        return httpx.post(url, json=body | changes, headers=headers, timeout=60)

    first = ask(pair[0])
    again = ask(pair[1])
    changed = ask(pair[1], k=7)

    assert (first.status_code, again.status_code, changed.status_code) == (201, 201, 422)
    assert again.json() == first.json()


def test_an_outcome_reported_to_both_at_once_moves_a_weight_once(
    clients: list[MemLift],
) -> None:
    lesson = clients[0].remember(
        agent="solver", situation="a tide table for the bay", lesson="add the wind", category="sea"
    )
    asked = clients[0].retrieve(
        agent="solver",
        task={"text": "a tide table for the bay", "category": "sea"},
        purpose="paired",
    )
    assert lesson.id in {memory.memory_id for memory in asked.memories if memory.cited}

    def report(memory: MemLift) -> str:
        reported = memory.report(
            asked.receipt, reward=0.9, without={"reward": 0.2}, verifier="test"
        )
        memory.apply_outcomes()
        return reported.outcome_id

    with ThreadPoolExecutor(2) as pool:
        outcomes = set(pool.map(report, clients))

    assert len(outcomes) == 1
    events = list(clients[1].each_weight_event(lesson.id))
    assert [
        event.outcome_id for event in events if (event.subject, event.kind) == ("memory", "learn")
    ] == list(outcomes)
    assert clients[1].get_weight(lesson.id).credited == 1
