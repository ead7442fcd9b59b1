"""Two namespaces: one with a row in every isolated table, and an empty one beside it."""

from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy import text

from memory.constraints.bank import add_constraint
from memory.constraints.entities import ConstraintDraft, Wording
from memory.curation.entities import StatusChange
from memory.curation.service import change_status, edit_memory
from memory.inference.stand_ins import ScriptedLlm
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.ids import new_id
from memory.llm.entities import LlmSubject
from memory.memories.entities import MemoryEdit
from memory.meta_guidelines.entities import MetaGuidelineDraft
from memory.meta_guidelines.service import add
from memory.outcomes.applying import apply_now
from memory.tasks.entities import TaskDraft
from memory.tasks.service import add_task
from memory.tenancy.entities import Call, Clock, Key, KeyDraft, Role
from memory.tenancy.service import create_key
from memory.verification.acquisition import SummariseMaterial, queue, summarise
from memory.verification.entities import ReportedLesson
from tests.fixtures.builders import a_draft, a_prediction
from tests.fixtures.engine import DAY, NOON, a_namespace
from tests.storage.steps import a_call, predicted, remembered, reported, served, settled


@dataclass(frozen=True, slots=True)
class Neighbours:
    """A namespace that has a row in every isolated table, and an empty one beside it."""

    full: Call
    empty: Call


async def two_neighbours(engine: Engine, operator: Key) -> Neighbours:
    full = await a_namespace(engine, operator, clock=Clock.REPLAY)
    empty = await a_namespace(engine, operator)
    await fill(engine, operator, full)
    return Neighbours(await a_call(engine, operator, full), await a_call(engine, operator, empty))


async def fill(engine: Engine, operator: Key, slug: str) -> None:
    """The whole loop once, so that every table holds something."""
    call = await a_call(engine, operator, slug)
    task, _ = await add_task(engine, call, TaskDraft("a forecast of rain"), NOON)
    [lesson] = await remembered(engine, call, a_draft(learned_at=NOON, task_id=task.id))
    answer = await served(engine, call, as_of=NOON, purpose="paired", trace_id="trace")
    worse = {"reward": 0.1, "without": {"reward": 0.8}, "known_at": NOON + DAY}
    await reported(engine, call, answer, lesson=ReportedLesson("look twice"), **worse)
    await apply_now(engine, call)
    place = {"category": "weather", "learned_at": NOON}
    await add(engine, call, MetaGuidelineDraft("solver", "it failed", "check", **place))  # pyright: ignore[reportArgumentType] - fields by name
    edit = MemoryEdit(lesson="said better", known_at=NOON + 2 * DAY)
    await edit_memory(engine, call, lesson.id, edit, 1)
    await change_status(engine, call, lesson.id, StatusChange("suspend"))
    await add_candidate(engine, call, task.id)
    await add_contradiction(engine, call, task.id)
    await predicted(engine, call, a_prediction(rationale="it looks like it", known_at=NOON))
    await settled(engine, call, known_at=NOON + DAY)
    async with engine.database.transaction(call.namespace.id) as connection:
        here = {"ns": call.namespace.id, "task": task.id, "id": new_id(), "now": NOON}
        await connection.execute(text(TRAJECTORY), here)
        here |= {"run": here["id"], "id": new_id(), "memory": lesson.id}
        for statement in CONTRASTED:
            await connection.execute(text(statement), here)
    asking = replace(engine, llm=ScriptedLlm(['{"situation": "s", "lesson": "l"}']))
    subject = LlmSubject(
        memory_ids=(lesson.id,), task_id=task.id, agent="solver", key_id=call.key.id
    )
    material = SummariseMaterial("a forecast of rain", "weather", "question", 0.1)
    assert await summarise(asking, call.namespace.id, material, subject, NOON)
    await add_influence(engine, operator, slug)
    call = await a_call(engine, operator, slug)
    await run_job(engine, call, "health", JobRequest(NOON + 3 * DAY))


async def add_influence(engine: Engine, operator: Key, slug: str) -> None:
    """One party has moved what another wrote."""
    drafts = (KeyDraft(Role.AGENT, name, slug, (name,)) for name in ("writer", "reporter"))
    writer, reporter = [(await create_key(engine, operator, one, NOON))[0] for one in drafts]
    lesson = a_draft(agent="writer", situation="hail at night", lesson="close", learned_at=NOON)
    await remembered(engine, await a_call(engine, writer, slug), lesson)
    call = await a_call(engine, reporter, slug)
    task, at = TaskDraft("hail at night", category="hail"), NOON + 2 * DAY
    answer = await served(engine, call, agent="reporter", as_of=at, task=task)
    await reported(engine, call, answer, reward=0.0, verifier="self", known_at=at)
    await apply_now(engine, call)


async def add_candidate(engine: Engine, call: Call, task_id: UUID) -> None:
    """The outcome is queued, and a ticket is open for a memory of its own."""
    draft = a_draft(lesson="on trial", learned_at=NOON, task_id=task_id, verify=True)
    await remembered(engine, call, draft)
    async with engine.database.transaction(call.namespace.id) as connection:
        await queue(connection, call.namespace, (NOON + 2 * DAY, NOON), dry=False)


async def add_contradiction(engine: Engine, call: Call, task_id: UUID) -> None:
    """Two constraints from the task, each enforces what the other avoids; and a rejected one."""
    trigger, one, other = "it rains where it was dry", "counting the days", "counting the drops"
    for enforce, avoid in ((one, other), (other, one)):
        draft = ConstraintDraft("solver", trigger, enforce, avoid, task_id=task_id, learned_at=NOON)
        assert not (await add_constraint(engine, call, draft)).lint
    draft = ConstraintDraft(
        "solver", REJECTED.trigger, REJECTED.enforce, task_id=task_id, learned_at=NOON
    )
    assert (await add_constraint(engine, call, draft)).lint == ("agent_name",)


REJECTED = Wording("solver counts days", "counting drops")


# One run stands on both sides of its contrast.
TRAJECTORY = """
    INSERT INTO trajectory (id, namespace_id, task_id, agent_id, steps, verifier, known_at,
        recorded_at)
    SELECT :id, :ns, :task, a.id, '[]', 'none', :now, :now FROM agent a
    WHERE a.namespace_id = :ns LIMIT 1
"""

CONTRASTED = (
    """
    INSERT INTO contrast (id, namespace_id, task_id, preferred_id, unpreferred_id, pair_class,
        self_contrast, supports, state, known_at, recorded_at)
    VALUES (:id, :ns, :task, :run, :run, 'unknown', true, false, 'refused', :now, :now)
    """,
    """
    INSERT INTO changeset (id, namespace_id, state, category_id, family, outcome_ids, similarity,
        ticket_id, recorded_at)
    SELECT :id, :ns, 'proposed', r.category_id, 'owl', ARRAY[o.id], 0.9, t.id, :now
    FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id CROSS JOIN ticket t
    WHERE o.namespace_id = :ns AND t.namespace_id = :ns LIMIT 1
    """,
    """
    INSERT INTO taxonomy (namespace_id, version, categories, allow_new, recorded_at)
    VALUES (:ns, 1, '[]', true, :now)
    """,
    """
    INSERT INTO ledger_closing (namespace_id, bank_version, known_at, recorded_at)
    VALUES (:ns, 0, '2000-01-01', :now)
    """,
    """
    INSERT INTO receipt_tally (namespace_id, kind, subject_id, n, last_at)
    VALUES (:ns, 'memory', :memory, 1, '2000-01-01')
    """,
    """
    INSERT INTO webhook (id, namespace_id, url, kinds, secret, created_at)
    VALUES (:id, :ns, 'https://hooks.invalid/', '{ticket.open}', 'whsec_', :now)
    """,
    """
    INSERT INTO webhook_delivery (id, namespace_id, webhook_id, kind, data, state, next_at,
        recorded_at)
    VALUES (:id, :ns, :id, 'ticket.open', '{}', 'waiting', :now, :now)
    """,
    """
    INSERT INTO rollback (id, namespace_id, source, taken, first_version, bank_version,
        recorded_at)
    VALUES (:id, :ns, '{}', '{"outcomes": [], "memories": [], "runs": [], "contrasts": [],
        "pieces": [], "weakened": []}', 1, 2, :now)
    """,
    """
    INSERT INTO competence (agent_id, category_id, namespace_id, n, total)
    SELECT agent_id, category_id, :ns, 1, 1 FROM memory WHERE id = :memory
    """,
)
