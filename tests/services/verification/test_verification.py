"""A candidate is tried before it is used: leased once, judged by lift, in or out."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, MemoryFault, Rejected
from memory.memories.entities import Status, Trust, Visibility
from memory.outcomes.applying import apply_now
from memory.receipts.entities import RunResult
from memory.tenancy.entities import Call, Key, Role
from memory.verification.entities import Ticket, TicketClaim, TicketState, TrialResult
from memory.verification.service import LEASE, approve, cancel, claim, get_ticket, release
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, Caller
from tests.fixtures.verification_steps import (
    a_candidate,
    a_run,
    a_task_draft,
    claimed,
    job,
    memory_of,
    tickets,
    tried,
)
from tests.storage.steps import a_call, live_and_rebuilt, remembered, served


def later(call: Call, by: timedelta) -> Call:
    return replace(call, now=call.now + by)


async def test_a_candidate_is_not_served_before_it_is_admitted(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    opened = await a_candidate(engine, operator, wall)
    tester = await calls(wall, role=Role.AGENT)
    before = (await served(engine, tester)).receipt.guideline.text or ""
    ticket = await claimed(engine, tester)
    during = (await served(engine, await calls(wall, role=Role.AGENT))).receipt.guideline.text or ""

    done = await tried(engine, tester, ticket, 0.9)

    call = await a_call(engine, operator, wall)
    memory = await memory_of(engine, call, opened)
    assert (memory.status, memory.trust) == (Status.ACTIVE, Trust.TRUSTED)
    assert (done.ticket.state, done.ticket.decision) == (TicketState.DECIDED, "admitted")
    assert "look at the wind" in ticket.guideline
    assert "look at the wind" not in before + during
    assert "look at the wind" in ((await served(engine, call)).receipt.guideline.text or "")
    live, again = await live_and_rebuilt(engine, call)
    assert live == again


async def test_a_candidate_that_brings_nothing_is_rejected_and_kept(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    opened = await a_candidate(engine, operator, wall)
    tester = await calls(wall, role=Role.AGENT)
    living = (await a_call(engine, operator, wall)).namespace.n_memories

    done = await tried(engine, tester, await claimed(engine, tester), 0.44)

    call = await a_call(engine, operator, wall)
    memory = await memory_of(engine, call, opened)
    assert (memory.status, memory.status_reason) == (Status.REJECTED, "gain_too_small")
    assert (done.ticket.decision, done.ticket.evidence) == ("rejected", "same_task")
    assert call.namespace.n_memories == living - 1
    assert "look at the wind" not in ((await served(engine, call)).receipt.guideline.text or "")


async def test_every_change_of_status_takes_a_version_of_the_bank(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    opened = await a_candidate(engine, operator, wall)
    versions = [(await a_call(engine, operator, wall)).namespace.bank_version]
    tester = await calls(wall, role=Role.AGENT)
    for step in ("claim", "report"):
        if step == "claim":
            ticket = await claimed(engine, tester)
        else:
            await tried(engine, tester, ticket, 0.9)
        call = await a_call(engine, operator, wall)
        versions.append(call.namespace.bank_version)
        assert (await memory_of(engine, call, opened)).bank_version == versions[-1]

    assert versions[2] - versions[1] == versions[1] - versions[0] == 1


async def test_claimers_at_once_get_different_tickets(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    drafts = [
        a_draft(lesson=f"rain lesson {n}", task=a_task_draft(n), verify=True) for n in range(6)
    ]
    await remembered(engine, call, *drafts)

    answers = await asyncio.gather(
        *(claim(engine, call, TicketClaim(f"agent {n}", limit=2)) for n in range(4))
    )

    leased = [ticket.id for answer in answers for ticket in answer]
    assert len(leased) == len(set(leased)) == 6
    assert await claim(engine, call, TicketClaim("late")) == []


async def test_a_killed_claimers_ticket_is_taken_over_with_what_it_had_reported(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    await a_candidate(engine, operator, wall)
    first, second = await calls(wall, role=Role.AGENT), await calls(wall, role=Role.AGENT)
    ticket = await claimed(engine, first, "doomed")
    await tried(engine, first, ticket, 0.0, agent="doomed", trials=(TrialResult(0, 0.9),))
    assert await claim(engine, later(second, LEASE / 2), TicketClaim("heir")) == []

    taken = await claimed(engine, later(second, LEASE), "heir")

    assert (taken.id, taken.claims, taken.leased_to) == (ticket.id, 2, "heir")
    assert [slot.reward for slot in taken.trials] == [0.9, None, None]
    done = await tried(engine, later(second, LEASE), taken, 0.95, agent="heir")
    assert done.ticket.decision == "admitted"
    assert [slot.agent for slot in done.ticket.trials] == ["doomed", "heir", "heir"]


async def test_a_report_told_again_is_replayed_and_another_one_is_refused(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    await a_candidate(engine, operator, wall)
    tester = await calls(wall, role=Role.AGENT)
    ticket = await claimed(engine, tester)
    for reward in (0.9, None):
        if reward is None:
            again = await tried(engine, tester, ticket, 0.9)
            assert again.replayed
            assert again.ticket.decision == "admitted"
        else:
            assert not (await tried(engine, tester, ticket, reward)).replayed

    with pytest.raises(Conflict) as caught:
        await tried(engine, tester, ticket, 0.8)
    assert caught.value.kind == "trial_conflict"


async def test_only_its_holder_reports_under_a_ticket_and_only_in_time(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    await a_candidate(engine, operator, wall)
    holder, other = await calls(wall, role=Role.AGENT), await calls(wall, role=Role.AGENT)
    ticket = await claimed(engine, holder)
    told: list[tuple[type[MemoryFault], str]] = []
    for call, agent in ((other, "tester"), (holder, "somebody"), (later(holder, LEASE), "tester")):
        with pytest.raises(MemoryFault) as caught:
            await tried(engine, call, ticket, 0.9, agent=agent)
        told.append((type(caught.value), caught.value.kind))

    assert told == [
        (Forbidden, "forbidden"),
        (Forbidden, "forbidden"),
        (Conflict, "lease_lapsed"),
    ]
    assert all(slot.reward is None for slot in (await get_ticket(engine, holder, ticket.id)).trials)


async def test_who_tries_its_own_candidate_verifies_itself_and_earns_no_trust(
    engine: Engine, operator: Key, wall: str
) -> None:
    opened = await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)

    done = await tried(engine, call, await claimed(engine, call), 0.9)

    assert all(slot.self_verified for slot in done.ticket.trials)
    memory = await memory_of(engine, call, opened)
    assert (memory.status, memory.trust) == (Status.ACTIVE, Trust.UNVERIFIED)


async def test_a_released_ticket_is_free_at_once(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    opened = await a_candidate(engine, operator, wall)
    holder, other = await calls(wall, role=Role.AGENT), await calls(wall, role=Role.AGENT)
    ticket = await claimed(engine, holder)
    with pytest.raises(Forbidden):
        await release(engine, other, ticket.id)

    await release(engine, holder, ticket.id)

    call = await a_call(engine, operator, wall)
    assert (await memory_of(engine, call, opened)).status is Status.PROPOSED
    assert (await claimed(engine, other)).id == ticket.id


async def test_a_manager_can_reject_a_candidate_untried(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    opened = await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)
    with pytest.raises(Forbidden):
        await cancel(engine, await calls(wall, role=Role.AGENT), opened.id)

    assert (await cancel(engine, call, opened.id)).decision == "rejected"

    assert (await memory_of(engine, call, opened)).status_reason == "cancelled"
    with pytest.raises(Conflict):
        await cancel(engine, call, opened.id)
    assert await claim(engine, call, TicketClaim("late")) == []


async def test_a_manager_can_let_a_candidate_in_untried_and_say_why(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    opened = await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)
    with pytest.raises(Forbidden):
        await approve(engine, await calls(wall, role=Role.AGENT), opened.id)

    decided = await approve(engine, call, opened.id, "we have seen it work")

    assert (decided.state, decided.decision) == ("decided", "admitted")
    known = await memory_of(engine, call, opened)
    assert (known.status, known.trust) == (Status.ACTIVE, Trust.UNVERIFIED)
    assert known.status_reason == decided.reason == "approved: we have seen it work"
    assert opened.memory_id in {m.memory_id for m in (await served(engine, call)).memories}
    with pytest.raises(Conflict):
        await cancel(engine, call, opened.id)


async def test_a_manager_says_why_a_candidate_is_rejected(
    engine: Engine, operator: Key, wall: str
) -> None:
    opened = await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)

    decided = await cancel(engine, call, opened.id, "it is true of one month only")

    assert decided.reason == "cancelled: it is true of one month only"


async def test_another_task_and_anchors_are_asked_for_and_count(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, a_draft(lesson="what everyone knows"))
    for number, reward in ((1, 0.5), (2, 0.97), (3, 0.98)):
        await a_run(engine, call, number, reward=reward)
    await a_candidate(engine, operator, wall)
    tester = await calls(wall, role=Role.AGENT)
    ticket = await claimed(engine, tester)
    assert [(slot.purpose, slot.reference) for slot in ticket.trials] == [
        ("source", 0.4),
        ("source", 0.4),
        ("other", 0.5),
        ("anchor", 0.98),
        ("anchor", 0.97),
    ]

    trials = tuple(TrialResult(slot, 0.9) for slot in range(5))
    done = await tried(engine, tester, ticket, 0.0, trials=trials)

    assert (done.ticket.decision, done.ticket.reason) == ("rejected", "anchors_lost")
    assert done.ticket.evidence == "other_task"


async def test_where_nothing_is_known_of_the_task_a_trial_brings_its_own_reference(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, a_draft(task=a_task_draft(), verify=True))
    tester = await calls(wall, role=Role.AGENT)
    ticket = await claimed(engine, tester)
    with pytest.raises(Rejected) as caught:
        await tried(engine, tester, ticket, 0.9)
    assert caught.value.field == "trials.0.without"

    pairs = tuple(
        TrialResult(slot, with_it, without=RunResult(without))
        for slot, (with_it, without) in enumerate([(0.9, 0.5), (0.8, 0.6), (0.9, 0.4)])
    )
    done = await tried(engine, tester, ticket, 0.0, trials=pairs)

    assert done.ticket.decision == "admitted"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"metric": "brier"}, "metric"),
        ({"trials": (TrialResult(7, 0.9),)}, "trials.0.slot"),
        ({"trials": (TrialResult(0, 0.9), TrialResult(0, 0.9))}, "trials"),
        ({"trials": (TrialResult(0, 1.5),)}, "trials.0.reward"),
        ({"trials": (TrialResult(0, float("nan")),)}, "trials.0.reward"),
        ({"trials": (TrialResult(0),)}, "trials.0.reward"),
        ({"known_at": NOON}, "known_at"),
    ],
)
async def test_a_result_that_cannot_be_taken_names_its_field(
    engine: Engine, operator: Key, wall: str, changes: dict[str, object], field: str
) -> None:
    await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)
    ticket = await claimed(engine, call)

    with pytest.raises(Rejected) as caught:
        await tried(engine, call, ticket, 0.9, **changes)

    assert caught.value.field == field


async def test_forecasts_are_judged_as_outcomes_are(
    engine: Engine, operator: Key, wall: str
) -> None:
    call = await a_call(engine, operator, wall)
    await remembered(engine, call, a_draft(lesson="what everyone knows"))
    truth = {"y": [1.0, 0.0]}
    fields = {"reward": None, "metric": "brier", "truth": truth}
    await a_run(engine, call, 0, value={"p": [0.5, 0.5]}, **fields)
    ticket = await a_candidate_of(engine, call)
    claimed_one = await claimed(engine, call)
    assert (ticket.metric, [slot.reference for slot in ticket.trials]) == ("brier", [0.75] * 3)

    trials = tuple(TrialResult(slot, value={"p": [0.9, 0.1]}, truth=truth) for slot in range(3))
    done = await tried(engine, call, claimed_one, 0.0, metric="brier", trials=trials)

    assert done.ticket.decision == "admitted"
    assert done.ticket.trials[0].reward == pytest.approx(0.99)


async def a_candidate_of(engine: Engine, call: Call) -> Ticket:
    await apply_now(engine, call)
    await remembered(engine, call, a_draft(lesson="wind", task=a_task_draft(), verify=True))
    return (await tickets(engine, call))[-1]


async def test_a_private_candidate_is_shown_to_its_own_agent_alone(
    engine: Engine, operator: Key, wall: str, calls: Caller
) -> None:
    own = await calls(wall, role=Role.AGENT, agents=("solver",))
    draft = a_draft(task=a_task_draft(), verify=True, visibility=Visibility.AGENT)
    await remembered(engine, own, draft)
    stranger = await calls(wall, role=Role.AGENT)

    assert await tickets(engine, stranger) == []
    assert await claim(engine, stranger, TicketClaim("stranger")) == []
    assert len(await claim(engine, own, TicketClaim("solver"))) == 1


async def test_in_replay_a_candidate_is_learned_when_it_is_admitted(
    engine: Engine, operator: Key, past: str
) -> None:
    call = await a_call(engine, operator, past)
    await remembered(engine, call, a_draft(lesson="what everyone knows", learned_at=NOON))
    draft = a_draft(lesson="wind", task=a_task_draft(), verify=True, learned_at=NOON + DAY)
    await remembered(engine, call, draft)
    ticket = await claimed(engine, call)
    trials = tuple(TrialResult(slot, 0.9, without=RunResult(0.1)) for slot in range(3))

    await tried(engine, call, ticket, 0.0, trials=trials, known_at=NOON + 3 * DAY)

    call = await a_call(engine, operator, past)
    assert (await memory_of(engine, call, ticket)).learned_at == NOON + 3 * DAY
    for days, there in ((2, False), (3, True)):
        answer = await served(engine, call, as_of=NOON + days * DAY)
        assert ("wind" in (answer.receipt.guideline.text or "")) is there


async def test_one_report_sent_five_times_at_once_is_taken_once(
    engine: Engine, operator: Key, wall: str
) -> None:
    await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)
    ticket = await claimed(engine, call)
    version = (await a_call(engine, operator, wall)).namespace.bank_version

    done = await asyncio.gather(*(tried(engine, call, ticket, 0.9) for _ in range(5)))

    assert sorted(one.replayed for one in done) == [False, True, True, True, True]
    assert {one.ticket.decision for one in done} == {"admitted"}
    assert (await a_call(engine, operator, wall)).namespace.bank_version == version + 1


async def test_a_candidate_retired_by_disuse_ends_its_ticket_without_a_verdict(
    engine: Engine, operator: Key, wall: str
) -> None:
    await a_candidate(engine, operator, wall)
    call = await a_call(engine, operator, wall)
    await job(engine, operator, wall, "decay", NOON + 200 * DAY)

    assert await claim(engine, call, TicketClaim("late")) == []
    await job(engine, operator, wall, "tickets", NOON + 200 * DAY)

    [ticket] = await tickets(engine, call)
    assert (ticket.state, ticket.reason) == (TicketState.EXPIRED, "memory_gone")
    assert (await memory_of(engine, call, ticket)).status is Status.RETIRED
    # The one that was credited stays; the candidate is not counted out twice.
    assert (await a_call(engine, operator, wall)).namespace.n_memories == 1
