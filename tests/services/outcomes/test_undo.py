"""What was learned can be withdrawn, bit for bit: supersession, pairs, rollback, what if."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.belief.fold import Learned
from memory.erasure.rollback import roll_back
from memory.insight.entities import Rollback
from memory.insight.history import compare_moments, list_past_weights, what_if
from memory.insight.service import get_weight
from memory.insight.what_if_entities import WhatIf
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, NotFound, Rejected
from memory.kernel.paging import Page
from memory.memories.browse_entities import BankMoment
from memory.memories.service import get_memory
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport, Reported
from memory.outcomes.service import get_outcome, list_outcomes, report
from memory.receipts.entities import Outcome
from memory.receipts.list_entities import OutcomeFilter
from memory.retrieval.entities import Advice
from memory.tasks.entities import AgentDraft, TaskDraft
from memory.tasks.service import add_agent
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call, Role
from tests.fixtures.builders import a_draft, a_report
from tests.fixtures.engine import DAY, NOON, OPEN, Caller, a_namespace
from tests.storage.steps import live_and_rebuilt, remembered, reported, served

HOUR = timedelta(hours=1)
PAGE = Page(200)
RAIN = TaskDraft("a forecast of rain", key="rain", category="weather")
SNOW = TaskDraft("a forecast of snow", key="snow", category="weather")


async def exact(engine: Engine, call: Call) -> Learned:
    """The live states, once they were found to be what the ledger folds to."""
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    return live


async def outcomes(engine: Engine, call: Call) -> Sequence[Outcome]:
    return (await list_outcomes(engine, call, OutcomeFilter(), PAGE)).items


async def both_runs(engine: Engine, call: Call, **off: object) -> tuple[Advice, Advice]:
    """One run with memory, a pair promised, and one without."""
    on = await served(engine, call, purpose="paired", as_of=NOON, task=RAIN)
    asked = {"arm": "off", "as_of": NOON, "task": RAIN} | off
    return on, await served(engine, call, **asked)


@pytest.mark.parametrize("first", ["on", "off"])
async def test_two_runs_reported_apart_make_a_pair_whichever_comes_first(
    engine: Engine, calls: Caller, past: str, first: str
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    call = await calls(past)
    on, off = await both_runs(engine, call)
    runs = [(on, 0.9), (off, 0.4)] if first == "on" else [(off, 0.4), (on, 0.9)]
    for hours, (run, reward) in enumerate(runs):
        await reported(engine, call, run, reward=reward, known_at=NOON + hours * HOUR)
        await apply_now(engine, await calls(past))

    live = await exact(engine, await calls(past))

    told = await outcomes(engine, call)
    [pair] = [one for one in told if one.evidence == "paired"]
    [half] = [one for one in told if one.retrieval_id == off.receipt.retrieval_id]
    assert (pair.reward, pair.reward_without, pair.status) == (0.9, 0.4, "applied")
    assert (half.reason, half.partner_id, pair.partner_id) == ("half_of_pair", pair.id, half.id)
    assert len(live.memories) == 1
    [belief] = live.memories.values()
    assert belief.values[0] > 0


@pytest.mark.parametrize(
    "off",
    [
        {"task": SNOW},
        {"agent": "another"},
        {"known_at": NOON + 25 * HOUR},
        {"metric": "brier"},
    ],
    ids=["another task", "another agent", "a day later", "another metric"],
)
async def test_runs_that_differ_in_more_than_memory_make_no_pair(
    engine: Engine, calls: Caller, past: str, off: dict[str, object]
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    call = await calls(past)
    asked = {name: value for name, value in off.items() if name in ("task", "agent")}
    on, without = await both_runs(engine, call, **asked)
    await reported(engine, call, on, reward=0.9, known_at=NOON)
    measured = {"reward": 0.4, "known_at": off.get("known_at", NOON)}
    if "metric" in off:
        measured |= {"reward": None, "metric": "brier", "value": {"p": [0.5]}, "truth": {"y": [1]}}

    await reported(engine, call, without, **measured)
    await apply_now(engine, await calls(past))

    assert {one.reason for one in await outcomes(engine, call)} >= {"half_missing"}
    assert not (await exact(engine, await calls(past))).noises


async def test_runs_of_an_agent_whose_model_changed_make_no_pair(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    on = await served(engine, call, purpose="paired", as_of=NOON, task=RAIN)
    async with engine.database.transaction(call.namespace.id) as connection:
        await ActorStore(connection, call.namespace.id).change_agent("solver", {"model": "n"}, 1)
    off = await served(engine, call, arm="off", as_of=NOON, task=RAIN)

    await reported(engine, call, on, known_at=NOON)
    await reported(engine, call, off, known_at=NOON)

    assert not [one for one in await outcomes(engine, call) if one.evidence == "paired"]


async def test_a_run_without_memory_serves_one_pair(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    on, off = await both_runs(engine, call)
    again = await served(engine, call, purpose="paired", as_of=NOON, task=RAIN)
    for run in (off, on, again):
        await reported(engine, call, run, known_at=NOON)
    await apply_now(engine, await calls(past))

    told = {one.retrieval_id: one for one in await outcomes(engine, call)}

    assert told[on.receipt.retrieval_id].evidence == "paired"
    assert told[again.receipt.retrieval_id].reason == "half_missing"


async def test_the_half_without_memory_may_come_later(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    run = await served(engine, call, purpose="paired", as_of=NOON)
    first = await reported(engine, call, run, reward=0.9, known_at=NOON)
    await apply_now(engine, await calls(past))

    late = {"reward": 0.9, "without": {"reward": 0.2}, "known_at": NOON + DAY}
    second = await reported(engine, call, run, **late)
    await apply_now(engine, await calls(past))

    assert (await get_outcome(engine, call, first.outcome.id)).status == "superseded"
    assert (await get_outcome(engine, call, second.outcome.id)).evidence == "paired"
    await exact(engine, await calls(past))


async def a_week(
    engine: Engine, calls: Caller, slug: str, rewards: Sequence[float]
) -> list[Reported]:
    """One outcome a day, verified by a test."""
    told: list[Reported] = []
    for day, reward in enumerate(rewards):
        at = NOON + day * DAY
        run = await served(engine, await calls(slug), as_of=at)
        told.append(await reported(engine, await calls(slug), run, reward=reward, known_at=at))
        await apply_now(engine, await calls(slug))
    return told


def numbers(states: Learned) -> list[tuple[float, ...]]:
    """The states without the ids, which differ from one namespace to another, and without the
    rankers' records: rankers are drawn.
    """
    parts = (getattr(states, name) for name in Learned.__slots__ if name != "records")
    return sorted(state.values for part in parts for state in part.values())


async def test_an_applied_outcome_that_a_better_one_supersedes_leaves_no_trace(
    engine: Engine, calls: Caller, operator
):
    left = await a_namespace(engine, operator, clock="replay")
    right = await a_namespace(engine, operator, clock="replay")
    for slug in (left, right):
        await remembered(engine, await calls(slug), a_draft(learned_at=NOON))
    corrected = await a_week(engine, calls, left, [0.9, 0.1, 0.8, 0.7])
    await a_week(engine, calls, right, [0.9, 0.8, 0.8, 0.7][:1])
    for day, reward in ((2, 0.8), (3, 0.7)):
        at = NOON + day * DAY
        run = await served(engine, await calls(right), as_of=at)
        await reported(engine, await calls(right), run, reward=reward, known_at=at)
    run = await served(engine, await calls(right), as_of=NOON + 4 * DAY)
    await reported(engine, await calls(right), run, reward=0.6, known_at=NOON + 4 * DAY)
    await apply_now(engine, await calls(right))

    better = a_report(reward=0.6, verifier="human", known_at=NOON + 4 * DAY)
    wrong = corrected[1].outcome
    [taken] = await report(engine, await calls(left), [ReceiptReport(wrong.retrieval_id, better)])
    assert isinstance(taken, Reported), taken
    await apply_now(engine, await calls(left))

    found = await get_outcome(engine, await calls(left), wrong.id)
    assert (found.status, found.withdrawn_version is None) == ("superseded", False)
    here = await exact(engine, await calls(left))
    assert numbers(here) == numbers(await exact(engine, await calls(right)))
    [memory] = here.memories
    weight = await get_weight(engine, await calls(left), memory, None)
    assert weight.credited == 4


async def test_a_correction_by_the_same_hand_is_taken_and_by_another_is_not(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    [told] = await a_week(engine, calls, past, [0.9])
    mended = {"reward": 0.2, "supersedes": told.outcome.id, "known_at": NOON + DAY}
    run = told.outcome.retrieval_id

    [other] = await report(
        engine, call, [ReceiptReport(run, a_report(**mended, evaluator="someone else"))]
    )
    [same] = await report(engine, call, [ReceiptReport(run, a_report(**mended))])
    [stale] = await report(
        engine, call, [ReceiptReport(run, a_report(**(mended | {"reward": 0.3})))]
    )

    assert isinstance(other, Reported)
    assert (other.outcome.status, other.outcome.reason) == ("ignored", "disagrees")
    assert isinstance(same, Reported)
    assert same.outcome.status == "accepted"
    assert isinstance(stale, Conflict)
    await apply_now(engine, await calls(past))
    await exact(engine, await calls(past))


async def test_a_less_verified_outcome_is_kept_and_moves_nothing(
    engine: Engine, calls: Caller, past: str
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    [told] = await a_week(engine, calls, past, [0.9])
    weaker = a_report(reward=0.1, verifier="self", known_at=NOON)

    [late] = await report(
        engine, await calls(past), [ReceiptReport(told.outcome.retrieval_id, weaker)]
    )

    assert isinstance(late, Reported)
    assert (late.outcome.status, late.outcome.reason) == ("ignored", "outranked")


async def test_a_rollback_is_first_looked_at_and_then_does_what_was_seen(
    engine: Engine, calls: Caller, past: str
):
    [kept] = await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    await a_week(engine, calls, past, [0.9, 0.8])
    before = await exact(engine, await calls(past))
    loud = await calls(past, role=Role.ADMIN)
    [written] = await remembered(
        engine, loud, a_draft(lesson="trust me", agent="loud", learned_at=NOON)
    )
    for day in (2, 3, 4):
        at = NOON + day * DAY
        run = await served(engine, await calls(past), as_of=at, agent="loud")
        await reported(
            engine,
            replace(loud, namespace=(await calls(past)).namespace),
            run,
            reward=1.0,
            known_at=at,
        )
    await apply_now(engine, await calls(past))

    seen = await roll_back(engine, await calls(past), Rollback(key_id=loud.key.id))
    untouched = await exact(engine, await calls(past))
    done = await roll_back(engine, await calls(past), Rollback(key_id=loud.key.id, dry_run=False))
    after = await exact(engine, await calls(past))

    assert (len(seen.outcomes), seen.retired) == (3, (written.id,))
    assert untouched != before
    assert (done.outcomes, done.retired, done.difference) == (
        seen.outcomes,
        seen.retired,
        seen.difference,
    )
    assert after.memories[kept.id] == before.memories[kept.id]
    assert after.noises == before.noises
    assert {*after.cells} == {*before.cells}
    retired = await get_memory(engine, await calls(past), written.id)
    assert (retired.status, retired.status_reason) == ("retired", "rolled_back")
    again = await roll_back(engine, await calls(past), Rollback(key_id=loud.key.id))
    assert (again.outcomes, again.retired) == ((), ())


async def test_a_rollback_in_the_midst_of_others_leaves_what_came_between(
    engine: Engine, calls: Caller, past: str
):
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    first = await a_week(engine, calls, past, [0.9, 0.1, 0.8, 0.2, 0.7])
    for wrong in (first[3], first[1]):
        better = a_report(reward=0.5, verifier="human", known_at=NOON + 9 * DAY)
        await report(engine, await calls(past), [ReceiptReport(wrong.outcome.retrieval_id, better)])
        await apply_now(engine, await calls(past))
        await exact(engine, await calls(past))
    await roll_back(engine, await calls(past), Rollback(agent="solver", dry_run=False))

    emptied = await exact(engine, await calls(past))

    assert not emptied.cells
    assert not emptied.effects
    [belief] = emptied.memories.values()
    assert belief.values[0] == 0


async def test_who_may_not_manage_rolls_nothing_back(engine: Engine, calls: Caller, past: str):
    with pytest.raises(Forbidden):
        await roll_back(engine, await calls(past, role=Role.READER), Rollback(agent="solver"))
    with pytest.raises(NotFound):
        await roll_back(engine, await calls(past), Rollback(agent="nobody"))
    with pytest.raises(Rejected):
        Rollback()


async def test_the_bank_of_a_moment_is_found_by_time_and_by_version(
    engine: Engine, calls: Caller, past: str
):
    [lesson] = await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    weights: list[float] = []
    versions: list[int] = []
    for told in await a_week(engine, calls, past, [0.9, 0.2, 0.9]):
        found = await get_outcome(engine, await calls(past), told.outcome.id)
        assert found.bank_version is not None
        versions.append(found.bank_version)
        moment = BankMoment(as_of=found.known_at)
        [row] = (await list_past_weights(engine, await calls(past), moment, PAGE)).items
        weights.append(row.effective_weight)

    for version, weight in zip(versions, weights, strict=True):
        moment = BankMoment(bank_version=version)
        [row] = (await list_past_weights(engine, await calls(past), moment, PAGE)).items
        assert (row.memory_id, row.effective_weight) == (lesson.id, weight)
    [row] = (await list_past_weights(engine, await calls(past), BankMoment(), PAGE)).items
    assert row.effective_weight == weights[-1]
    moments = (BankMoment(bank_version=versions[0]), BankMoment(bank_version=versions[1]))
    found = await compare_moments(engine, await calls(past), *moments)
    assert [(c.memory_id, c.before, c.after) for c in found.weights] == [
        (lesson.id, weights[0], weights[1])
    ]
    empty = await list_past_weights(engine, await calls(past), BankMoment(bank_version=0), PAGE)
    assert empty.total == 0


async def test_what_if_tells_of_another_policy_and_touches_nothing(
    engine: Engine, calls: Caller, past: str
):
    [lesson] = await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    run = await served(engine, await calls(past), as_of=NOON, purpose="paired")
    without = {"without": {"reward": 0.4}, "reward": 0.8, "known_at": NOON}
    await reported(engine, await calls(past), run, **without)
    await apply_now(engine, await calls(past))
    before = await exact(engine, await calls(past))

    found = await what_if(engine, await calls(past), WhatIf("paper"))

    assert await exact(engine, await calls(past)) == before
    [change] = found.difference.weights
    assert (change.memory_id, change.after) == (lesson.id, pytest.approx(1.4))
    assert (found.instead_of, found.outcomes) == ("belief", 1)
    assert "served" in found.held_fixed
    with pytest.raises(Rejected):
        await what_if(engine, await calls(past), WhatIf("no such"))


async def test_the_nightly_rebuild_finds_the_states_exact_and_a_forged_one_not(
    engine: Engine, calls: Caller, past: str
):
    [lesson] = await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    await a_week(engine, calls, past, [0.9, 0.2])

    good = await run_job(engine, await calls(past), "rebuild", JobRequest(now=NOON + 3 * DAY))
    await forge(engine, await calls(past), lesson.id)
    bad = await run_job(engine, await calls(past), "rebuild", JobRequest(now=NOON + 4 * DAY))

    assert good.result is not None
    assert bad.result is not None
    assert (good.result["exact"], bad.result["exact"]) == (True, False)
    assert str(lesson.id) in str(bad.result["differing"])


async def forge(engine: Engine, call: Call, memory: UUID) -> None:
    """Someone writes past the ledger."""
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(
            text("UPDATE memory_weight SET state = '{0.5, 0.01}' WHERE memory_id = :id"),
            {"id": memory},
        )


async def test_one_loud_key_counts_so_often_a_day_for_one_memory(
    engine: Engine, calls: Caller, operator
):
    settings = replace(OPEN, daily_credits=2)
    slug = await a_namespace(engine, operator, clock="replay", settings=settings)
    [lesson] = await remembered(engine, await calls(slug), a_draft(learned_at=NOON))
    await add_agent(engine, await calls(slug), AgentDraft("loud"))
    loud = await calls(slug, role=Role.AGENT, agents=("loud",))
    weights: list[float] = []
    for count in range(6):
        at = NOON + (DAY if count == 5 else timedelta(0)) + count * timedelta(minutes=1)
        run = await served(
            engine, replace(loud, namespace=(await calls(slug)).namespace), as_of=at, agent="loud"
        )
        told = await reported(engine, loud, run, reward=0.0, verifier="self", known_at=at)
        await apply_now(engine, await calls(slug))
        muted = (await get_outcome(engine, await calls(slug), told.outcome.id)).muted
        assert muted == ((lesson.id,) if 2 <= count < 5 else ())
        memory = (await exact(engine, await calls(slug))).memories[lesson.id]
        weights.append(memory.values[0])

    assert weights[0] > weights[1]
    assert weights[2:5] == pytest.approx([weights[1]] * 3, rel=1e-3), "but for their age"
    assert weights[5] < weights[4] - 0.01


async def test_the_half_that_counts_is_the_best_verified_report_of_the_run(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    on, off = await both_runs(engine, call)
    await reported(engine, call, off, reward=0.4, verifier="test", known_at=NOON)
    await apply_now(engine, await calls(past))
    lost = await reported(engine, call, off, reward=0.0, verifier="self", known_at=NOON)

    await reported(engine, call, on, reward=0.9, verifier="human", known_at=NOON - HOUR)
    await apply_now(engine, await calls(past))

    assert (lost.outcome.status, lost.outcome.reason) == ("ignored", "outranked")
    [pair] = [one for one in await outcomes(engine, call) if one.evidence == "paired"]
    assert (pair.reward_without, pair.verifier, pair.known_at) == (0.4, "test", NOON)


async def test_a_run_reported_twice_still_serves_one_pair(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    on, off = await both_runs(engine, call)
    again = await served(engine, call, purpose="paired", as_of=NOON, task=RAIN)
    for run in (off, on):
        await reported(engine, call, run, known_at=NOON)
        await apply_now(engine, await calls(past))
    await reported(engine, call, off, reward=0.1, known_at=NOON)

    await reported(engine, call, again, known_at=NOON)
    await apply_now(engine, await calls(past))

    pairs = [one for one in await outcomes(engine, call) if one.evidence == "paired"]
    assert [one.retrieval_id for one in pairs] == [on.receipt.retrieval_id]


async def test_a_correction_of_one_half_makes_the_pair_anew(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    on, off = await both_runs(engine, call)
    await reported(engine, call, on, reward=0.9, verifier="test", known_at=NOON)
    await reported(engine, call, off, reward=0.4, verifier="test", known_at=NOON)
    await apply_now(engine, await calls(past))

    await reported(engine, call, off, reward=0.8, verifier="human", known_at=NOON + HOUR)
    await apply_now(engine, await calls(past))

    told = await outcomes(engine, call)
    [pair] = [one for one in told if one.evidence == "paired" and one.status == "applied"]
    assert (pair.reward, pair.reward_without) == (0.9, 0.8)
    assert [one.status for one in told if one.evidence == "paired"] == ["superseded", "applied"]
    await exact(engine, await calls(past))


async def test_a_rollback_reaches_pairs_by_either_half(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    on, off = await both_runs(engine, call)
    other = await calls(past, role=Role.EVALUATOR)
    await reported(engine, call, on, reward=0.9, known_at=NOON)
    told = await reported(engine, other, off, reward=0.4, known_at=NOON)
    await apply_now(engine, await calls(past))

    source = Rollback(key_id=other.key.id, dry_run=False)
    done = await roll_back(engine, await calls(past), source)
    again = await reported(engine, other, off, reward=0.4, known_at=NOON)

    assert len(done.outcomes) == 2
    assert not (await exact(engine, await calls(past))).noises
    assert not again.replayed, "what was rolled back may be said again"
    assert again.outcome.id != told.outcome.id


async def test_once_applied_a_waiting_half_gives_way_to_no_weaker_word(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    run = await served(engine, call, purpose="paired", as_of=NOON, task=RAIN)
    first = await reported(engine, call, run, reward=0.9, verifier="human", known_at=NOON)
    await apply_now(engine, await calls(past))

    second = await reported(engine, call, run, reward=0.1, verifier="self", known_at=NOON)

    assert second.outcome.reason == "outranked"
    assert (await get_outcome(engine, call, first.outcome.id)).reason == "half_missing"
