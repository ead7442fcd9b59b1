"""What was used, and what a verdict says, over a real database."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.insight.service import get_weight
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.paging import Page
from memory.memories.entities import HIDDEN, Visibility
from memory.outcomes import applying
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport, Reported
from memory.outcomes.service import get_outcome, list_outcomes, report
from memory.receipts.entities import Outcome
from memory.receipts.list_entities import OutcomeFilter
from memory.retrieval.entities import Advice
from memory.tenancy.entities import Call, Clock, Key, Role
from tests.fixtures.builders import a_draft, a_report
from tests.fixtures.engine import NOON, Caller, a_namespace
from tests.storage.steps import live_and_rebuilt, remembered, reported, served

PAIR = (
    a_draft(lesson="start from the base rate", learned_at=NOON),
    a_draft(lesson="never trust a base rate", learned_at=NOON),
)


async def exact(engine: Engine, call: Call) -> None:
    live, again = await live_and_rebuilt(engine, call)
    assert live == again


async def two_lessons(engine: Engine, call: Call) -> tuple[UUID, UUID]:
    one, other = await remembered(engine, call, *PAIR)
    return one.id, other.id


async def a_run(engine: Engine, call: Call) -> Advice:
    found = await served(engine, call, as_of=NOON, arm="on")
    assert len(found.receipt.items) == 2
    return found


async def told(engine: Engine, call: Call, **changes: object) -> Outcome:
    """One run, its report, and the outcome once it was applied."""
    taken = await reported(engine, call, await a_run(engine, call), known_at=NOON, **changes)
    await apply_now(engine, call)
    return await get_outcome(engine, call, taken.outcome.id)


def exposure(outcome: Outcome) -> dict[UUID, float]:
    assert outcome.exposure is not None
    return {one.memory_id: one.exposure for one in outcome.exposure}


async def weights(engine: Engine, call: Call, ids: Sequence[UUID]) -> list[float]:
    return [(await get_weight(engine, call, one, None)).effective_weight for one in ids]


async def test_only_what_was_used_is_moved_and_counted(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    used, unused = await two_lessons(engine, call)

    found = await told(engine, call, reward=1.0, used=[used])

    assert found.used == (used,)
    assert exposure(found) == {used: 1.0, unused: 0.0}
    first, second = [await get_weight(engine, call, one, None) for one in (used, unused)]
    assert first.effective_weight > 1.0 == second.effective_weight
    assert (first.credited, second.credited) == (1, 0)
    # A run that did not use it tells of a memory as much as one that went without it.
    assert await absences(engine, call) == {used: 0, unused: 1}
    await exact(engine, call)


async def absences(engine: Engine, call: Call) -> dict[UUID, int]:
    async with engine.database.transaction(call.namespace.id) as connection:
        rows = await connection.execute(text("SELECT memory_id, n_absent FROM memory_weight"))
        return {row.memory_id: row.n_absent for row in rows}


async def test_without_a_word_similarity_says_what_could_have_acted(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await two_lessons(engine, call)

    run = await a_run(engine, call)
    taken = await reported(engine, call, run, known_at=NOON, reward=1.0)
    await apply_now(engine, call)

    q99 = engine.model.calibration["q99"]
    expected = {
        one.memory_id: min(1.0, max(0.1, (one.similarity - q99) / (0.43 * (1 - q99))))
        for one in run.receipt.items
    }
    found = await get_outcome(engine, call, taken.outcome.id)
    assert found.used is None
    assert exposure(found) == pytest.approx(expected)
    await exact(engine, call)


async def test_an_agent_that_used_nothing_moves_no_memory(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    ids = await two_lessons(engine, call)

    found = await told(engine, call, reward=1.0, used=[])

    assert found.used == ()
    assert set(exposure(found).values()) == {0.0}
    assert await weights(engine, call, ids) == [1.0, 1.0]
    await exact(engine, call)


async def test_what_was_not_served_is_refused_by_the_name_of_its_field(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await two_lessons(engine, call)
    run = await a_run(engine, call)
    stranger = UUID(int=7)

    [fault] = await report(
        engine,
        call,
        [ReceiptReport(run.receipt.retrieval_id, a_report(known_at=NOON, used=(stranger,)))],
    )

    assert isinstance(fault, Rejected)
    assert fault.field == "used"
    assert str(stranger) in fault.detail


async def test_a_cell_follows_one_way_and_says_so(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    used, unused = await two_lessons(engine, call)
    for _ in range(2):
        await told(engine, call)

    early = await reported(engine, call, await a_run(engine, call), known_at=NOON, used=[used])
    assert [one.code for one in early.warnings] == ["used_not_followed"]
    await apply_now(engine, call)
    kept = await get_outcome(engine, call, early.outcome.id)
    assert kept.used == (used,)
    assert min(exposure(kept).values()) > 0.0, "similarity decides"

    for _ in range(4):
        await told(engine, call, used=[used])
    late = await told(engine, call, used=[used])
    assert min(exposure(late).values()) > 0.0, "six of eight are not enough"
    for _ in range(8):
        late = await told(engine, call, used=[used])
    assert exposure(late) == {used: 1.0, unused: 0.0}
    unsaid = await told(engine, call)
    assert min(exposure(unsaid).values()) > 0.0
    last = await reported(engine, call, await a_run(engine, call), known_at=NOON, used=[used])
    assert last.warnings == ()
    await exact(engine, call)


@pytest.mark.parametrize("rewards", [[1.0] * 8, [0.5] * 8, [0.0] * 8, [1.0, 0.0] * 4])
async def test_a_stale_memory_falls_below_its_replacement_by_eight_verdicts(
    engine: Engine, calls: Caller, past: str, rewards: Sequence[float]
):
    call = await calls(past)
    stale, new = await two_lessons(engine, call)
    judge = await calls(past, role=Role.EVALUATOR)

    for reward in rewards:
        run = await a_run(engine, call)
        word = {"known_at": NOON, "reward": reward, "verifier": "test"}
        await reported(engine, judge, run, helpful=[new], harmful=[stale], **word)
    await apply_now(engine, call)

    old, better = await weights(engine, call, (stale, new))
    assert old < 1.0 < better
    await exact(engine, call)


async def test_outcomes_from_before_fold_as_they_did_beside_new_ones(
    engine: Engine, calls: Caller, past: str, monkeypatch: pytest.MonkeyPatch
):
    """Those have no exposure: all that was served counted alike, and no cell noted what is used."""
    call = await calls(past)
    ids = await two_lessons(engine, call)
    with monkeypatch.context() as before:
        before.setattr(applying, "_expose", lambda one, *_: one)
        old = [await told(engine, call, reward=reward) for reward in (1.0, 0.0, 1.0)]
    assert [one.exposure for one in old] == [None, None, None]

    last = await told(engine, call, reward=1.0, used=[ids[0]])
    await exact(engine, call)
    corrected = await told_again(engine, call, last, reward=0.9, used=[ids[1]])

    assert exposure(corrected) == {ids[0]: 0.0, ids[1]: 1.0}
    await exact(engine, call)
    await told_again(engine, call, old[1], reward=0.2)
    await exact(engine, call)


async def told_again(engine: Engine, call: Call, corrects: Outcome, **changes: object) -> Outcome:
    [taken] = await report(
        engine,
        call,
        [
            ReceiptReport(
                corrects.retrieval_id, a_report(known_at=NOON, supersedes=corrects.id, **changes)
            )
        ],
    )
    assert isinstance(taken, Reported), taken
    await apply_now(engine, call)
    return await get_outcome(engine, call, taken.outcome.id)


async def test_a_correction_of_what_was_used_leaves_no_trace_of_the_first_word(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    right, wrong = await two_lessons(engine, call)
    mistaken = await told(engine, call, reward=1.0, used=[wrong])
    assert (await weights(engine, call, [wrong]))[0] > 1.0

    await told_again(engine, call, mistaken, reward=1.0, used=[right])

    raised, back = await weights(engine, call, (right, wrong))
    assert raised > 1.0 == back
    credited = [(await get_weight(engine, call, one, None)).credited for one in (right, wrong)]
    assert credited == [1, 0]
    await exact(engine, call)


@pytest.mark.parametrize("policy", ["steps", "delta", "paper"])
async def test_other_policies_rebuild_as_well(
    engine: Engine, operator: Key, calls: Caller, policy: str
):
    slug = await a_namespace(engine, operator, clock=Clock.REPLAY, policy=policy)
    call = await calls(slug)
    used, unused = await two_lessons(engine, call)

    for reward in (1.0, 0.0, 1.0):
        found = await told(
            engine, call, reward=reward, without={"reward": 0.5}, used=[used], harmful=[unused]
        )

    if policy == "paper":
        assert found.exposure is None
        assert found.used == (used,)
        [one, other] = await weights(engine, call, (used, unused))
        assert one == other
    else:
        assert exposure(found) == {used: 1.0, unused: 1.0}
    await exact(engine, call)


async def test_a_private_memory_is_named_by_no_outcome_to_others(
    engine: Engine, calls: Caller, past: str
):
    owner = await calls(past, role=Role.AGENT, agents=("forecaster",))
    [private] = await remembered(
        engine,
        owner,
        a_draft(agent="forecaster", visibility=Visibility.AGENT, learned_at=NOON),
    )
    run = await served(engine, owner, agent="forecaster", as_of=NOON, arm="on")
    await reported(engine, owner, run, known_at=NOON, verifier="self", used=[private.id])
    await apply_now(engine, await calls(past))

    reader = await calls(past, role=Role.READER)
    [seen] = (await list_outcomes(engine, reader, OutcomeFilter(), Page(10))).items
    [own] = (await list_outcomes(engine, owner, OutcomeFilter(), Page(10))).items

    assert seen.used == (HIDDEN,)
    assert exposure(seen) == {HIDDEN: 1.0}
    assert own.used == (private.id,)
