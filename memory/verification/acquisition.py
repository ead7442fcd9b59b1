"""Bad outcomes become candidates: the worst are queued, get a lesson, and are proposed.

The queue is filled in a job's transaction. The work on it is claimed (one transaction), thought
about (none is open), and stored (another): who dies over it leaves a claim that lapses and counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, Overloaded, Unavailable
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import Leadership, WorkStore
from memory.kernel.text import LESSON, SITUATION
from memory.llm import prompts
from memory.llm.client import LlmResult, ask_in_background
from memory.llm.entities import LlmSubject
from memory.llm.replies import read_object, text_of
from memory.llm.roles import SMALL_ANSWER, LlmRole, prompt_of, said
from memory.llm.store import LlmCallStore
from memory.memories.entities import ExperienceDraft, Status
from memory.memories.rules import TWIN, is_twin
from memory.memories.service import Entrance, enter
from memory.memories.store.memories import MemoryStore, NewMemory
from memory.memories.store.status import NearMemory, StatusStore
from memory.tasks.entities import CategoryIds
from memory.tenancy.entities import Act, Call, Namespace
from memory.verification.entities import LessonCandidate, ReportedLesson, Run
from memory.verification.proposing import Proposal, TargetReward, propose
from memory.verification.rules import WINDOW, failures, improvable
from memory.verification.store.candidates import CandidateStore, CaseEnd, LessonCase

CLAIM = timedelta(minutes=10)


LOOKED_AT = 5_000
"""So many outcomes are looked at in one run; the rest in the next."""


@dataclass(frozen=True, slots=True)
class Queueing:
    """Which outcomes a run would queue, or did."""

    examined: int
    worst: tuple[Run, ...]

    def result(self) -> dict[str, object]:
        changes = [
            {
                "outcome_id": str(run.id),
                "task_id": str(run.task),
                "change": "candidate",
                "reward": run.reward,
            }
            for run in self.worst
        ]
        return {"examined": self.examined, "changes": changes}


@dataclass(frozen=True, slots=True)
class DraftedLesson:
    """A lesson with its vectors, and the call it came of where a model wrote it."""

    lesson: ReportedLesson
    situation: str
    vectors: Mapping[str, Embedding]
    llm_call_id: UUID | None


async def queue(
    connection: Connection, namespace: Namespace, times: tuple[datetime, datetime], *, dry: bool
) -> Queueing:
    """Queue the worst 30 % of the outcomes that nobody has looked at, where better was possible."""
    store = CandidateStore(connection, namespace.id)
    fresh = await store.fresh(LOOKED_AT)
    found = failures(await store.before(WINDOW), fresh)
    done = Queueing(len(fresh), tuple(run for run in found if improvable(run.reward)))
    if not dry:
        await store.add([run.id for run in done.worst], times[1])
        await store.look_at([run.id for run in fresh], times[1])
    return done


async def work_off(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership | None
) -> None:
    """Make memories of what is queued, until nothing is left that can be done now."""
    require_model(engine, namespace)
    while True:
        async with engine.database.transaction(namespace.id) as connection:
            if leadership is not None:
                await WorkStore(connection).guard(leadership)
            case = await CandidateStore(connection, namespace.id).claim(now, now + CLAIM)
        if case is None or not await _work(engine, namespace, case, now, leadership):
            return


async def list_candidates(
    engine: Engine, call: Call, state: str | None, page: Page
) -> Listed[LessonCandidate]:
    """Oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        found, total = await CandidateStore(connection, call.namespace.id).browse(state, page)
    return listed(found, page, total, lambda view: (str(view.outcome_id),))


async def retry_candidate(engine: Engine, call: Call, outcome_id: UUID) -> LessonCandidate:
    """Queue a quarantined candidate again. Raises Conflict where it is not quarantined."""
    call.key.require(Act.MANAGE)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = CandidateStore(connection, call.namespace.id)
        known = await store.get(outcome_id)
        if not await store.retry(outcome_id):
            raise Conflict(f"the candidate is {known.state}", code="candidate_not_quarantined")
        return await store.get(outcome_id)


async def _work(
    engine: Engine,
    namespace: Namespace,
    case: LessonCase,
    now: datetime,
    leadership: Leadership | None,
) -> bool:
    """Draft a lesson, then store it; False where that failed for a reason that may pass."""
    reason = None
    try:
        lesson = await _draft_lesson(engine, namespace, case, now)
    except (Unavailable, Overloaded):
        await _let_go(engine, namespace, case, now + CLAIM)
        return False
    except MemoryFault as fault:
        lesson, reason = None, fault.kind
    async with engine.database.transaction(namespace.id) as connection:
        if leadership is not None:
            await WorkStore(connection).guard(leadership)
        store = CandidateStore(connection, namespace.id)
        if await store.hold(case):
            state, memory_id = await _store_lesson(
                engine, connection, namespace, case, lesson=lesson, now=now
            )
            await store.finish(case.outcome_id, CaseEnd(state, memory_id, reason), now)
    return True


async def _let_go(engine: Engine, namespace: Namespace, case: LessonCase, until: datetime) -> None:
    """The model is away: what was claimed waits for it, and nobody is to blame."""
    async with engine.database.transaction(namespace.id) as connection:
        store = CandidateStore(connection, namespace.id)
        if await store.hold(case):
            await store.let_go(case.outcome_id, until)


async def _draft_lesson(
    engine: Engine, namespace: Namespace, case: LessonCase, now: datetime
) -> DraftedLesson | None:
    """The lesson of a case: the reporter's own words, else a summary; None where there is none.

    No transaction is open while a model thinks.
    """
    llm_call_id = None
    if case.lesson is not None:
        lesson = ReportedLesson(case.lesson["lesson"] or "", case.lesson["situation"])
    else:
        drafted = await summarise(engine, namespace.id, _material(case), _subject(case), now)
        if drafted is None:
            return None
        lesson = ReportedLesson(drafted.value.lesson, drafted.value.situation)
        llm_call_id = drafted.llm_call_id
    situation = lesson.situation or case.task[:SITUATION]
    one, other = await engine.embedder.embed([situation, lesson.lesson])
    return DraftedLesson(lesson, situation, {"situation": one, "lesson": other}, llm_call_id)


@dataclass(frozen=True, slots=True)
class SummariseMaterial:
    """An attempt that went badly; `run` is its trajectory as text, `reported` the agent's words."""

    task: str
    category: str
    reward: float
    guideline: str | None = None
    run: str | None = None
    result: str | None = None
    reported: str | None = None


def _material(case: LessonCase) -> SummariseMaterial:
    return SummariseMaterial(case.task, case.category, case.reward, case.guideline)


def _subject(case: LessonCase) -> LlmSubject:
    return LlmSubject(task_id=case.task_id, agent=case.agent, key_id=case.key_id)


async def _store_lesson(
    engine: Engine,
    connection: Connection,
    namespace: Namespace,
    case: LessonCase,
    *,
    lesson: DraftedLesson | None,
    now: datetime,
) -> tuple[str, UUID | None]:
    """What becomes of the case, and which memory: a new one, or the twin that is there."""
    if lesson is None:
        return "nothing", None
    model_id = await adopt_model(connection, engine, namespace)
    twin = await _find_twin(connection, namespace, lesson, model_id)
    if twin is not None and twin.status is Status.REJECTED:
        return "rejected_twin", twin.id
    if twin is not None:
        await MemoryStore(connection, namespace.id).add_evidence([twin.id])
        return "twin", twin.id
    entrance = Entrance(namespace, case.key_id, now, model_id)
    new = _to_memory(case, lesson)
    [remembered] = (await enter(connection, entrance, {0: new})).values()
    if remembered.deduplicated:
        return "twin", remembered.id
    reference = TargetReward(case.reward, case.metric, case.reward_kind)
    await propose(engine, connection, entrance, [Proposal(new, reference, case.known_at)])
    if lesson.llm_call_id is not None:
        store = LlmCallStore(connection, namespace.id)
        await store.attach(lesson.llm_call_id, memory_id=new.id)
    return "proposed", new.id


async def _find_twin(
    connection: Connection, namespace: Namespace, drafted: DraftedLesson, model_id: UUID
) -> NearMemory | None:
    """The nearest memory that says the same."""
    store = StatusStore(connection, namespace.id)
    text = f"{drafted.situation}\n{drafted.lesson.lesson}"
    for near in await store.find_near(drafted.vectors, model_id, TWIN):
        if is_twin(text, f"{near.situation}\n{near.lesson}", near.cosine):
            return near
    return None


def _to_memory(case: LessonCase, drafted: DraftedLesson) -> NewMemory:
    draft = ExperienceDraft(
        agent=case.agent,
        situation=drafted.situation,
        lesson=drafted.lesson.lesson,
        task_id=case.task_id,
        verify=True,
    )
    return NewMemory(
        id=new_id(),
        draft=draft,
        agent_id=case.agent_id,
        category_ids=CategoryIds(case.category_id, case.subcategory_id),
        task_id=case.task_id,
        source_group=case.source_group,
        learned_at=case.known_at,
        vectors=drafted.vectors,
        status=Status.PROPOSED,
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """A candidate experience."""

    situation: str
    lesson: str


async def summarise(
    engine: Engine,
    namespace_id: UUID,
    material: SummariseMaterial,
    subject: LlmSubject,
    now: datetime,
) -> LlmResult[Summary] | None:
    """A candidate experience from a failed attempt; None where no model comes to one."""
    role = summarise_role(material)
    return await ask_in_background(engine, namespace_id, role, subject=subject, now=now)


def summarise_role(material: SummariseMaterial) -> LlmRole[Summary]:
    """A failed attempt → a candidate experience."""
    parts = [
        ("Task", said(material.task)),
        ("Category", said(material.category)),
        ("Reward (0 to 1, larger is better)", f"{material.reward:.3f}"),
        ("The advice it had", said(material.guideline)),
        ("The run", said(material.run)),
        ("Its result", said(material.result)),
        ("What the agent said about it", said(material.reported)),
    ]
    schema = prompts.SUMMARISE_SCHEMA
    return LlmRole(
        "summarise",
        prompt_of("summarise", prompts.SUMMARISE, parts, schema, room=SMALL_ANSWER),
        _summary,
    )


def _summary(answer: str) -> Summary:
    read = read_object(answer, ("situation", "lesson"))
    return Summary(text_of(read, "situation", SITUATION), text_of(read, "lesson", LESSON))
