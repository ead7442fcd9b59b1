"""An outcome that cannot be applied stops no other: it is set aside with the reason, seen, and
tried again when somebody who may asks for it.
"""

import pytest
from sqlalchemy import text

from memory.jobs.attempts import list_failing
from memory.jobs.service import list_runs
from memory.kernel.engine import Engine
from memory.kernel.errors import Forbidden
from memory.kernel.paging import Page
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ApplyRequest
from memory.outcomes.service import list_outcomes
from memory.receipts.entities import Outcome
from memory.receipts.list_entities import OutcomeFilter
from memory.tenancy.entities import Call, Key, KeyDraft, Role
from memory.tenancy.service import create_key
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import NOON, a_namespace
from tests.storage.steps import a_call, live_and_rebuilt, remembered, reported, served

PAGE = Page(200)
SECRET = "what somebody wrote"
SPOIL = """UPDATE outcome SET ranker_rewards = jsonb_build_object('relevance', CAST(:words AS text))
    WHERE id = :id"""
MEND = "UPDATE outcome SET ranker_rewards = NULL WHERE id = :id"


async def a_bank(engine: Engine, key: Key) -> Call:
    call = await a_call(engine, key, await a_namespace(engine, key))
    await remembered(engine, call, a_draft())
    return call


async def waiting(engine: Engine, call: Call, many: int) -> list[Outcome]:
    """Outcomes that nobody has applied."""
    found: list[Outcome] = []
    for _ in range(many):
        answer = await served(engine, call, purpose="paired")
        one = await reported(engine, call, answer, reward=0.9, without={"reward": 0.2})
        found.append(one.outcome)
    return found


async def change(engine: Engine, call: Call, statement: str, **values: object) -> None:
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(text(statement), values)


async def by_status(engine: Engine, call: Call) -> dict[str, list[Outcome]]:
    listed = await list_outcomes(engine, call, OutcomeFilter(), PAGE)
    found: dict[str, list[Outcome]] = {}
    for one in listed.items:
        found.setdefault(one.status, []).append(one)
    return found


async def assert_exact(engine: Engine, call: Call) -> None:
    live, again = await live_and_rebuilt(engine, call)
    assert live == again


async def test_the_others_are_applied_and_the_one_says_why_it_is_not(
    engine: Engine, operator: Key
) -> None:
    call = await a_bank(engine, operator)
    outcomes = await waiting(engine, call, 5)
    for bad in (outcomes[1], outcomes[3]):
        await change(engine, call, SPOIL, words=SECRET, id=bad.id)

    applied = await apply_now(engine, call)

    assert (applied.applied, applied.pending, applied.set_aside) == (3, 0, 2)
    await change(engine, call, MEND, id=outcomes[1].id)
    await change(engine, call, MEND, id=outcomes[3].id)
    found = await by_status(engine, call)
    aside = found["accepted"]
    assert {one.id for one in aside} == {outcomes[1].id, outcomes[3].id}
    assert all(one.set_aside_at == NOON for one in aside)
    runs = (await list_runs(engine, call, PAGE)).items
    assert [(run.job, run.state) for run in runs] == [("outcomes", "failed")] * 2
    told = " ".join(str(one.reason) for one in (*aside, *runs))
    assert "ValueError" in told
    assert SECRET not in told
    assert str(outcomes[1].id) in told
    live, again = await live_and_rebuilt(
        engine, await a_call(engine, operator, call.namespace.slug)
    )
    assert live == again


async def test_what_was_set_aside_is_applied_once_it_is_asked_for_again(
    engine: Engine, operator: Key
) -> None:
    call = await a_bank(engine, operator)
    [bad, _] = await waiting(engine, call, 2)
    await change(engine, call, SPOIL, words=SECRET, id=bad.id)
    await apply_now(engine, call)

    still = await apply_now(engine, call, ApplyRequest(retry=True))
    failing = await list_failing(engine, call)
    await change(engine, call, MEND, id=bad.id)
    unasked = await apply_now(engine, call)
    mended = await apply_now(engine, call, ApplyRequest(retry=True))

    assert (still.applied, still.set_aside) == (0, 1)
    assert [(one.job, one.failures) for one in failing] == [("outcomes", 2)]
    assert (unasked.applied, unasked.set_aside) == (0, 1)
    assert (mended.applied, mended.set_aside) == (1, 0)
    assert await list_failing(engine, call) == []
    [one] = [o for o in (await by_status(engine, call))["applied"] if o.id == bad.id]
    assert (one.set_aside_at, one.reason) == (None, None)
    live, again = await live_and_rebuilt(
        engine, await a_call(engine, operator, call.namespace.slug)
    )
    assert live == again


async def test_who_only_reports_may_not_ask_for_what_was_set_aside(
    engine: Engine, operator: Key
) -> None:
    call = await a_bank(engine, operator)
    draft = KeyDraft(Role.AGENT, "reporter", call.namespace.slug)
    agent, _ = await create_key(engine, operator, draft, NOON)

    with pytest.raises(Forbidden):
        await apply_now(engine, Call(agent, call.namespace, NOON), ApplyRequest(retry=True))


async def test_an_outcome_that_took_the_place_of_one_set_aside_is_applied(
    engine: Engine, operator: Key
) -> None:
    call = await a_bank(engine, operator)
    answer = await served(engine, call, purpose="paired")
    bad = (await reported(engine, call, answer, reward=0.9, without={"reward": 0.2})).outcome
    await change(engine, call, SPOIL, words=SECRET, id=bad.id)
    await apply_now(engine, call)
    await change(engine, call, MEND, id=bad.id)

    better = {"reward": 0.7, "without": {"reward": 0.2}, "supersedes": bad.id}
    await reported(engine, call, answer, **better)
    applied = await apply_now(engine, call)

    assert (applied.applied, applied.set_aside) == (1, 0)
    found = await by_status(engine, call)
    assert [one.id for one in found["superseded"]] == [bad.id]
