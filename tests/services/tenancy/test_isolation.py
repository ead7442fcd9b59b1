"""Two namespaces in use at once, by slow models and foreign ids: nothing crosses."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import pytest
from sqlalchemy import text

from memory.curation.entities import StatusChange
from memory.curation.service import change_status, edit_memory
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.experiences.service import remember
from memory.forecasts.entities import PredictionFilter
from memory.forecasts.service import get_prediction, list_predictions, predict
from memory.forecasts.settlements import get_settlement, list_settlements, settle
from memory.insight.service import get_weight, list_effects, list_weight_events
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, NotFound
from memory.kernel.paging import Page
from memory.memories.entities import MemoryEdit, MemoryFilter
from memory.memories.service import get_memory, list_memories, list_versions
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import ReceiptReport
from memory.outcomes.service import get_outcome, list_outcomes, report
from memory.receipts.list_entities import OutcomeFilter, ReceiptFilter
from memory.retrieval.entities import Advice
from memory.retrieval.service import explain, get_receipt, list_receipts, retrieve
from memory.schema import ISOLATED
from memory.tasks.entities import TaskDraft
from memory.tasks.service import add_task, get_agent, get_task, list_agents, list_tasks
from memory.tenancy.entities import Call, Key, KeyDraft, Role
from memory.tenancy.service import create_key, open_namespace, revoke_key
from tests.fixtures.builders import a_draft, a_prediction, a_report, a_settlement, an_ask
from tests.fixtures.engine import NOON, a_namespace, an_engine
from tests.storage.steps import (
    SlowEmbedder,
    a_call,
    predicted,
    remembered,
    reported,
    served,
    settled,
)

PAGE = Page(200)


@pytest.fixture
async def slow(engine: Engine, database_url: str) -> AsyncGenerator[Engine]:
    """An engine whose callers overtake one another at every embedding."""
    opened = an_engine(database_url, embedder=SlowEmbedder())
    opened.registered = engine.registered
    yield opened
    await opened.close()


async def test_markers_of_two_namespaces_never_meet(slow: Engine, operator: Key) -> None:
    markers = ("heron", "osprey")
    calls = {
        marker: await a_call(slow, operator, await a_namespace(slow, operator))
        for marker in markers
    }
    busy = asyncio.Semaphore(10)

    async def turn(i: int) -> tuple[str, str]:
        marker = markers[i % 2]
        call = calls[marker]
        async with busy:
            if i % 4 < 2:
                lesson = f"{marker} lesson {i}"
                situation = f"forecast of rain {marker}"
                await remembered(slow, call, a_draft(lesson=lesson, situation=situation))
                return marker, ""
            task = TaskDraft(f"a forecast of rain {marker}")
            answer = await served(slow, call, agent=f"agent {marker}", task=task)
            await reported(slow, call, answer)
            await apply_now(slow, call)
            said = [memory.lesson for memory in answer.memories]
            return marker, f"{answer.receipt.guideline.text}{said}"

    turns = await asyncio.gather(*(turn(i) for i in range(200)))

    crossing: dict[str, str] = dict(zip(markers, reversed(markers), strict=True))
    assert [marker for marker, said in turns if crossing[marker] in said] == []
    assert sum(marker in said for marker, said in turns) > 50
    for marker, call in calls.items():
        stored = await everything(slow, call)
        assert marker in stored
        assert crossing[marker] not in stored
        assert (await list_memories(slow, call, MemoryFilter(), PAGE)).total == 50


EVERYTHING = " UNION ALL ".join(f"SELECT t::text FROM {table.name} t" for table in ISOLATED)


async def everything(engine: Engine, call: Call) -> str:
    """All that the database shows inside the namespace."""
    async with engine.database.transaction(call.namespace.id) as connection:
        # Rows have no order of their own: a sequential scan may begin where another one is.
        return "\n".join(sorted(await connection.scalars(text(EVERYTHING))))


@dataclass(frozen=True, slots=True)
class Foreign:
    """Ids that belong to one namespace, and a call into another."""

    engine: Engine
    here: Call
    there: Call
    memory: UUID
    task: UUID
    retrieval: UUID
    outcome: UUID
    prediction: UUID
    settlement: UUID
    own: Advice


@pytest.fixture
async def foreign(engine: Engine, operator: Key) -> Foreign:
    there = await a_call(engine, operator, await a_namespace(engine, operator))
    task, _ = await add_task(engine, there, TaskDraft("a forecast of rain"), None)
    [lesson] = await remembered(engine, there, a_draft())
    answer = await served(engine, there)
    outcome = (await reported(engine, there, answer)).outcome
    [forecast] = await predicted(engine, there, a_prediction(rationale="it looks like it"))
    resolved = await settled(engine, there)
    here = await a_call(engine, operator, await a_namespace(engine, operator))
    await remembered(engine, here, a_draft(lesson="of one's own", agent="local"))
    own = await served(engine, here, agent="local")
    ids = (lesson.id, task.id, answer.receipt.retrieval_id, outcome.id, forecast.id, resolved.id)
    return Foreign(engine, here, there, *ids, own)


async def single(answers: Awaitable[Sequence[object]]) -> object:
    """The one answer of a batch; a fault in it is raised."""
    [answer] = await answers
    if isinstance(answer, MemoryFault):
        raise answer
    return answer


EDIT = MemoryEdit(lesson="theirs now")
FOREIGN: dict[str, Callable[[Foreign], Awaitable[object]]] = {
    "get_memory": lambda f: get_memory(f.engine, f.here, f.memory),
    "list_versions": lambda f: list_versions(f.engine, f.here, f.memory),
    "edit_memory": lambda f: edit_memory(f.engine, f.here, f.memory, EDIT, 1),
    "suspend": lambda f: change_status(f.engine, f.here, f.memory, StatusChange("suspend")),
    "erase": lambda f: erase(f.engine, f.here, Erasure(memory_id=f.memory)),
    "weight_of": lambda f: get_weight(f.engine, f.here, f.memory, None),
    "weight_events": lambda f: list_weight_events(f.engine, f.here, f.memory, PAGE),
    "get_agent": lambda f: get_agent(f.engine, f.here, "solver"),
    "weight_for": lambda f: get_weight(f.engine, f.here, f.memory, "solver"),
    "get_task": lambda f: get_task(f.engine, f.here, f.task),
    "remember": lambda f: single(remember(f.engine, f.here, [a_draft(task_id=f.task)])),
    "retrieve": lambda f: single(retrieve(f.engine, f.here, [an_ask(task=None, task_id=f.task)])),
    "get_receipt": lambda f: get_receipt(f.engine, f.here, f.retrieval),
    "explain": lambda f: explain(f.engine, f.here, f.retrieval),
    "report": lambda f: single(report(f.engine, f.here, [ReceiptReport(f.retrieval, a_report())])),
    "supersede": lambda f: single(
        report(
            f.engine,
            f.here,
            [ReceiptReport(f.own.receipt.retrieval_id, a_report(supersedes=f.outcome))],
        )
    ),
    "predict": lambda f: single(predict(f.engine, f.here, [a_prediction(task_id=f.task)])),
    "predict_by_receipt": lambda f: single(
        predict(f.engine, f.here, [a_prediction(retrieval_id=f.retrieval)])
    ),
    "get_prediction": lambda f: get_prediction(f.engine, f.here, f.prediction),
    "correct": lambda f: single(settle(f.engine, f.here, [a_settlement(corrects=f.settlement)])),
    "get_settlement": lambda f: get_settlement(f.engine, f.here, f.settlement),
    "get_outcome": lambda f: get_outcome(f.engine, f.here, f.outcome),
}


@pytest.mark.parametrize("flow", FOREIGN)
async def test_a_foreign_id_is_not_found_and_nothing_changes(foreign: Foreign, flow: str) -> None:
    before = await everything(foreign.engine, foreign.there)

    with pytest.raises(NotFound):
        await FOREIGN[flow](foreign)

    assert await everything(foreign.engine, foreign.there) == before


async def test_an_event_of_the_same_name_is_settled_here_alone(foreign: Foreign) -> None:
    before = await everything(foreign.engine, foreign.there)
    await predicted(foreign.engine, foreign.here, a_prediction(agent="local"))

    made = await settled(foreign.engine, foreign.here)

    assert [score.agent for score in made.scores] == ["local"]
    assert await everything(foreign.engine, foreign.there) == before


async def test_a_verdict_on_a_foreign_memory_is_refused(foreign: Foreign) -> None:
    verdict = ReceiptReport(foreign.own.receipt.retrieval_id, a_report(helpful=(foreign.memory,)))

    with pytest.raises(MemoryFault, match="was not served"):
        await single(report(foreign.engine, foreign.here, [verdict]))


ERASURES: dict[str, Callable[[Foreign], Erasure]] = {
    "agent": lambda f: Erasure(agent="solver"),
    "key": lambda f: Erasure(key_id=f.there.key.id),
    "task": lambda f: Erasure(task_id=f.task),
}


@pytest.mark.parametrize("whose", ERASURES)
async def test_an_erasure_reaches_nothing_next_door(foreign: Foreign, whose: str) -> None:
    before = await everything(foreign.engine, foreign.there)

    erased = await erase(foreign.engine, foreign.here, ERASURES[whose](foreign))

    assert await everything(foreign.engine, foreign.there) == before
    # The same key wrote in both namespaces; what it wrote here is all that goes.
    assert erased.erased.memories == (whose == "key")


async def test_lists_hold_what_is_of_this_namespace(foreign: Foreign) -> None:
    engine, here = foreign.engine, foreign.here

    totals = [
        (await list_memories(engine, here, MemoryFilter(), PAGE)).total,
        (await list_tasks(engine, here, None, PAGE)).total,
        (await list_receipts(engine, here, ReceiptFilter(), PAGE)).total,
        (await list_outcomes(engine, here, OutcomeFilter(), PAGE)).total,
        (await list_predictions(engine, here, PredictionFilter(), PAGE)).total,
        (await list_settlements(engine, here, None, PAGE)).total,
    ]

    assert totals == [1, 1, 1, 0, 0, 0]
    assert [agent.name for agent in (await list_agents(engine, here, PAGE)).items] == ["local"]
    assert await list_effects(engine, here, None, None) == []


async def test_applying_here_applies_nothing_there(foreign: Foreign) -> None:
    applied = await apply_now(foreign.engine, foreign.here)

    assert (applied.applied, applied.pending) == (0, 0)
    outcome = await get_outcome(foreign.engine, foreign.there, foreign.outcome)
    assert outcome.status == "accepted"


async def test_a_key_of_one_namespace_neither_opens_nor_rules_another(
    engine: Engine, operator: Key, foreign: Foreign
) -> None:
    here, there = (call.namespace.slug for call in (foreign.here, foreign.there))
    admin, _ = await create_key(engine, operator, KeyDraft(Role.ADMIN, "test", here), NOON)
    theirs, _ = await create_key(engine, operator, KeyDraft(Role.AGENT, "test", there), NOON)

    with pytest.raises(NotFound):
        await open_namespace(engine, admin, there)
    with pytest.raises(NotFound):
        await revoke_key(engine, admin, theirs.id, NOON)
    with pytest.raises(NotFound):
        await create_key(engine, admin, KeyDraft(Role.AGENT, "test", there), NOON)
