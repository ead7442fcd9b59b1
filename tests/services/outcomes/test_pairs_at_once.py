"""Two runs of a pair are reported together, or corrected while the other half arrives."""

import asyncio

import pytest
from sqlalchemy import text

from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.kernel.paging import Page
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport, Reported
from memory.outcomes.service import list_outcomes, report
from memory.receipts.entities import Outcome
from memory.receipts.list_entities import OutcomeFilter
from memory.retrieval.entities import Advice
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call
from tests.fixtures.builders import a_draft, a_report
from tests.fixtures.engine import DAY, NOON, Caller
from tests.storage.steps import live_and_rebuilt, remembered, reported, served

RAIN = TaskDraft("a forecast of rain", key="rain", category="weather")
ROUNDS = 8


async def both_runs(engine: Engine, call: Call) -> tuple[Advice, Advice]:
    """A run that was promised its pair, and one without memory."""
    on = await served(engine, call, purpose="paired", as_of=NOON, task=RAIN)
    return on, await served(engine, call, arm="off", as_of=NOON, task=RAIN)


async def in_effect(engine: Engine, call: Call, run: Advice) -> list[Outcome]:
    wanted = OutcomeFilter(retrieval_id=run.receipt.retrieval_id)
    found = (await list_outcomes(engine, call, wanted, Page(200))).items
    return [one for one in found if one.status in ("accepted", "applied")]


@pytest.mark.parametrize("verifier", ["human", "self"])
async def test_a_call_that_completes_a_pair_and_then_speaks_of_it_is_taken_whole(
    engine: Engine, calls: Caller, past: str, verifier: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    on, off = await both_runs(engine, call)
    await reported(engine, call, on, reward=0.9, known_at=NOON)
    reports = [
        ReceiptReport(off.receipt.retrieval_id, a_report(reward=0.4, known_at=NOON)),
        ReceiptReport(
            on.receipt.retrieval_id, a_report(reward=0.6, verifier=verifier, known_at=NOON)
        ),
    ]

    answers = await report(engine, call, reports)

    assert all(isinstance(one, Reported) for one in answers), answers
    await apply_now(engine, await calls(past))
    [effective] = await in_effect(engine, call, on)
    assert effective.reward == (0.6 if verifier == "human" else 0.9)
    live, again = await live_and_rebuilt(engine, await calls(past))
    assert live == again


async def test_a_correction_that_races_the_other_half_is_never_a_fault(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))

    async def tell(run: Advice, **said: object) -> Reported | MemoryFault:
        one = a_report(known_at=NOON, **said)
        return (await report(engine, call, [ReceiptReport(run.receipt.retrieval_id, one)]))[0]

    for _ in range(ROUNDS):
        on, off = await both_runs(engine, call)
        await reported(engine, call, on, reward=0.9, known_at=NOON)
        answers = await asyncio.gather(
            tell(on, reward=0.6, verifier="human"),
            tell(off, reward=0.4),
            tell(on, reward=0.3, verifier="judge"),
            apply_now(engine, call),
        )
        assert all(isinstance(one, Reported) for one in answers[:3]), answers
        assert len(await in_effect(engine, call, on)) == 1

    await apply_now(engine, await calls(past))
    live, again = await live_and_rebuilt(engine, await calls(past))
    assert live == again


HOLD = text("SELECT id FROM outcome WHERE id = :id FOR NO KEY UPDATE NOWAIT")
WAITING = text("""
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
""")


async def is_waited_for(engine: Engine) -> None:
    """Until somebody waits for a lock."""
    while True:
        async with engine.database.login() as connection:
            if await connection.scalar(WAITING):
                return
        await asyncio.sleep(0.01)


async def test_the_applier_holds_no_later_outcome_while_it_waits_for_an_earlier_one(
    engine: Engine, calls: Caller, past: str
):
    """As a report does that holds both: one that took another's place is no exception."""
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    one, corrected = [await served(engine, call, as_of=NOON, task=RAIN) for _ in range(2)]
    await reported(engine, call, corrected, reward=0.9, known_at=NOON)
    earlier = await reported(engine, call, one, reward=0.9, known_at=NOON)
    later = await reported(
        engine, call, corrected, reward=0.6, verifier="human", known_at=NOON + DAY
    )
    assert later.outcome.supersedes is not None
    assert earlier.outcome.is_in_effect

    async with engine.database.transaction(call.namespace.id) as reporting:
        await reporting.execute(HOLD, {"id": earlier.outcome.id})
        applying = asyncio.create_task(apply_now(engine, call))
        await asyncio.wait_for(is_waited_for(engine), 30)
        await reporting.execute(HOLD, {"id": later.outcome.id})

    assert (await applying).pending == 0
    assert [done.status for done in await in_effect(engine, call, corrected)] == ["applied"]
