"""An event is settled once, whole, for every prediction of its windows; and can be corrected."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.belief.fold import Learned
from memory.belief.rankers import ASKED
from memory.forecasts.entities import (
    Predicted,
    PredictionFilter,
    Settled,
    Settlement,
    SettlementDraft,
)
from memory.forecasts.service import list_predictions, predict
from memory.forecasts.settlements import get_settlement, list_settlements, settle
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, MemoryFault, NotFound, Rejected
from memory.kernel.paging import Page
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport
from memory.outcomes.service import get_outcome, list_outcomes, report
from memory.receipts.entities import Outcome
from memory.receipts.guideline_entities import Format
from memory.receipts.list_entities import OutcomeFilter
from memory.retrieval.entities import Advice
from memory.tenancy.entities import Call, Role
from tests.fixtures.builders import (
    a_draft,
    a_forecast,
    a_prediction,
    a_report,
    a_settlement,
    a_window,
    yes_or_no,
)
from tests.fixtures.engine import DAY, NOON, Caller, a_namespace
from tests.storage.steps import (
    live_and_rebuilt,
    predicted,
    remembered,
    reported,
    served,
    settled,
)

MICROSECOND = timedelta(microseconds=1)
PAGE = Page(200)
NO = {"yes": "no", "no": "yes"}
VOID = {"yes": "void", "no": "void"}


async def fault_of(engine: Engine, call: Call, **changes: object) -> MemoryFault:
    [answer] = await settle(engine, call, [a_settlement(**changes)])
    assert isinstance(answer, MemoryFault), answer
    return answer


async def outcomes(engine: Engine, call: Call) -> Sequence[Outcome]:
    return (await list_outcomes(engine, call, OutcomeFilter(), PAGE)).items


async def a_run(engine: Engine, call: Call, **changes: object) -> Advice:
    asked = {"task": a_window(), "as_of": NOON, "all_rankers": True, "format": Format.MEMORIES}
    return await served(engine, call, **(asked | changes))


async def a_forecast_run(engine: Engine, call: Call, p: float = 0.8, **changes: object) -> Advice:
    """A retrieval, and the prediction that names it, with everything it may carry."""
    run = await a_run(engine, call, **changes)
    forecast = a_forecast(
        p,
        baseline_probabilities=yes_or_no(0.5),
        full_probabilities=yes_or_no(0.9),
        answers={ranker: yes_or_no(n / 10) for n, ranker in enumerate(ASKED)},
    )
    draft = a_prediction(
        agent=run.receipt.agent,
        forecast=forecast,
        retrieval_id=run.receipt.retrieval_id,
        known_at=NOON,
    )
    await predicted(engine, call, draft)
    return run


@pytest.fixture
async def call(engine: Engine, calls: Caller, past: str) -> Call:
    """Into a namespace that knows one lesson."""
    await remembered(engine, await calls(past), a_draft(learned_at=NOON))
    return await calls(past)


async def test_a_settlement_makes_one_outcome_a_prediction_with_all_that_it_carried(
    engine: Engine, call: Call
):
    run = await a_forecast_run(engine, call)

    made = await settled(engine, call, crowd=yes_or_no(0.6), known_at=NOON + DAY)

    [score] = made.scores
    assert (score.status, score.reason, score.revision) == ("scored", None, 1)
    assert (score.brier, score.baseline_brier) == (pytest.approx(0.04), pytest.approx(0.25))
    assert score.skill == pytest.approx(0.16 - 0.04)
    [told] = await outcomes(engine, call)
    assert told.id == score.outcome_id
    assert (told.retrieval_id, told.metric, told.reward_kind) == (
        run.receipt.retrieval_id,
        "brier",
        "continuous",
    )
    assert (told.evaluator, told.verifier, told.known_at) == ("settlement", "test", NOON + DAY)
    # In the order of the outcomes' names: no, yes.
    assert told.raw["truth"] == {"y": [0.0, 1.0]}
    assert told.raw["value"] == {"p": [pytest.approx(0.2), 0.8]}
    assert (told.reward, told.reward_without) == (pytest.approx(0.96), pytest.approx(0.75))
    assert told.reward_full == pytest.approx(0.99)
    applied = await apply_now(engine, call)
    assert (applied.applied, applied.pending) == (1, 0)
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    assert live.strengths
    assert live.records


async def test_only_outcomes_that_are_not_void_count(engine: Engine, call: Call):
    forecast = a_forecast(0.5, probabilities={"a": 0.9, "b": 0.5, "c": 0.1})
    await predicted(engine, call, a_prediction(forecast=forecast, known_at=NOON))

    said = {"a": "yes", "b": "void", "c": "no"}
    made = await settled(engine, call, resolutions=said, known_at=NOON + DAY)

    assert made.scores[0].brier == pytest.approx(0.01)


@pytest.mark.parametrize(("said", "reason"), [(VOID, "void"), ({"yes": "yes"}, "outcomes_missing")])
async def test_where_nothing_can_be_scored_no_outcome_is_made(
    engine: Engine, call: Call, said: dict[str, str], reason: str
):
    await a_forecast_run(engine, call)

    made = await settled(engine, call, resolutions=said, known_at=NOON + DAY)

    [score] = made.scores
    assert (score.status, score.reason, score.brier) == ("ignored", reason, None)
    assert (score.outcome_id, await outcomes(engine, call)) == (None, [])
    [prediction] = (await list_predictions(engine, call, PredictionFilter(), PAGE)).items
    assert prediction.state == "settled"


async def test_every_agents_predictions_of_every_window_are_scored(engine: Engine, call: Call):
    for agent, p in (("solver", 0.9), ("another", 0.6)):
        for window in ("rain#1", "rain#2"):
            draft = a_prediction(p, agent=agent, task=a_window(key=window), known_at=NOON)
            await predicted(engine, call, draft)

    made = await settled(engine, call, known_at=NOON + DAY)

    assert made.windows == ("rain#1", "rain#2")
    assert sorted((s.agent, s.task_key) for s in made.scores) == [
        ("another", "rain#1"),
        ("another", "rain#2"),
        ("solver", "rain#1"),
        ("solver", "rain#2"),
    ]
    assert {s.outcome_id for s in made.scores} == {None}


async def test_windows_of_one_event_may_differ_in_outcome_and_date(engine: Engine, call: Call):
    for window in ("rain#1", "rain#2", "rain#3"):
        await predicted(engine, call, a_prediction(task=a_window(key=window), known_at=NOON))

    first = await settled(engine, call, windows=("rain#1",), known_at=NOON + DAY)
    rest = await settled(engine, call, resolutions=NO, known_at=NOON + 2 * DAY)

    assert (first.windows, rest.windows) == (("rain#1",), ("rain#2", "rain#3"))
    assert [round(s.brier or 0, 6) for s in (*first.scores, *rest.scores)] == [0.04, 0.64, 0.64]
    assert {first.correction, rest.correction} == {0}


async def test_the_same_again_is_the_settlement_that_is_there(engine: Engine, call: Call):
    await a_forecast_run(engine, call)
    first = await settled(engine, call, crowd=yes_or_no(0.5), known_at=NOON + DAY)

    answers = await settle(
        engine,
        call,
        [
            a_settlement(known_at=NOON + 2 * DAY),
            a_settlement(known_at=NOON + DAY, crowd=yes_or_no(0.5)),
            a_settlement(known_at=NOON + DAY, windows=("rain#1",)),
        ],
    )

    assert [(a.created, a.settlement) for a in answers if isinstance(a, Settled)] == [
        (False, first)
    ] * 3
    assert len(await outcomes(engine, call)) == 1


@pytest.mark.parametrize(
    "otherwise",
    [{"resolutions": NO}, {"windows": ("rain#1",), "resolutions": NO}, {"crowd": yes_or_no(0.1)}],
    ids=["all", "by name", "another crowd"],
)
async def test_what_is_resolved_otherwise_is_a_conflict_until_it_says_what_it_corrects(
    engine: Engine, call: Call, otherwise: dict[str, object]
):
    await a_forecast_run(engine, call)
    first = await settled(engine, call, known_at=NOON + DAY)

    refused = await fault_of(engine, call, known_at=NOON + DAY, **otherwise)

    assert (type(refused), refused.kind) == (Conflict, "settlement_conflict")
    assert await get_settlement(engine, call, first.id) == first


async def test_what_is_not_there_cannot_be_settled(engine: Engine, call: Call):
    [other] = await predicted(engine, call, a_prediction(known_at=NOON))
    await predicted(
        engine, call, a_prediction(task=a_window(key="snow#1", group_key="snow"), known_at=NOON)
    )
    first = await settled(engine, call, known_at=NOON + DAY)

    faults = [
        await fault_of(engine, call, known_at=NOON, **wrong)
        for wrong in (
            {"event": "hail"},
            {"windows": ("rain#9",)},
            {"windows": ("snow#1",)},
            {"corrects": other.id},
            {"corrects": first.id, "event": "snow"},
            {"corrects": first.id, "windows": ("rain#9",)},
        )
    ]

    assert [(type(fault), fault.kind) for fault in faults] == [
        (NotFound, "event_not_found"),
        (NotFound, "window_not_found"),
        (NotFound, "window_not_found"),
        (NotFound, "settlement_not_found"),
        (Rejected, "rejected"),
        (NotFound, "window_not_found"),
    ]


async def test_a_settlement_that_is_recorded_late_counts_what_was_known_before_it(
    engine: Engine, call: Call
):
    for day, p in enumerate((0.6, 0.7, 0.9)):
        await predicted(engine, call, a_prediction(p, known_at=NOON + day * DAY))

    made = await settled(engine, call, known_at=NOON + DAY + MICROSECOND)

    [score] = made.scores
    assert (score.revision, score.brier) == (2, pytest.approx(0.09))


@pytest.mark.parametrize("closes_at", [None, NOON], ids=["settled", "closed"])
async def test_a_prediction_whose_every_revision_is_too_late_is_late(
    engine: Engine, call: Call, closes_at: object
):
    await predicted(engine, call, a_prediction(known_at=NOON))
    if closes_at is not None:
        # Said only after the prediction had been taken.
        task = a_window(closes_at=closes_at)
        draft = a_prediction(agent="another", task=task, known_at=NOON - DAY)
        await predicted(engine, call, draft)

    known_at = NOON if closes_at is None else NOON + DAY
    made = await settled(engine, call, known_at=known_at)

    score = next(s for s in made.scores if s.agent == "solver")
    assert (score.status, score.reason, score.revision) == ("ignored", "late", None)
    late = await list_predictions(engine, call, PredictionFilter(state="late"), PAGE)
    assert [p.agent for p in late.items] == ["solver"]


async def test_other_receipts_of_the_same_agent_and_window_are_no_evidence(
    engine: Engine, call: Call
):
    first = await a_run(engine, call)
    named = await a_forecast_run(engine, call)
    others = await a_run(engine, call, agent="another")

    made = await settled(engine, call, known_at=NOON + DAY)

    told = {one.retrieval_id: one for one in await outcomes(engine, call)}
    assert (told[named.receipt.retrieval_id].status, told[named.receipt.retrieval_id].evidence) == (
        "accepted",
        "paired",
    )
    aside = told[first.receipt.retrieval_id]
    assert (aside.status, aside.evidence, aside.reason) == ("ignored", "none", "other_receipt")
    assert others.receipt.retrieval_id not in told
    assert made.scores[0].outcome_id == told[named.receipt.retrieval_id].id


async def test_a_prediction_without_a_receipt_is_scored_and_no_receipt_learns_of_it(
    engine: Engine, call: Call
):
    run = await a_run(engine, call)
    await predicted(engine, call, a_prediction(known_at=NOON))

    made = await settled(engine, call, known_at=NOON + DAY)

    assert (made.scores[0].status, made.scores[0].outcome_id) == ("scored", None)
    [told] = await outcomes(engine, call)
    assert (told.retrieval_id, told.reason) == (run.receipt.retrieval_id, "other_receipt")


async def test_a_settlement_takes_the_agents_word_from_no_receipt_that_it_cannot_judge(
    engine: Engine, call: Call
):
    other = await a_run(engine, call)
    named = await a_forecast_run(engine, call)
    own = {"reward": None, "metric": "brier", "value": {"p": [0.7]}, "truth": {"y": [0]}}
    kept = await reported(engine, call, other, **own, verifier="self", known_at=NOON)

    await settled(engine, call, known_at=NOON + DAY)
    await apply_now(engine, call)

    told = {(o.retrieval_id, o.status): o for o in await outcomes(engine, call)}
    assert told[other.receipt.retrieval_id, "applied"].id == kept.outcome.id
    assert told[other.receipt.retrieval_id, "ignored"].reason == "other_receipt"
    assert told[named.receipt.retrieval_id, "applied"].evaluator == "settlement"


async def test_a_settlement_in_a_category_measured_otherwise_is_a_note_and_says_so(
    engine: Engine, call: Call
):
    first = await a_run(engine, call, agent="another")
    await reported(engine, call, first, reward=0.4, known_at=NOON)
    await apply_now(engine, call)
    run = await a_forecast_run(engine, call)
    kept = await reported(engine, call, run, reward=0.1, verifier="self", known_at=NOON)

    made = await settled(engine, call, known_at=NOON + DAY)

    assert [one.code for one in made.warnings] == ["other_metric"]
    told = {one.id: one for one in await outcomes(engine, call)}
    assert told[kept.outcome.id].status == "accepted"
    note = told[made.scores[0].outcome_id]
    assert (note.status, note.reason, note.evidence) == ("ignored", "other_metric", "none")


async def test_a_settlement_that_corrects_itself_too_late_takes_its_wrong_word_back(
    engine: Engine, call: Call
):
    run = await a_forecast_run(engine, call)
    wrong = await settled(engine, call, known_at=NOON + DAY)
    await apply_now(engine, call)

    right = await settled(
        engine, call, resolutions=NO, corrects=wrong.id, known_at=NOON + 400 * DAY
    )
    await apply_now(engine, call)

    told = sorted(
        (o.status, o.reason or "")
        for o in await outcomes(engine, call)
        if o.retrieval_id == run.receipt.retrieval_id
    )
    assert told == [("ignored", "expired"), ("superseded", "superseded")]
    assert [one.code for one in right.warnings] == ["expired"]


async def test_a_settlement_is_believed_over_the_agent_and_less_than_a_human(
    engine: Engine, call: Call
):
    agents = await a_run(engine, call)
    named = await a_forecast_run(engine, call)
    for run in (agents, named):
        await reported(engine, call, run, reward=0.1, verifier="self", known_at=NOON)
    people = await a_forecast_run(engine, call, agent="another")
    judged = await reported(engine, call, people, reward=0.1, verifier="human", known_at=NOON)

    await settled(engine, call, known_at=NOON + DAY)

    told = await outcomes(engine, call)
    states = [
        sorted(
            (o.status, o.reason or "") for o in told if o.retrieval_id == run.receipt.retrieval_id
        )
        for run in (agents, named, people)
    ]
    assert states == [
        [("accepted", ""), ("ignored", "other_receipt")],
        [("accepted", ""), ("superseded", "superseded")],
        [("accepted", ""), ("ignored", "outranked")],
    ]
    assert (await get_outcome(engine, call, judged.outcome.id)).status == "accepted"


async def test_nobody_reports_under_the_name_of_settlements(engine: Engine, call: Call):
    run = await a_run(engine, call)

    [refused] = await report(
        engine,
        call,
        [ReceiptReport(run.receipt.retrieval_id, a_report(evaluator="settlement", known_at=NOON))],
    )

    assert isinstance(refused, Rejected)
    assert refused.field == "evaluator"


async def test_settling_is_for_evaluators_and_managers(engine: Engine, calls: Caller, past: str):
    await predicted(engine, await calls(past), a_prediction(known_at=NOON))
    for role in (Role.AGENT, Role.READER):
        with pytest.raises(Forbidden):
            await settle(engine, await calls(past, role=role), [a_settlement(known_at=NOON)])

    made = await settled(engine, await calls(past, role=Role.EVALUATOR), known_at=NOON + DAY)

    assert made.scores[0].status == "scored"


async def test_in_a_namespace_of_today_the_server_says_when(
    engine: Engine, calls: Caller, wall: str
):
    await remembered(engine, await calls(wall), a_draft())
    now = await calls(wall)
    run = await served(engine, now, task=a_window())
    draft = a_prediction(retrieval_id=run.receipt.retrieval_id)
    await predicted(engine, now, draft)
    later = replace(now, now=NOON + DAY)

    refused = await fault_of(engine, later, known_at=NOON + DAY)
    made = await settled(engine, later)
    [late] = await predict(engine, later, [a_prediction(0.9)])

    assert (type(refused), refused.field) == (Rejected, "known_at")
    assert (made.known_at, made.scores[0].status) == (NOON + DAY, "scored")
    assert isinstance(late, Conflict)
    [told] = await outcomes(engine, later)
    assert told.known_at == NOON + DAY


def numbers(states: Learned) -> list[tuple[float, ...]]:
    """The states without the ids, which differ from one namespace to another."""
    parts = (getattr(states, name) for name in Learned.__slots__)
    return sorted(state.values for part in parts for state in part.values())


async def exact(engine: Engine, call: Call) -> Learned:
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    return live


async def test_a_correction_after_it_was_applied_leaves_no_trace_of_the_first(
    engine: Engine, calls: Caller, operator
):
    states: list[Learned] = []
    for said in ((NO, a_settlement().resolutions), (a_settlement().resolutions,)):
        slug = await a_namespace(engine, operator, clock="replay")
        await remembered(engine, await calls(slug), a_draft(learned_at=NOON))
        run = await a_forecast_run(engine, await calls(slug))
        corrects = None
        for resolutions in said:
            call = await calls(slug)
            changes = {"known_at": NOON + DAY, "corrects": corrects}
            made = await settled(engine, call, resolutions=resolutions, **changes)
            await apply_now(engine, call)
            corrects = made.id
        states.append(await exact(engine, await calls(slug)))
        assert len(run.memories) == 1

    assert numbers(states[0]) == numbers(states[1])


async def test_a_correction_scores_anew_and_names_what_it_takes_the_place_of(
    engine: Engine, calls: Caller, past: str, call: Call
):
    run = await a_forecast_run(engine, call)
    first = await settled(engine, call, known_at=NOON + DAY)
    await apply_now(engine, call)
    evaluator = await calls(past, role=Role.EVALUATOR)

    second = await settled(
        engine, evaluator, resolutions=NO, corrects=first.id, known_at=NOON + 2 * DAY
    )

    assert (second.correction, second.corrects, second.superseded_by) == (1, first.id, None)
    assert (await get_settlement(engine, call, first.id)).superseded_by == second.id
    assert second.scores[0].brier == pytest.approx(0.64)
    [prediction] = (await list_predictions(engine, call, PredictionFilter(), PAGE)).items
    assert prediction.score is not None
    assert asdict(prediction.score).items() <= asdict(second.scores[0]).items()
    told = {one.id: one for one in await outcomes(engine, call)}
    assert told[outcome_of(first)].status == "superseded"
    assert told[outcome_of(second)].supersedes == outcome_of(first)
    assert told[outcome_of(second)].status == "accepted"
    await apply_now(engine, await calls(past))
    withdrawn = await get_outcome(engine, call, outcome_of(first))
    assert withdrawn.withdrawn_version is not None
    await exact(engine, await calls(past))
    [stood] = [o for o in await outcomes(engine, call) if o.status == "applied"]
    assert stood.retrieval_id == run.receipt.retrieval_id


def outcome_of(settlement: Settlement) -> UUID:
    [score] = settlement.scores
    assert score.outcome_id is not None
    return score.outcome_id


async def test_a_correction_again_is_the_one_that_is_there_and_a_second_one_is_stale(
    engine: Engine, call: Call
):
    await a_forecast_run(engine, call)
    first = await settled(engine, call, known_at=NOON + DAY)
    mended = a_settlement(resolutions=NO, corrects=first.id, known_at=NOON + DAY)

    answers = await settle(engine, call, [mended, mended])
    refused = await fault_of(engine, call, corrects=first.id, known_at=NOON + DAY)

    assert [a.created for a in answers if isinstance(a, Settled)] == [True, False]
    assert (type(refused), refused.kind) == (Conflict, "stale")
    assert (await list_settlements(engine, call, "rain", PAGE)).total == 2


async def test_what_was_void_may_come_true_and_back_again(engine: Engine, call: Call):
    await a_forecast_run(engine, call)
    last = await settled(engine, call, known_at=NOON + DAY)
    effective: list[int] = []
    for said in (VOID, a_settlement().resolutions, VOID, a_settlement().resolutions):
        await apply_now(engine, call)
        changes = {"corrects": last.id, "known_at": NOON + DAY}
        last = await settled(engine, call, resolutions=said, **changes)
        told = await outcomes(engine, call)
        effective.append(sum(o.status == "accepted" for o in told))

    assert effective == [0, 1, 0, 1]
    assert last.correction == 4
    await apply_now(engine, call)
    await exact(engine, call)


async def test_a_correction_may_be_of_some_windows_and_the_next_of_the_others(
    engine: Engine, call: Call
):
    for window in ("rain#1", "rain#2"):
        await predicted(engine, call, a_prediction(task=a_window(key=window), known_at=NOON))
    first = await settled(engine, call, known_at=NOON + DAY)
    changes = {"resolutions": NO, "corrects": first.id, "known_at": NOON + DAY}

    some = await settled(engine, call, windows=("rain#2",), **changes)
    rest = await settled(engine, call, resolutions=VOID, corrects=first.id, known_at=NOON + DAY)

    assert (some.windows, rest.windows) == (("rain#2",), ("rain#1",))
    assert (some.correction, rest.correction) == (1, 1)


async def test_a_correction_that_was_known_earlier_may_count_another_receipt(
    engine: Engine, call: Call
):
    runs = [await a_run(engine, call, as_of=NOON + day * DAY) for day in (0, 1)]
    for day, run in enumerate(runs):
        draft = a_prediction(
            0.6 + day / 5, retrieval_id=run.receipt.retrieval_id, known_at=NOON + day * DAY
        )
        await predicted(engine, call, draft)
    first = await settled(engine, call, known_at=NOON + 2 * DAY)
    await apply_now(engine, call)

    second = await settled(engine, call, corrects=first.id, known_at=NOON + DAY)

    assert (first.scores[0].revision, second.scores[0].revision) == (2, 1)
    told = await outcomes(engine, call)
    states = [
        sorted(
            (o.status, o.reason or "") for o in told if o.retrieval_id == run.receipt.retrieval_id
        )
        for run in runs
    ]
    assert states == [
        [("accepted", ""), ("ignored", "other_receipt")],
        [("ignored", "other_receipt"), ("superseded", "superseded")],
    ]
    await apply_now(engine, call)
    await exact(engine, call)


async def test_a_promised_pair_of_which_one_run_was_predicted_waits_for_the_other(
    engine: Engine, call: Call
):
    on = await a_run(engine, call, purpose="paired", all_rankers=False)
    await predicted(engine, call, a_prediction(retrieval_id=on.receipt.retrieval_id, known_at=NOON))

    await settled(engine, call, known_at=NOON + DAY)

    [told] = await outcomes(engine, call)
    assert (told.status, told.reason) == ("accepted", "half_missing")


@pytest.mark.parametrize("second", [a_settlement().resolutions, NO], ids=["same", "otherwise"])
async def test_of_two_settlements_at_once_one_makes_the_outcome(
    engine: Engine, call: Call, second: dict[str, str]
):
    await a_forecast_run(engine, call)
    drafts = [
        a_settlement(known_at=NOON + DAY),
        a_settlement(known_at=NOON + DAY, resolutions=second),
    ]

    answers = [a for [a] in await asyncio.gather(*(settle(engine, call, [d]) for d in drafts))]

    made = [a for a in answers if isinstance(a, Settled) and a.created]
    assert len(made) == 1
    other = next(a for a in answers if a is not made[0])
    if second == NO:
        assert isinstance(other, Conflict)
    else:
        assert isinstance(other, Settled)
        assert other.settlement.id == made[0].settlement.id
    assert len(await outcomes(engine, call)) == 1


async def test_batches_that_cross_wait_for_each_other(engine: Engine, call: Call):
    events = [f"event {n}" for n in range(6)]
    windows = [a_window(key=f"{event}#1", group_key=event) for event in events]

    async def forecast(agent: str, order: int) -> Sequence[object]:
        drafts = [a_prediction(agent=agent, task=w, known_at=NOON) for w in windows[::order]]
        return await predict(engine, call, drafts)

    async def resolve(order: int) -> Sequence[object]:
        drafts = [a_settlement(event=e, known_at=NOON + DAY) for e in events[::order]]
        return await settle(engine, call, drafts)

    first = await forecast("solver", 1)
    turns = await asyncio.gather(
        resolve(1), forecast("one", 1), resolve(-1), forecast("two", -1), forecast("three", 1)
    )

    answers = [answer for turn in (first, *turns) for answer in turn]
    assert [a for a in answers if not isinstance(a, Settled | Predicted)] == []
    assert sum(isinstance(a, Settled) and a.created for a in answers) == len(events)
    pending = await list_predictions(engine, call, PredictionFilter(state="pending"), PAGE)
    scored = await list_predictions(engine, call, PredictionFilter(state="settled"), PAGE)
    # Whatever came first, every prediction was scored: with its event, or on arrival.
    assert (pending.total, scored.total) == (0, 4 * len(events))


async def test_a_settlement_that_is_broken_off_is_there_whole_or_not_at_all(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON))
    kept: list[bool] = []
    for turn in range(12):
        event = f"event {turn}"
        task = a_window(key=event, group_key=event)
        await a_forecast_run(engine, call, task=task)
        work = asyncio.ensure_future(
            settle(engine, call, [a_settlement(event=event, known_at=NOON + DAY)])
        )
        for _ in range(turn * 4):
            await asyncio.sleep(0)
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        kept.append(await whole_or_nothing(engine, call, event))

    assert not kept[0]
    after = await settle(engine, call, [a_settlement(event="event 0", known_at=NOON + DAY)])
    assert isinstance(after[0], Settled)


async def whole_or_nothing(engine: Engine, call: Call, event: str) -> bool:
    async with engine.database.transaction(call.namespace.id) as connection:
        row = (await connection.execute(text(PARTS), {"event": event})).one()
    assert len(set(row)) == 1, row
    return bool(row[0])


PARTS = """
    SELECT
      (SELECT count(*) FROM settlement WHERE event = :event),
      (SELECT count(*) FROM settled_window w JOIN task t ON t.id = w.task_id
       WHERE t.group_key = :event),
      (SELECT count(*) FROM prediction_score s JOIN settlement e ON e.id = s.settlement_id
       WHERE e.event = :event),
      (SELECT count(*) FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id
       JOIN task t ON t.id = r.task_id WHERE t.group_key = :event),
      (SELECT count(*) FROM prediction p JOIN task t ON t.id = p.task_id
       WHERE t.group_key = :event AND p.state = 'settled')
"""


async def test_a_batch_settles_item_by_item_and_in_its_order(engine: Engine, call: Call):
    for event in ("rain", "snow"):
        task = a_window(key=f"{event}#1", group_key=event)
        await predicted(engine, call, a_prediction(task=task, known_at=NOON))
    drafts: list[SettlementDraft] = [
        a_settlement(known_at=NOON + DAY),
        a_settlement(event="hail", known_at=NOON + DAY),
        a_settlement(event="snow", resolutions=NO, known_at=NOON + DAY),
        a_settlement(resolutions=NO, known_at=NOON + DAY),
        a_settlement(known_at=NOON + DAY),
        a_settlement(event="snow", known_at=None),
    ]

    answers = await settle(engine, call, drafts)

    assert [a.created if isinstance(a, Settled) else a.kind for a in answers] == [
        True,
        "event_not_found",
        True,
        "settlement_conflict",
        False,
        "settlement_conflict",
    ]


async def test_settlements_are_listed_by_event_with_their_scores(engine: Engine, call: Call):
    for event in ("rain", "snow"):
        task = a_window(key=f"{event}#1", group_key=event)
        await predicted(engine, call, a_prediction(task=task, known_at=NOON))
        await settled(engine, call, event=event, known_at=NOON + DAY)

    listed = await list_settlements(engine, call, None, Page(1))
    of_snow = await list_settlements(engine, call, "snow", PAGE)

    assert (listed.total, len(listed.items), listed.next is None) == (2, 1, False)
    [snow] = of_snow.items
    assert [(s.agent, s.task_key) for s in snow.scores] == [("solver", "snow#1")]
