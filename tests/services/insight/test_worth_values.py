"""What worth of its place reads is written down when an outcome is applied."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from memory.belief.fold import Learn, Learned, fold, learn_outcome
from memory.belief.policy import policy_named
from memory.belief.worth import above_baseline
from memory.kernel.engine import Engine
from memory.outcomes.applying import apply_now
from memory.receipts.rebuild import ledger
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, Caller
from tests.storage.steps import remembered, reported, served


async def test_what_a_reward_is_above_the_baseline_is_that_of_the_ledger(
    engine: Engine, calls: Caller, past: str
):
    lessons = (a_draft(lesson=f"rain lesson {i}", learned_at=NOON) for i in range(3))
    await remembered(engine, await calls(past), *lessons)
    for day in range(1, 7):
        at = NOON + day * DAY
        for agent in ("solver", "rival"):
            answer = await served(engine, await calls(past), agent=agent, as_of=at, k=2)
            without = {"reward": 0.1 * day} if day % 2 else None
            known_at = at + timedelta(hours=1)
            await reported(
                engine,
                await calls(past),
                answer,
                reward=0.15 * day,
                without=without,
                known_at=known_at,
            )
        await apply_now(engine, await calls(past))
    call = await calls(past)

    async with engine.database.transaction(call.namespace.id) as connection:
        entries = await ledger(connection, call.namespace.id)
        rows = await connection.execute(
            text(
                "SELECT above_baseline FROM outcome WHERE namespace_id = :ns "
                "AND bank_version IS NOT NULL ORDER BY bank_version"
            ),
            {"ns": call.namespace.id},
        )
        stored = [row.above_baseline for row in rows]
    policy, states, expected = policy_named("belief"), Learned(), list[float | None]()
    for entry in entries:
        if isinstance(entry, Learn):
            expected.append(above_baseline(policy, states, entry))
            states, _ = learn_outcome(policy, states, entry)
        else:
            states = fold(policy, [entry], start=states)

    assert len(stored) == 12
    assert stored == expected
    assert stored[-1] == pytest.approx(0.9 - 0.5, abs=0.25)
