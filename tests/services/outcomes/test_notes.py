"""What teaches nothing never takes the place of what does: it is a note, or refused."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from memory.insight.service import get_weight
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict
from memory.kernel.paging import Page
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport, Reported
from memory.outcomes.service import get_outcome, list_outcomes, report
from memory.receipts.entities import Outcome
from memory.receipts.list_entities import OutcomeFilter
from memory.retrieval.entities import Advice
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call
from tests.fixtures.builders import a_draft, a_report
from tests.fixtures.engine import DAY, NOON, OPEN, Caller, a_namespace
from tests.storage.steps import live_and_rebuilt, remembered, reported, served

RAIN = TaskDraft("a forecast of rain", key="rain", category="weather")
BRIER = {"reward": None, "metric": "brier", "value": {"p": [0.7]}, "truth": {"y": [1]}}
PAIR = {"reward": 0.9, "without": {"reward": 0.2}, "verifier": "self"}


async def answered(engine: Engine, call: Call, run: Advice, **changes: object) -> object:
    [answer] = await report(
        engine, call, [ReceiptReport(run.receipt.retrieval_id, a_report(**changes))]
    )
    return answer


async def a_pair(engine: Engine, call: Call, **ask: object) -> tuple[Advice, Outcome]:
    """A pair that was applied."""
    await remembered(engine, call, a_draft(learned_at=NOON))
    run = await served(engine, call, purpose="paired", as_of=NOON, task=RAIN, **ask)
    first = await reported(engine, call, run, **PAIR, known_at=NOON)
    await apply_now(engine, call)
    return run, await get_outcome(engine, call, first.outcome.id)


async def still_counts(engine: Engine, call: Call, outcome: Outcome) -> None:
    await apply_now(engine, call)
    assert await get_outcome(engine, call, outcome.id) == outcome
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    assert all(state.values[0] > 0 for state in live.memories.values())


async def edited(engine: Engine, call: Call) -> None:
    """Every memory has another text than the one that was served."""
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(text("UPDATE memory SET version = version + 1"))


async def test_a_better_verified_report_in_another_metric_leaves_a_pair_in_effect(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    run, pair = await a_pair(engine, call)

    refused = await answered(engine, call, run, **BRIER, known_at=NOON)
    kept = await answered(engine, call, run, **BRIER, known_at=NOON, keep=True)

    assert isinstance(refused, Conflict)
    assert refused.kind == "other_metric"
    assert isinstance(kept, Reported)
    assert (kept.outcome.status, kept.outcome.reason) == ("ignored", "other_metric")
    assert kept.outcome.supersedes is None
    await still_counts(engine, call, pair)


async def test_half_a_pair_by_a_better_verifier_leaves_the_whole_one_in_effect(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    run, pair = await a_pair(engine, call)

    half = await reported(engine, call, run, reward=0.1, verifier="human", known_at=NOON)

    assert (half.outcome.status, half.outcome.reason) == ("ignored", "note")
    assert [one.code for one in half.warnings] == ["note"]
    await still_counts(engine, call, pair)
    # Nor does it make a pair of its own beside the one that counts.
    off = await served(engine, call, arm="off", as_of=NOON, task=RAIN)
    await reported(engine, call, off, reward=0.9, known_at=NOON)
    await still_counts(engine, call, pair)


async def test_a_late_or_outdated_report_by_a_better_verifier_is_a_note(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    run, pair = await a_pair(engine, call)
    better = {"reward": 0.1, "without": {"reward": 0.9}, "verifier": "human"}

    late = await reported(engine, call, run, **better, known_at=NOON + 400 * DAY)
    await edited(engine, call)
    outdated = await reported(engine, call, run, **better, known_at=NOON)

    assert (late.outcome.status, late.outcome.reason) == ("ignored", "expired")
    assert (outdated.outcome.status, outdated.outcome.reason) == ("ignored", "other_version")
    assert [one.code for one in (*late.warnings, *outdated.warnings)] == [
        "expired",
        "other_version",
    ]
    await still_counts(engine, call, pair)


@pytest.mark.parametrize("why", ["expired", "half_missing", "other_metric"])
async def test_a_correction_that_would_teach_nothing_is_refused_with_the_reason(
    engine: Engine, calls: Caller, past: str, why: str
):
    call = await calls(past)
    run, pair = await a_pair(engine, call)
    said = {
        "expired": {**PAIR, "reward": 0.1, "known_at": NOON + 400 * DAY},
        "half_missing": {"reward": 0.1, "verifier": "self", "known_at": NOON},
        "other_metric": {**BRIER, "verifier": "self", "known_at": NOON, "keep": True},
    }[why]

    refused = await answered(engine, call, run, **said, supersedes=pair.id)

    assert isinstance(refused, Conflict)
    assert (refused.kind, refused.field, refused.limit) == ("teaches_nothing", "supersedes", why)
    assert (await list_outcomes(engine, call, OutcomeFilter(), Page(9))).total == 1
    await still_counts(engine, call, pair)


async def test_a_run_without_memory_that_spoils_its_pair_is_a_note(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    on = await served(engine, call, purpose="paired", as_of=NOON, task=RAIN)
    off = await served(engine, call, arm="off", as_of=NOON, task=RAIN)
    await reported(engine, call, on, reward=0.9, verifier="self", known_at=NOON)
    await reported(engine, call, off, reward=0.2, verifier="self", known_at=NOON)
    await apply_now(engine, call)
    outcomes = (await list_outcomes(engine, call, OutcomeFilter("applied"), Page(9))).items
    [pair] = outcomes
    await edited(engine, call)

    spoiled = await reported(engine, call, off, reward=1.0, verifier="human", known_at=NOON)

    assert (spoiled.outcome.status, spoiled.outcome.reason) == ("ignored", "note")
    assert (pair.evidence, pair.reward_without) == ("paired", 0.2)
    await still_counts(engine, call, pair)


async def test_a_better_verified_run_without_memory_still_makes_its_pair_anew(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    on = await served(engine, call, purpose="paired", as_of=NOON, task=RAIN)
    off = await served(engine, call, arm="off", as_of=NOON, task=RAIN)
    await reported(engine, call, on, reward=0.9, verifier="self", known_at=NOON)
    await reported(engine, call, off, reward=0.2, verifier="self", known_at=NOON)
    await apply_now(engine, call)

    better = await reported(engine, call, off, reward=0.4, verifier="human", known_at=NOON)
    await apply_now(engine, call)

    [pair] = (await list_outcomes(engine, call, OutcomeFilter("applied"), Page(9))).items
    assert (pair.reward_without, pair.partner_id, better.warnings) == (0.4, better.outcome.id, ())


async def test_a_run_without_memory_completes_no_pair_that_would_teach_nothing(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    on = await served(engine, call, arm="on", as_of=NOON, task=RAIN)
    off = await served(engine, call, arm="off", as_of=NOON, task=RAIN)
    single = await reported(engine, call, on, reward=0.9, known_at=NOON)
    await apply_now(engine, call)
    before = await get_outcome(engine, call, single.outcome.id)
    await edited(engine, call)

    await reported(engine, call, off, reward=0.2, known_at=NOON)
    await apply_now(engine, call)

    assert await get_outcome(engine, call, single.outcome.id) == before
    assert before.status == "applied"


@pytest.mark.parametrize("first_is", ["applied", "waiting"])
async def test_what_lapses_before_it_is_applied_gives_the_place_back(
    engine: Engine, calls: Caller, past: str, first_is: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    run = await served(engine, call, as_of=NOON, task=RAIN)
    first = await reported(engine, call, run, reward=0.9, verifier="self", known_at=NOON)
    if first_is == "applied":
        await apply_now(engine, call)
        before, _ = await live_and_rebuilt(engine, call)
    better = await reported(engine, call, run, reward=0.1, verifier="human", known_at=NOON)
    assert better.outcome.evidence == "single"
    # Its metric is another one by the time it is applied.
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(
            text("UPDATE outcome SET reward_kind = 'binary' WHERE id = :id"),
            {"id": better.outcome.id},
        )
        await connection.execute(
            text(
                "UPDATE category SET metric = 'reward', reward_kind = 'continuous',"
                " fixed_by = 'admin' WHERE name = 'weather'"
            )
        )

    await apply_now(engine, call)

    lapsed = await get_outcome(engine, call, better.outcome.id)
    kept = await get_outcome(engine, call, first.outcome.id)
    assert (lapsed.status, lapsed.reason) == ("ignored", "other_metric")
    assert (kept.status, kept.reason, kept.withdrawn_version) == ("applied", None, None)
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    if first_is == "applied":
        assert live == before


async def test_a_warning_names_memories_for_which_the_key_counts_no_more(
    engine: Engine, calls: Caller, operator
):
    slug = await a_namespace(engine, operator, settings=replace(OPEN, daily_credits=1))
    [lesson] = await remembered(engine, await calls(slug), a_draft(agent="writer"))
    loud = await calls(slug, agents=("solver",))
    first = await reported(engine, loud, await served(engine, loud), verifier="self")
    second = await reported(engine, loud, await served(engine, loud), verifier="self", reward=0.9)

    assert first.warnings == ()
    assert [one.code for one in second.warnings] == ["daily_limit"]
    assert second.warnings[0].detail == (
        "This key has used its one report for the day on 1 of the 1 memories served;"
        " that memory does not move."
    )
    assert (await get_weight(engine, loud, lesson.id, None)).credited == 0


async def test_a_warning_names_the_reporters_own_memories(engine: Engine, calls: Caller, wall: str):
    own, writer = await calls(wall, agents=("solver",)), await calls(wall, agents=("writer",))
    await remembered(engine, writer, a_draft(agent="writer"))
    await remembered(engine, own, a_draft(agent="solver", lesson="ask the almanac"))

    taken = await reported(engine, own, await served(engine, own), verifier="self")

    assert (taken.outcome.evidence, [one.code for one in taken.warnings]) == (
        "single",
        ["own_memory"],
    )
    assert taken.warnings[0].detail == (
        "You or your party wrote 1 of the 2 memories served; your report does not move its shared"
        " weight."
    )
