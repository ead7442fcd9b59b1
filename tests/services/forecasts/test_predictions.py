"""What is taken as a prediction, what revises it, and what comes too late."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from memory.belief.rankers import ASKED
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.forecasts.entities import Predicted, PredictionDraft, PredictionFilter
from memory.forecasts.service import get_prediction, list_predictions, predict
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, MemoryFault, NotFound, Rejected
from memory.kernel.paging import Page
from memory.outcomes.service import list_outcomes
from memory.receipts.guideline_entities import Format
from memory.receipts.list_entities import OutcomeFilter
from memory.tasks.entities import CategoryName, TaskDraft
from memory.tasks.service import add_task, get_task
from memory.tenancy.entities import Call, Role
from tests.fixtures.builders import (
    a_draft,
    a_forecast,
    a_prediction,
    a_window,
    yes_or_no,
)
from tests.fixtures.engine import DAY, NOON, Caller
from tests.storage.steps import predicted, remembered, served, settled

MICROSECOND = timedelta(microseconds=1)
PAGE = Page(200)


async def fault_of(engine: Engine, call: Call, draft: PredictionDraft) -> MemoryFault:
    [answer] = await predict(engine, call, [draft])
    assert isinstance(answer, MemoryFault), answer
    return answer


async def taken(engine: Engine, call: Call, draft: PredictionDraft) -> Predicted:
    [answer] = await predict(engine, call, [draft])
    assert isinstance(answer, Predicted), answer
    return answer


async def test_an_agent_has_one_prediction_a_window_and_its_newest_revision_shows(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    first = await taken(engine, call, a_prediction(0.6, known_at=NOON))

    revised = await taken(engine, call, a_prediction(0.8, known_at=NOON + DAY))
    again = await taken(engine, call, a_prediction(0.8, known_at=NOON + DAY))
    other = await taken(engine, call, a_prediction(0.8, agent="another", known_at=NOON))

    assert (first.created, revised.created, other.created) == (True, False, True)
    assert (revised.changed, again.changed) == (True, False)
    assert first.prediction.id == again.prediction.id != other.prediction.id
    found = await get_prediction(engine, call, first.prediction.id)
    assert [(r.revision, r.probabilities["yes"]) for r in found.revisions] == [
        (1, 0.6),
        (2, 0.8),
    ]
    assert (found.state, found.event, found.task_key) == ("pending", "rain", "rain#1")
    [listed, _] = (await list_predictions(engine, call, PredictionFilter(), PAGE)).items
    assert [r.revision for r in listed.revisions] == [2]


async def test_the_same_words_at_another_time_are_a_revision_only_where_callers_set_the_time(
    engine: Engine, calls: Caller, past: str, wall: str
):
    await taken(engine, await calls(past), a_prediction(known_at=NOON))
    await taken(engine, await calls(wall), a_prediction())
    later = replace(await calls(wall), now=NOON + DAY)

    replayed = await taken(engine, await calls(past), a_prediction(known_at=NOON + DAY))
    repeated = await taken(engine, later, a_prediction())

    assert replayed.changed
    assert not repeated.changed
    assert repeated.prediction.newest.known_at == NOON


async def test_revisions_follow_one_another_in_time(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    await predicted(engine, call, a_prediction(0.6, known_at=NOON))

    earlier = await fault_of(engine, call, a_prediction(0.7, known_at=NOON - MICROSECOND))
    [same] = await predicted(engine, call, a_prediction(0.7, known_at=NOON))

    assert (type(earlier), earlier.kind) == (Conflict, "prediction_superseded")
    assert same.newest.revision == 2


async def test_at_the_moment_of_closing_it_is_too_late(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    task = a_window(closes_at=NOON)

    late = await fault_of(engine, call, a_prediction(task=task, known_at=NOON))
    [early] = await predicted(engine, call, a_prediction(task=task, known_at=NOON - MICROSECOND))

    assert (type(late), late.kind, late.field) == (Conflict, "prediction_closed", "known_at")
    assert early.closes_at == NOON


async def test_from_the_moment_of_the_settlement_on_it_is_too_late(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await predicted(engine, call, a_prediction(0.6, known_at=NOON - DAY))
    await settled(engine, call, known_at=NOON)

    at_once = await fault_of(engine, call, a_prediction(1.0, known_at=NOON))
    corrected = await settled(
        engine, call, known_at=NOON + DAY, corrects=(await settlement_id(engine, call))
    )
    between = await fault_of(engine, call, a_prediction(1.0, known_at=NOON + MICROSECOND))

    assert (type(at_once), at_once.kind) == (Conflict, "prediction_settled")
    # A correction known later does not make what was known in between a forecast.
    assert between.kind == "prediction_settled"
    assert corrected.scores[0].revision == 1


async def settlement_id(engine: Engine, call: Call):
    [found] = (await list_predictions(engine, call, PredictionFilter(), PAGE)).items
    assert found.score is not None
    return found.score.settlement_id


async def test_what_was_known_before_the_settlement_and_arrives_after_it_is_scored_at_once(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    await remembered(engine, call, a_draft(learned_at=NOON - DAY))
    receipt = await served(engine, call, task=a_window(), as_of=NOON - DAY)
    await predicted(engine, call, a_prediction(0.5, known_at=NOON - DAY))
    await settled(engine, call, known_at=NOON)
    agent = await calls(past, role=Role.AGENT)

    mine = a_prediction(0.9, known_at=NOON - MICROSECOND, retrieval_id=receipt.receipt.retrieval_id)
    revised = await taken(engine, call, mine)
    other = await taken(engine, agent, a_prediction(0.1, agent="late", known_at=NOON - DAY))

    assert revised.prediction.score is not None
    assert (revised.prediction.score.revision, revised.prediction.state) == (2, "settled")
    assert revised.prediction.score.brier == pytest.approx(0.01)
    assert revised.outcomes == ("accepted",)
    assert other.prediction.score is not None
    assert other.prediction.score.brier == pytest.approx(0.81)
    told = (await list_outcomes(engine, call, OutcomeFilter(), PAGE)).items
    assert sorted((one.status, one.reason) for one in told) == [
        ("accepted", None),
        ("ignored", "other_receipt"),
    ]


async def test_a_receipt_names_agent_and_task_and_both_must_fit(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    answer = await served(engine, call, task=a_window(), as_of=NOON)
    receipt = answer.receipt.retrieval_id

    [own] = await predicted(engine, call, a_prediction(retrieval_id=receipt, known_at=NOON))
    someone = a_prediction(agent="another", retrieval_id=receipt, known_at=NOON)
    elsewhere = a_prediction(task=a_window(key="rain#2"), retrieval_id=receipt, known_at=NOON)
    nowhere = a_prediction(retrieval_id=own.id, known_at=NOON)

    assert (own.newest.retrieval_id, own.task_key) == (receipt, "rain#1")
    for draft in (someone, elsewhere):
        refused = await fault_of(engine, call, draft)
        assert (type(refused), refused.field) == (Rejected, "retrieval_id")
    assert (await fault_of(engine, call, nowhere)).kind == "retrieval_not_found"


async def test_an_agents_key_names_the_receipts_it_opened_and_speaks_for_its_agents(
    engine: Engine, calls: Caller, past: str
):
    answer = await served(engine, await calls(past), task=a_window(), as_of=NOON)
    key = await calls(past, role=Role.AGENT, agents=("solver",))

    borrowed = await fault_of(
        engine, key, a_prediction(retrieval_id=answer.receipt.retrieval_id, known_at=NOON)
    )
    posing = await fault_of(engine, key, a_prediction(agent="another", known_at=NOON))

    assert (type(borrowed), borrowed.field) == (Forbidden, "retrieval_id")
    assert (type(posing), posing.field) == (Forbidden, "agent")
    for role in (Role.EVALUATOR, Role.READER):
        with pytest.raises(Forbidden):
            await predict(engine, await calls(past, role=role), [a_prediction(known_at=NOON)])


@pytest.mark.parametrize(
    ("all_rankers", "answering"),
    [(False, tuple(ASKED)), (True, tuple(ASKED)[1:]), (True, (*tuple(ASKED)[1:], "mine"))],
    ids=["one ranker", "one short", "another name"],
)
async def test_answers_are_of_all_rankers_and_for_a_receipt_of_all_rankers(
    engine: Engine, calls: Caller, past: str, *, all_rankers: bool, answering: tuple[str, ...]
):
    call = await calls(past)
    asked = {"all_rankers": all_rankers, "format": Format.MEMORIES, "as_of": NOON}
    answer = await served(engine, call, task=a_window(), **asked)
    forecast = a_forecast(0.5, answers=dict.fromkeys(answering, yes_or_no(0.5)))

    refused = await fault_of(
        engine,
        call,
        a_prediction(forecast=forecast, retrieval_id=answer.receipt.retrieval_id, known_at=NOON),
    )

    assert (type(refused), refused.field) == (Rejected, "answers")


@pytest.mark.parametrize("stored", [True, False])
async def test_a_task_without_an_event_takes_no_prediction(
    engine: Engine, calls: Caller, past: str, *, stored: bool
):
    call = await calls(past)
    task = a_window(group_key=None)
    if stored:
        await add_task(engine, call, task, NOON)

    refused = await fault_of(engine, call, a_prediction(task=task, known_at=NOON))

    assert (type(refused), refused.field) == (Rejected, "task.group_key")


async def test_a_task_that_is_not_there_is_not_found(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    [other] = await predicted(engine, call, a_prediction(known_at=NOON))

    refused = await fault_of(engine, call, a_prediction(task_id=other.id, known_at=NOON))

    assert (type(refused), refused.kind) == (NotFound, "task_not_found")


async def test_who_first_says_when_a_window_closes_is_believed(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    task, _ = await add_task(engine, call, a_window(), NOON)

    [said] = await predicted(
        engine, call, a_prediction(task=a_window(closes_at=NOON + DAY), known_at=NOON)
    )
    silent = await predicted(engine, call, a_prediction(0.7, known_at=NOON))
    otherwise = a_prediction(task=a_window(closes_at=NOON + 2 * DAY), known_at=NOON)
    refused = await fault_of(engine, call, otherwise)

    assert said.closes_at == silent[0].closes_at == NOON + DAY
    assert (await get_task(engine, call, task.id)).closes_at == NOON + DAY
    assert (type(refused), refused.kind) == (Conflict, "task_conflict")
    with pytest.raises(Conflict):
        await add_task(engine, call, a_window(closes_at=NOON + 2 * DAY), NOON)


async def test_a_batch_is_taken_item_by_item_and_in_its_order(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    drafts = [
        a_prediction(0.6, known_at=NOON),
        a_prediction(0.6, task=a_window(group_key=None, key="x"), known_at=NOON),
        a_prediction(0.7, known_at=NOON + DAY),
        a_prediction(0.1, task=a_window(text="another text"), known_at=NOON),
        a_prediction(0.7, known_at=NOON + DAY),
        a_prediction(0.2, agent="another", known_at=NOON),
    ]

    answers = await predict(engine, call, drafts)

    told = [
        (one.created, one.changed, one.prediction.newest.revision)
        if isinstance(one, Predicted)
        else one.kind
        for one in answers
    ]
    assert told == [
        (True, True, 1),
        "rejected",
        (False, True, 2),
        "task_conflict",
        (False, False, 2),
        (True, True, 1),
    ]


@pytest.mark.parametrize("clock", ["past", "wall"])
async def test_the_time_is_the_callers_in_the_past_and_the_servers_today(
    engine: Engine, calls: Caller, past: str, wall: str, clock: str
):
    call = await calls(past if clock == "past" else wall)
    draft = a_prediction(known_at=None if clock == "past" else NOON)

    refused = await fault_of(engine, call, draft)

    assert (type(refused), refused.field) == (Rejected, "known_at")


async def test_predictions_are_listed_by_state_agent_and_event(
    engine: Engine, calls: Caller, past: str
):
    call = await calls(past)
    for agent in ("solver", "another"):
        for event in ("rain", "snow"):
            task = a_window(key=f"{event}#1", group_key=event)
            await predicted(engine, call, a_prediction(agent=agent, task=task, known_at=NOON))
    await settled(engine, call, known_at=NOON + DAY)

    async def found(**wanted: str) -> int:
        return (await list_predictions(engine, call, PredictionFilter(**wanted), PAGE)).total

    assert await found(state="pending") == 2
    assert await found(state="settled", agent="solver") == 1
    assert await found(event="snow") == 2
    assert await found(state="late") == 0
    with pytest.raises(Rejected):
        await found(state="lost")


@pytest.mark.parametrize("whose", ["agent", "key", "task", "nobody"])
async def test_an_erasure_takes_the_reasons_and_leaves_the_numbers(
    engine: Engine, calls: Caller, past: str, whose: str
):
    call = await calls(past)
    [made] = await predicted(engine, call, a_prediction(rationale="a wet smell", known_at=NOON))
    erasures = {
        "agent": Erasure(agent="solver"),
        "key": Erasure(key_id=call.key.id),
        "task": Erasure(task_id=made.task_id),
        "nobody": Erasure(agent="another"),
    }

    await erase(engine, call, erasures[whose])

    found = await get_prediction(engine, call, made.id)
    assert found.newest.rationale == ("a wet smell" if whose == "nobody" else None)
    assert found.newest.forecasts_as(made.newest)
    if whose != "nobody":
        async with engine.database.transaction(call.namespace.id) as connection:
            rows = await connection.scalars(text("SELECT r::text FROM prediction_revision r"))
            assert "wet smell" not in "".join(rows)


async def test_a_category_is_made_for_a_new_window(engine: Engine, calls: Caller, past: str):
    call = await calls(past)
    task = TaskDraft("snow?", key="s", group_key="snow", category="weather", subcategory="snow")

    [made] = await predicted(engine, call, a_prediction(task=task, known_at=NOON))

    assert (await get_task(engine, call, made.task_id)).category_name == CategoryName(
        "weather", "snow"
    )
