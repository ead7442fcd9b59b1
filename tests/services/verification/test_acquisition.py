"""Bad outcomes become candidates, once; who waits too long goes on probation."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

import pytest

from memory.curation.entities import StatusChange
from memory.curation.service import change_status, edit_memory
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.inference.stand_ins import HashEmbedder
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Unavailable
from memory.kernel.ports import Embedding, ModelIdentity
from memory.memories.entities import MemoryEdit, MemoryFilter, Status
from memory.memories.service import get_memory, list_memories
from memory.outcomes.applying import apply_now
from memory.tenancy.entities import Call, Key, Role
from memory.verification import acquisition as acquire
from memory.verification.acquisition import list_candidates, queue, retry_candidate, work_off
from memory.verification.entities import LessonCandidate, TicketClaim, TicketState, TrialResult
from memory.verification.refining import refine
from memory.verification.service import LEASE, claim, retry
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, Caller, an_engine
from tests.fixtures.verification_steps import (
    PAGE,
    a_candidate,
    a_run,
    claimed,
    job,
    memory_of,
    tickets,
    tried,
)
from tests.storage.steps import a_call, live_and_rebuilt, remembered

LESSON = "look at the wind before the clouds"


async def a_bad_day(engine: Engine, key: Key, slug: str, lesson: str = LESSON) -> Call:
    """Four runs, of which the worst brings a lesson; with its outcomes applied."""
    call = await a_call(engine, key, slug)
    await remembered(engine, call, a_draft(lesson="what everyone knows"))
    for number, reward in ((1, 0.9), (2, 0.2), (3, 0.3), (4, 0.85)):
        said = lesson if number == 2 else "never asked for"
        await a_run(engine, call, number, said, reward=reward)
    await apply_now(engine, call)
    return await a_call(engine, key, slug)


async def candidates(engine: Engine, call: Call) -> list[LessonCandidate]:
    return list((await list_candidates(engine, call, None, PAGE)).items)


async def proposed(engine: Engine, call: Call) -> list[str]:
    found = await list_memories(engine, call, MemoryFilter(status=Status.PROPOSED), PAGE)
    return sorted(memory.lesson for memory in found.items)


async def test_the_worst_run_becomes_a_candidate_with_a_ticket(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_bad_day(engine, operator, wall)

    run = await job(engine, operator, wall, "acquire", NOON)

    # Of four groups the worst two are taken; the better of them brings its lesson as well.
    assert await proposed(engine, call) == [LESSON, "never asked for"]
    [first, _] = await tickets(engine, call)
    memory = await memory_of(engine, call, first)
    assert (memory.situation, memory.agent) == ("a forecast of rain 2", "solver")
    assert first.trials[0].reference == 0.2
    assert run.result is not None
    assert run.result["examined"] == 4
    assert [one.state for one in await candidates(engine, call)] == ["proposed", "proposed"]
    live, again = await live_and_rebuilt(engine, await a_call(engine, operator, wall))
    assert live == again


async def test_a_dry_run_names_what_a_run_then_takes_and_changes_nothing(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_bad_day(engine, operator, wall)

    dry = await job(engine, operator, wall, "acquire", NOON, dry=True)

    assert await candidates(engine, call) == []
    assert (await job(engine, operator, wall, "acquire", NOON)).result == dry.result


async def test_each_outcome_is_looked_at_once(engine: Engine, operator: Key, wall: str) -> None:
    call = await a_bad_day(engine, operator, wall)
    await job(engine, operator, wall, "acquire", NOON)

    run = await job(engine, operator, wall, "acquire", NOON + DAY)

    assert run.result == {"examined": 0, "changes": []}
    assert len(await tickets(engine, call)) == 2


async def test_runs_at_once_make_one_candidate_of_an_outcome(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_bad_day(engine, operator, wall)

    await asyncio.gather(*(job(engine, operator, wall, "acquire", NOON) for _ in range(4)))

    assert len(await tickets(engine, call)) == 2
    assert {one.claims for one in await candidates(engine, call)} == {1}


async def test_a_run_without_a_lesson_is_recorded_and_makes_no_memory(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, a_draft())
    await a_run(engine, call, 1, reward=0.1)
    await apply_now(engine, call)

    await job(engine, operator, wall, "acquire", NOON)

    assert [one.state for one in await candidates(engine, call)] == ["nothing"]
    assert await tickets(engine, call) == []


async def test_what_went_as_well_as_can_be_is_no_failure(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, a_draft())
    await a_run(engine, call, 1, LESSON, reward=1.0)
    await apply_now(engine, call)

    run = await job(engine, operator, wall, "acquire", NOON)

    assert run.result == {"examined": 1, "changes": []}


async def test_a_twin_of_a_living_memory_is_evidence_for_it(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    texts = {"situation": "a forecast of rain 2", "lesson": "look at the wind first"}
    [known] = await remembered(engine, call, a_draft(**texts))
    await a_run(engine, call, 2, "look at the wind first!", reward=0.2)
    await apply_now(engine, call)

    await job(engine, operator, wall, "acquire", NOON)

    [one] = await candidates(engine, call)
    assert (one.state, one.memory_id) == ("twin", known.id)
    assert (await get_memory(engine, call, known.id)).evidence == 2
    assert await tickets(engine, call) == []


async def test_what_differs_in_a_number_is_no_twin(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    texts = {"situation": "a forecast of rain 2", "lesson": "look at the wind first, 5 times"}
    await remembered(engine, call, a_draft(**texts))
    await a_run(engine, call, 2, "look at the wind first, 6 times", reward=0.2)
    await apply_now(engine, call)

    await job(engine, operator, wall, "acquire", NOON)

    assert [one.state for one in await candidates(engine, call)] == ["proposed"]


async def test_a_twin_of_a_rejected_candidate_is_not_asked_again(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, a_draft(lesson="what everyone knows"))
    await a_run(engine, call, 2, LESSON, reward=0.2)
    await apply_now(engine, call)
    await job(engine, operator, wall, "acquire", NOON)
    ticket = await claimed(engine, call)
    await tried(engine, call, ticket, 0.1)
    await a_run(engine, call, 2, LESSON, reward=0.2)
    await apply_now(engine, call)

    await job(engine, operator, wall, "acquire", NOON + DAY)

    one = (await candidates(engine, call))[-1]
    assert (one.state, one.memory_id) == ("rejected_twin", ticket.memory_id)
    assert len(await tickets(engine, call)) == 1


class Died(Exception):
    """What nobody foresaw ended the work."""


@dataclass(slots=True)
class MoodyEmbedder:
    """Hashed words, unless it is down, or the death of who asks it."""

    down: bool = False
    deadly: bool = False
    inner: HashEmbedder = field(default_factory=HashEmbedder)

    @property
    def identity(self) -> ModelIdentity:
        return self.inner.identity

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        if self.down:
            raise Unavailable("the model is away", code="model_failed")
        if self.deadly:
            raise Died
        return await self.inner.embed(texts)


@pytest.fixture
async def moody(engine: Engine, database_url: str) -> AsyncGenerator[Engine]:
    opened = an_engine(database_url, embedder=MoodyEmbedder())
    opened.registered = engine.registered
    yield opened
    await opened.close()


def mood(engine: Engine, *, down: bool = False, deadly: bool = False) -> None:
    assert isinstance(engine.embedder, MoodyEmbedder)
    engine.embedder.down, engine.embedder.deadly = down, deadly


async def test_a_model_that_is_away_loses_no_candidate(
    moody: Engine, operator: Key, wall: str
) -> None:
    call = await a_bad_day(moody, operator, wall)
    mood(moody, down=True)
    for minutes in range(0, 240, 11):
        await job(moody, operator, wall, "acquire", NOON + timedelta(minutes=minutes))
    waiting = await candidates(moody, call)
    assert {(one.state, one.claims) for one in waiting} == {("waiting", 0)}
    assert waiting[0].reason == "model_away"
    assert await tickets(moody, call) == []

    mood(moody)
    await job(moody, operator, wall, "acquire", NOON + timedelta(minutes=250))

    assert [one.state for one in await candidates(moody, call)] == ["proposed", "proposed"]


async def test_work_that_dies_again_and_again_is_quarantined_until_a_person_retries(
    moody: Engine, operator: Key, wall: str
) -> None:
    call = await a_bad_day(moody, operator, wall)
    mood(moody, deadly=True)
    for turn in range(10):
        with pytest.raises(Died):
            await job(moody, operator, wall, "acquire", NOON + turn * timedelta(minutes=6))
    await job(moody, operator, wall, "acquire", NOON + timedelta(hours=2))
    one, other = await candidates(moody, call)
    assert (one.state, one.claims) == (other.state, other.claims) == ("quarantined", 5)

    mood(moody)
    await retry_candidate(moody, call, one.outcome_id)
    await job(moody, operator, wall, "acquire", NOON + timedelta(hours=3))

    assert (await candidates(moody, call))[0].state == "proposed"
    with pytest.raises(Conflict):
        await retry_candidate(moody, call, one.outcome_id)


async def test_who_died_over_a_candidate_is_overtaken_and_comes_too_late(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_bad_day(engine, operator, wall)
    async with engine.database.transaction(call.namespace.id) as connection:
        await queue(connection, call.namespace, (NOON, NOON), dry=False)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = acquire.CandidateStore(connection, call.namespace.id)
        stale = await store.claim(NOON, NOON + acquire.CLAIM)
    assert stale is not None
    await work_off(engine, call.namespace, NOON, None)
    assert len(await tickets(engine, call)) == 1

    await work_off(engine, call.namespace, NOON + acquire.CLAIM, None)

    assert len(await tickets(engine, call)) == 2
    async with engine.database.transaction(call.namespace.id) as connection:
        assert not await acquire.CandidateStore(connection, call.namespace.id).hold(stale)


async def test_who_died_over_a_candidate_is_overtaken_at_once_where_a_person_frees_it(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_bad_day(engine, operator, wall)
    async with engine.database.transaction(call.namespace.id) as connection:
        await queue(connection, call.namespace, (NOON, NOON), dry=False)
        store = acquire.CandidateStore(connection, call.namespace.id)
        stale = await store.claim(NOON, NOON + acquire.CLAIM)
    assert stale is not None

    await retry_candidate(engine, call, stale.outcome_id)
    await work_off(engine, call.namespace, NOON, None)

    assert len(await tickets(engine, call)) == 2
    async with engine.database.transaction(call.namespace.id) as connection:
        assert not await acquire.CandidateStore(connection, call.namespace.id).hold(stale)
    with pytest.raises(Conflict):
        await retry_candidate(engine, call, stale.outcome_id)


async def test_lapsed_leases_are_freed_and_claimed_too_often_they_are_quarantined(
    engine: Engine, operator: Key, wall: str
) -> None:
    await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)
    for turn in range(5):
        moment = replace(call, now=NOON + turn * LEASE)
        await claimed(engine, moment)
        assert await claim(engine, moment, TicketClaim("late")) == []

    run = await job(engine, operator, wall, "tickets", NOON + 5 * LEASE)

    [ticket] = await tickets(engine, call)
    assert ticket.state is TicketState.QUARANTINED
    assert run.result is not None
    [change] = run.result["changes"]
    assert (change["ticket_id"], change["change"]) == (str(ticket.id), "quarantined")
    assert await claim(engine, replace(call, now=NOON + DAY), TicketClaim("late")) == []
    assert (await retry(engine, call, ticket.id)).state is TicketState.OPEN
    assert (await claimed(engine, call)).claims == 1


async def test_a_lapsed_lease_is_freed_by_the_job(engine: Engine, operator: Key, wall: str) -> None:
    await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)
    await claimed(engine, call)

    dry = await job(engine, operator, wall, "tickets", NOON + LEASE, dry=True)
    assert [one.state for one in await tickets(engine, call)] == [TicketState.LEASED]
    run = await job(engine, operator, wall, "tickets", NOON + LEASE)

    assert run.result == dry.result
    [ticket] = await tickets(engine, call)
    assert (ticket.state, ticket.leased_to) == (TicketState.OPEN, None)
    assert (await memory_of(engine, call, ticket)).status is Status.PROPOSED


async def on_probation(engine: Engine, key: Key, slug: str) -> UUID:
    ticket = await a_candidate(engine, key, slug)
    await job(engine, key, slug, "tickets", NOON + 7 * DAY)
    return ticket.memory_id


async def test_where_nobody_verifies_a_candidate_goes_on_probation(
    engine: Engine, operator: Key, wall: str
) -> None:
    ticket = await a_candidate(engine, operator, wall)
    await job(engine, operator, wall, "tickets", NOON + 6 * DAY)
    call = await a_call(engine, operator, wall)
    assert (await memory_of(engine, call, ticket)).status is Status.PROPOSED

    await job(engine, operator, wall, "tickets", NOON + 7 * DAY)

    memory = await memory_of(engine, call, ticket)
    assert (memory.status, memory.status_reason) == (Status.PROBATION, "nobody_verified")
    [ended] = await tickets(engine, call)
    assert (ended.state, ended.decision) == (TicketState.EXPIRED, "probation")


async def test_a_detour_over_suspension_ends_no_probation(
    engine: Engine, operator: Key, wall: str
) -> None:
    memory_id = await on_probation(engine, operator, wall)
    call = await a_call(engine, operator, wall)
    for action, status in (("suspend", Status.SUSPENDED), ("restore", Status.PROBATION)):
        changed = await change_status(engine, call, memory_id, StatusChange(action))
        assert changed.status is status


async def test_unfinished_trials_can_speak_against_a_candidate_but_not_for_it(
    engine: Engine, operator: Key, wall: str
) -> None:
    for reward, status in ((0.9, Status.PROBATION), (0.1, Status.REJECTED)):
        ticket = await a_candidate(engine, operator, wall, lesson=f"lesson worth {reward}")
        call = await a_call(engine, operator, wall)
        held = await claimed(engine, call)
        await tried(engine, call, held, 0.0, trials=(TrialResult(0, reward),))

        await job(engine, operator, wall, "tickets", NOON + (7 + 10 * reward) * DAY)

        assert (await memory_of(engine, call, ticket)).status is status


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ((0.95, 3), Status.ACTIVE),
        ((0.05, 5), Status.REJECTED),
        ((0.05, 3), Status.PROBATION),
    ],
)
async def test_outcomes_end_a_probation(
    engine: Engine, operator: Key, wall: str, told: tuple[float, int], status: Status
) -> None:
    reward, times = told
    memory_id = await on_probation(engine, operator, wall)
    moment = NOON + 7 * DAY
    for number in range(times):
        call = await a_call(engine, operator, wall, moment)
        without = {"reward": 1 - reward}
        await a_run(engine, call, 10 + number, reward=reward, without=without)
        await apply_now(engine, call)
    call = await a_call(engine, operator, wall, moment)
    living = call.namespace.n_memories

    await job(engine, operator, wall, "tickets", moment + DAY)

    assert (await get_memory(engine, call, memory_id)).status is status
    left = (await a_call(engine, operator, wall)).namespace.n_memories
    assert left == living - (status is Status.REJECTED)


async def test_a_rejected_candidate_is_refined_three_times_and_no_more(
    engine: Engine, operator: Key, wall: str
) -> None:
    first = await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)
    living = call.namespace.n_memories
    for number in range(3):
        await tried(engine, call, await claimed(engine, call), 0.1)
        memory = await get_memory(engine, call, first.memory_id)
        assert memory.status is Status.REJECTED
        edit = MemoryEdit(lesson=f"look at the wind, wording {number}")
        refined = await refine(engine, call, first.memory_id, edit, memory.version)
        assert (refined.status, refined.version) == (Status.PROPOSED, number + 2)
    assert (await a_call(engine, operator, wall)).namespace.n_memories == living
    [*_, last] = await tickets(engine, call)
    assert "wording 2" in last.guideline
    assert [slot.reference for slot in last.trials] == [0.4] * 3
    await tried(engine, call, await claimed(engine, call), 0.1)

    with pytest.raises(Conflict) as caught:
        await refine(engine, call, first.memory_id, MemoryEdit(lesson="once more"), 4)

    assert caught.value.kind == "refinements_spent"


async def test_a_candidate_is_reworded_by_refining_it_alone(
    engine: Engine, operator: Key, wall: str
) -> None:
    ticket = await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)

    with pytest.raises(Conflict):
        await edit_memory(engine, call, ticket.memory_id, MemoryEdit(lesson="other"), 1)

    await refine(engine, call, ticket.memory_id, MemoryEdit(lesson="other"), 1)
    old, new = await tickets(engine, call)
    assert (old.state, old.reason) == (TicketState.EXPIRED, "refined")
    assert (new.state, new.version) == (TicketState.OPEN, 2)


async def test_an_erased_candidate_takes_its_words_and_its_ticket_along(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_bad_day(engine, operator, wall)
    await job(engine, operator, wall, "acquire", NOON)

    await erase(engine, call, Erasure(agent="solver"))

    assert await claim(engine, call, TicketClaim("late")) == []
    async with engine.database.transaction(call.namespace.id) as connection:
        rows = await connection.exec_driver_sql(
            "SELECT t::text FROM ticket t UNION ALL SELECT o::text FROM outcome o"
        )
        stored = "\n".join(row[0] for row in rows)
    assert "wind" not in stored
    assert "never asked for" not in stored


async def test_a_lesson_erased_while_it_waits_makes_no_memory(
    moody: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    call = await a_bad_day(moody, operator, wall)
    mood(moody, down=True)
    await job(moody, operator, wall, "acquire", NOON)
    await erase(moody, call, Erasure(key_id=operator.id))
    mood(moody)

    await job(moody, operator, wall, "acquire", NOON + timedelta(hours=1))

    assert {one.state for one in await candidates(moody, call)} == {"nothing"}
    reader = await calls(wall, role=Role.READER)
    assert await proposed(moody, reader) == []
