"""Bad outcomes become candidates: the worst are queued, get a lesson, and are proposed.

A lesson is what the reporter said, else what a language model draws from the run, else what the run
shows plainly (`failure_notes`). Without a run and without a reported lesson nobody is asked, and
nothing is written.

The queue is filled in a job's transaction. The work on it is claimed (one transaction), thought
about (none is open), and stored (another): who dies over it leaves a claim that lapses and counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.states import States
from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, Overloaded, Unavailable
from memory.kernel.ids import new_id
from memory.kernel.likeness import TWIN, says_the_same
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import Leadership, led_transaction
from memory.kernel.quoting import shown
from memory.kernel.text import LESSON, SITUATION
from memory.llm import prompts
from memory.llm.client import LlmResult, ask_in_background
from memory.llm.entities import LlmSubject
from memory.llm.lesson_prompts import TaskKind, lesson_prompt
from memory.llm.replies import read_object, text_of
from memory.llm.roles import SMALL_ANSWER, LlmRole, prompt_of, said
from memory.llm.run_material import rendered_run, rendered_truth, truth_text
from memory.llm.store import LlmCallStore
from memory.memories.entities import ExperienceDraft, Status, Visibility
from memory.memories.service import Entrance, enter, hide_private
from memory.memories.store.memories import MemoryStore, NewMemory
from memory.memories.store.status import NearMemory, StatusStore
from memory.receipts.material import is_erased, load_shared_guideline
from memory.tasks.entities import CategoryIds
from memory.tasks.run_entities import Step
from memory.tenancy.entities import Act, Call, Namespace
from memory.verification.entities import LessonCandidate, ReportedLesson, Run
from memory.verification.failure_notes import failure_note, kind_of
from memory.verification.proposing import Proposal, TargetReward, propose
from memory.verification.rules import WINDOW, disappoints, failures, improvable
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
    """Queue the worst 30 % of the outcomes that nobody has looked at, as far as they went worse
    than expected, and where better was possible.
    """
    store = CandidateStore(connection, namespace.id)
    fresh = await _with_expectation(store, namespace, await store.fresh(LOOKED_AT))
    found = failures(await store.before(WINDOW), fresh)
    bad = tuple(run for run in found if improvable(run.reward) and disappoints(run))
    done = Queueing(len(fresh), bad)
    if not dry:
        await store.add(done.worst, times[1])
        await store.look_at([run.id for run in fresh], times[1])
    return done


async def _with_expectation(
    store: CandidateStore, namespace: Namespace, runs: Sequence[Run]
) -> list[Run]:
    """With the baseline of each run's cell as it was before the run."""
    policy = policy_named(namespace.policy)
    cells = await store.cells_before([run.id for run in runs])
    start = policy.initial_cell([])
    noise = policy.initial_noise()

    def expected(run: Run) -> float | None:
        cell = cells.get(run.id, start)
        return policy.baseline(States({}, {}, cell, noise)) if cell.values else None

    return [replace(run, expected=expected(run)) for run in runs]


async def has_fresh_outcomes(connection: Connection, namespace: Namespace) -> bool:
    """Whether there is something to look at."""
    return await CandidateStore(connection, namespace.id).has_fresh()


async def work_off(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership | None
) -> None:
    """Make memories of what is queued, until nothing is left that can be done now."""
    require_model(engine, namespace)
    while True:
        async with led_transaction(engine.database, namespace.id, leadership) as connection:
            case = await CandidateStore(connection, namespace.id).claim(now, now + CLAIM)
            if case is not None:
                case = await with_shared_words(connection, namespace, case)
        if case is None or not await _work(engine, namespace, case, now, leadership):
            return


async def with_shared_words(
    connection: Connection, namespace: Namespace, case: LessonCase
) -> LessonCase:
    """What a model makes of a case everyone may read: it gets what everyone may read."""
    shared = await load_shared_guideline(connection, namespace.id, case.retrieval_id)
    # A run may repeat all that its agent was told.
    sources = shared.memory_ids if case.run_id is None else shared.served
    return replace(case, guideline=shared.text, sources=sources, private=shared.partial)


async def list_candidates(
    engine: Engine, call: Call, state: str | None, page: Page
) -> Listed[LessonCandidate]:
    """Oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        found, total = await CandidateStore(connection, call.namespace.id).browse(state, page)
        found = await hide_private(connection, call, found)
    return listed(found, page, total, lambda view: (str(view.outcome_id),))


async def retry_candidate(engine: Engine, call: Call, outcome_id: UUID) -> LessonCandidate:
    """Queue a quarantined candidate again, or free one that waits from a claim: of who died over
    it, or while a model is away. Raises Conflict where it is neither.
    """
    call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        store = CandidateStore(connection, call.namespace.id)
        known = await store.get(outcome_id)
        if not await store.retry(outcome_id):
            raise Conflict(f"the candidate is {known.state}", code="candidate_not_quarantined")
        return await hide_private(connection, call, await store.get(outcome_id))


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
    async with led_transaction(engine.database, namespace.id, leadership) as connection:
        store = CandidateStore(connection, namespace.id)
        if await store.hold(case):
            by_model = lesson is not None and lesson.llm_call_id is not None
            made_of = case.sources if by_model else ()
            if await store.is_erased(case) or await is_erased(connection, namespace.id, made_of):
                lesson, reason = None, "erased"
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
    """The lesson of a case: the reporter's own words, else a model's, else what the run shows
    plainly; None where there is none. No transaction is open while a model thinks.
    """
    llm_call_id = None
    if case.lesson is not None:
        lesson = ReportedLesson(case.lesson["lesson"] or "", case.lesson["situation"])
    elif not has_run(case):
        return None
    elif drafted := await summarise(engine, namespace.id, material_of(case), _subject(case), now):
        lesson = ReportedLesson(drafted.value.lesson, drafted.value.situation)
        llm_call_id = drafted.llm_call_id
    elif note := failure_note(case.steps, case.result, truth_text(case.raw)):
        lesson = ReportedLesson(note)
    else:
        return None
    situation = lesson.situation or case.task[:SITUATION]
    one, other = await engine.embedder.embed([situation, lesson.lesson])
    return DraftedLesson(lesson, situation, {"situation": one, "lesson": other}, llm_call_id)


def has_run(case: LessonCase) -> bool:
    """Whether anything is known of what the agent did."""
    return bool(case.steps or case.result or case.rationale)


@dataclass(frozen=True, slots=True)
class SummariseMaterial:
    """An attempt that went badly: what was asked, done, answered, expected and true."""

    task: str
    category: str
    kind: TaskKind
    reward: float
    expected: float | None = None
    steps: tuple[Step, ...] = ()
    result: str | None = None
    rationale: str | None = None
    answer: str | None = None
    truth: str | None = None
    guideline: str | None = None


def material_of(case: LessonCase) -> SummariseMaterial:
    answer = case.raw.get("value")
    return SummariseMaterial(
        task=case.task,
        category=case.category,
        kind=kind_of(case.steps, case.result, case.metric),
        reward=case.reward,
        expected=case.expected,
        steps=case.steps,
        result=case.result,
        rationale=case.rationale,
        answer=None if answer is None else str(answer),
        truth=rendered_truth(case.raw),
        guideline=case.guideline,
    )


def _subject(case: LessonCase) -> LlmSubject:
    return LlmSubject(
        task_id=case.task_id, agent=case.agent, memory_ids=case.sources, key_id=case.key_id
    )


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
        if says_the_same(text, f"{near.situation}\n{near.lesson}", near.cosine):
            return near
    return None


def _to_memory(case: LessonCase, drafted: DraftedLesson) -> NewMemory:
    draft = ExperienceDraft(
        agent=case.agent,
        situation=drafted.situation,
        lesson=drafted.lesson.lesson,
        task_id=case.task_id,
        visibility=_visibility_of(case),
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


def _visibility_of(case: LessonCase) -> Visibility:
    """An agent may repeat what it was told for itself, in its words and in its run."""
    return Visibility.AGENT if case.private else Visibility.NAMESPACE


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
    schema = prompts.SUMMARISE_SCHEMA
    return LlmRole(
        "summarise",
        prompt_of(
            "summarise",
            lesson_prompt(material.kind),
            summarise_parts(material),
            schema,
            room=SMALL_ANSWER,
        ),
        _summary,
    )


def summarise_parts(material: SummariseMaterial) -> list[tuple[str, str]]:
    """What is told of an attempt, part by part."""
    expected = "" if material.expected is None else f"; {material.expected:.3f} was expected"
    return [
        ("Task", said(material.task)),
        ("Category", said(material.category)),
        ("Reward (0 to 1, larger is better)", f"{material.reward:.3f}{expected}"),
        ("The run", shown(rendered_run(material.steps)) if material.steps else ""),
        ("Its result", said(material.result)),
        ("Its answer", said(material.answer)),
        ("Its rationale", said(material.rationale)),
        ("What came true", said(material.truth)),
        ("The advice it had", said(material.guideline)),
    ]


def _summary(answer: str) -> Summary:
    read = read_object(answer, ("situation", "lesson"))
    return Summary(text_of(read, "situation", SITUATION), text_of(read, "lesson", LESSON))
