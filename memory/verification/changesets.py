"""Failures that are alike become one proposal: a changeset, which a language model writes from
several runs, and which is tried before it is applied, whole or not at all.

Plan: embed the tasks of failures, find clusters (no transaction is open). Work: queue them, in the
job's transaction. Follow up: claim one, ask the model (none is open), store what it proposes with
one ticket. Without a language model nothing is queued.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memory.belief.exposure import acts_wholly_from
from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Overloaded, Unavailable
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import Leadership, led_transaction
from memory.kernel.text import LESSON, SITUATION
from memory.llm import prompts
from memory.llm.client import (
    NEVER_ASKED,
    STOPS,
    UNRECORDED,
    LlmFailure,
    LlmResult,
    LlmSession,
    ask_or_explain,
)
from memory.llm.entities import LlmSubject
from memory.llm.replies import Malformed, list_of, object_of, read_object, text_of
from memory.llm.roles import LARGE_ANSWER, LlmRole, prompt_of, said
from memory.llm.run_material import RUN_CHARACTERS, rendered_run, rendered_truth
from memory.llm.store import LlmCallStore
from memory.memories.entities import ExperienceDraft, Status
from memory.memories.service import Entrance, enter, hide_private
from memory.memories.store.memories import MemoryStore, NewMemory
from memory.memories.store.status import StatusStore
from memory.tasks.entities import CategoryIds
from memory.tenancy.entities import Act, Call, Namespace
from memory.verification.acquisition import CLAIM
from memory.verification.changeset_entities import Changeset, ChangesetState
from memory.verification.clusters import FailureCluster, clusters
from memory.verification.proposing import FailedTask, TargetReward, propose_together
from memory.verification.store.candidates import CandidateStore, LessonCase
from memory.verification.store.changesets import (
    ChangesetStore,
    HeldChangeset,
    NewChangeset,
    PlannedChange,
    ServedNote,
)

REVISE = "revise"
"""The name of the job."""


WITHIN = timedelta(days=90)
"""Failures older than this are compared no more."""


LOOKED_AT = 200
"""So many failures are compared in one run, the newest."""


MOST_CHANGES, MOST_NOTES = 4, 12


WAITED_FOR = frozenset(
    {
        *STOPS,
        *(NEVER_ASKED, UNRECORDED, "llm_busy", "llm_loading", "llm_failed"),
        *("llm_slow", "llm_denied", "llm_missing"),
    }
)
"""What is no fault of the question: it is asked again."""


@dataclass(frozen=True, slots=True)
class Clustering:
    """Which failures were found to be alike; `examined`: among how many."""

    examined: int = 0
    clusters: tuple[FailureCluster, ...] = ()

    def result(self) -> dict[str, object]:
        changes = [
            {
                "change": "changeset",
                "outcome_ids": [str(failure.outcome_id) for failure in cluster.failures],
                "similarity": cluster.similarity,
            }
            for cluster in self.clusters
        ]
        return {"examined": self.examined, "changes": changes}


async def has_fresh_failures(connection: Connection, namespace: Namespace) -> bool:
    """Whether there is something to compare."""
    return await ChangesetStore(connection, namespace.id).has_fresh()


async def plan_changesets(
    engine: Engine, namespace: Namespace, times: tuple[datetime, datetime]
) -> Clustering:
    """Failures that are alike and in no changeset yet; none without a language model."""
    if engine.llm is None:
        return Clustering()
    async with engine.database.transaction(namespace.id) as connection:
        store = ChangesetStore(connection, namespace.id)
        failures = await store.failures(times[0] - WITHIN, LOOKED_AT)
    texts = sorted({one.task for one in failures})
    made = await engine.embedder.embed(texts) if texts else []
    vectors = {text: one.vector for text, one in zip(texts, made, strict=True)}
    bound = acts_wholly_from(engine.model.calibration["q99"])
    return Clustering(len(failures), tuple(clusters(failures, vectors, bound)))


async def queue_changesets(
    connection: Connection,
    namespace: Namespace,
    times: tuple[datetime, datetime],
    *,
    dry: bool,
    plan: Clustering,
) -> Clustering:
    """Queue a changeset for each cluster."""
    if dry:
        return plan
    store, queued = ChangesetStore(connection, namespace.id), list[FailureCluster]()
    for cluster in plan.clusters:
        ids = tuple(failure.outcome_id for failure in cluster.failures)
        family = cluster.failures[0].bucket[1]
        new = NewChangeset(new_id(), ids, family, cluster.similarity)
        if await store.add(new, times[1]):
            queued.append(cluster)
    await store.note_compared(times[1])
    return Clustering(plan.examined, tuple(queued))


async def write_changesets(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership | None
) -> None:
    """Have what is queued written, until nothing is left that can be done now."""
    if engine.llm is None:
        return
    require_model(engine, namespace)
    while True:
        async with led_transaction(engine.database, namespace.id, leadership) as connection:
            held = await ChangesetStore(connection, namespace.id).claim(now, now + CLAIM)
            material = None if held is None else await _load(connection, namespace, held)
        if held is None or material is None:
            return
        if not await _work(engine, namespace, held, material, leadership=leadership, now=now):
            return


@dataclass(frozen=True, slots=True)
class ReviseMaterial:
    """Failures alike, the one in their midst first, and the notes that their agents had."""

    cases: tuple[LessonCase, ...]
    notes: tuple[ServedNote, ...]


@dataclass(frozen=True, slots=True)
class DraftedChange:
    """A change as the model wrote it; `note`: the memory that is edited or retired."""

    change: str
    note: ServedNote | None = None
    situation: str = ""
    lesson: str = ""


async def _load(
    connection: Connection, namespace: Namespace, held: HeldChangeset
) -> ReviseMaterial:
    candidates = CandidateStore(connection, namespace.id)
    cases = [await candidates.case(outcome_id) for outcome_id in held.outcome_ids]
    store = ChangesetStore(connection, namespace.id)
    notes = await store.notes(held.outcome_ids, MOST_NOTES)
    return ReviseMaterial(tuple(case for case in cases if case is not None), tuple(notes))


async def _work(
    engine: Engine,
    namespace: Namespace,
    held: HeldChangeset,
    material: ReviseMaterial,
    *,
    leadership: Leadership | None,
    now: datetime,
) -> bool:
    """Have one written, and store it; False where that failed for a reason that may pass."""
    drafted = new = None
    try:
        if material.cases:
            drafted = await _draft(engine, namespace, material, now)
        if drafted is not None:
            new = await _to_memories(engine, material, drafted.value)
    except (Unavailable, Overloaded):
        async with engine.database.transaction(namespace.id) as connection:
            await ChangesetStore(connection, namespace.id).let_go(held.id, now + CLAIM)
        return False
    async with led_transaction(engine.database, namespace.id, leadership) as connection:
        store = ChangesetStore(connection, namespace.id)
        again = await store.hold(held.id)
        if (again.state, again.claim) != (ChangesetState.WAITING, held.claim):
            return True
        reason = "no_proposal"
        if drafted is not None and new is not None:
            reason = await _why_not(connection, namespace, material, new)
        if drafted is None or new is None or reason:
            end = {"state": ChangesetState.NOTHING.value, "reason": reason, "finished_at": now}
            await store.change(held.id, **end)
            return True
        await _propose(engine, connection, namespace, held, Draft(material, drafted, new), now=now)
    return True


@dataclass(frozen=True, slots=True)
class Draft:
    """What the model wrote, and the new memories of it: one for each change but a retirement."""

    material: ReviseMaterial
    reply: LlmResult[tuple[DraftedChange, ...]]
    new: Sequence[NewMemory]


async def _draft(
    engine: Engine, namespace: Namespace, material: ReviseMaterial, now: datetime
) -> LlmResult[tuple[DraftedChange, ...]] | None:
    """What the model proposes; None where it would propose nothing that can be used. Raises
    Unavailable while it is away, or may be asked nothing more today.
    """
    first = material.cases[0]
    subject = LlmSubject(
        task_id=first.task_id,
        agent=first.agent,
        memory_ids=tuple(note.id for note in material.notes),
        key_id=first.key_id,
    )
    session = LlmSession(engine, namespace.id, subject, now)
    seconds = engine.settings.llm.timeout.total_seconds()
    reply = await ask_or_explain(session, revise_role(material), seconds)
    if not isinstance(reply, LlmFailure):
        return reply
    if reply.reason in WAITED_FOR:
        raise Unavailable(f"the language model: {reply.reason}", code=reply.reason)
    return None


def revise_role(material: ReviseMaterial) -> LlmRole[tuple[DraftedChange, ...]]:
    """Several failures and the notes → changes of the notes."""
    labels = {f"m{place}": note for place, note in enumerate(material.notes, start=1)}
    budget = RUN_CHARACTERS // max(1, len(material.cases))
    parts = [
        (f"Attempt {place}", _rendered_case(case, budget))
        for place, case in enumerate(material.cases, start=1)
    ]
    notes = "\n".join(
        f"{label}: on {said(note.situation)} do {said(note.lesson)}"
        for label, note in labels.items()
    )
    parts.append(("Notes", notes or "none"))
    asked = prompts.REVISE.format(changes=MOST_CHANGES)
    return LlmRole(
        "revise",
        prompt_of("revise", asked, parts, prompts.REVISE_SCHEMA, room=LARGE_ANSWER),
        lambda answer: read_changes(answer, labels),
    )


def _rendered_case(case: LessonCase, budget: int) -> str:
    expected = "" if case.expected is None else f"; {case.expected:.3f} was expected"
    parts = [
        ("task", said(case.task)),
        ("reward", f"{case.reward:.3f}{expected}"),
        ("run", said(rendered_run(case.steps, budget)) if case.steps else ""),
        ("result", said(case.result)),
        ("rationale", said(case.rationale)),
        ("what came true", said(rendered_truth(case.raw))),
    ]
    return "\n".join(f"{name}: {text}" for name, text in parts if text)


def read_changes(answer: str, labels: Mapping[str, ServedNote]) -> tuple[DraftedChange, ...]:
    """The changes of an answer, each note in one at most. Raises Malformed."""
    parts = list_of(read_object(answer, ("changes",)), "changes", MOST_CHANGES)
    found = tuple(_read_change(object_of(part, "a change"), labels) for part in parts)
    named = [one.note.id for one in found if one.note is not None]
    if len(set(named)) < len(named):
        raise Malformed("a note is changed twice")
    if all(one.change == "retire" for one in found):
        raise Malformed("nothing is created or edited, so nothing can be tried", code="empty")
    return found


def _read_change(part: Mapping[str, object], labels: Mapping[str, ServedNote]) -> DraftedChange:
    kind = part.get("change")
    note = labels.get(str(part.get("note") or "").strip(" []"))
    if kind not in ("create", "edit", "retire"):
        raise Malformed("a change is neither create, edit nor retire")
    if (kind == "create") != (note is None):
        raise Malformed("a change names a note that it was not given", code="uncited")
    if kind == "retire":
        return DraftedChange(kind, note)
    texts = text_of(part, "situation", SITUATION), text_of(part, "lesson", LESSON)
    if note is not None and texts == (note.situation, note.lesson):
        raise Malformed("an edit changes nothing", code="empty")
    return DraftedChange(str(kind), note, *texts)


async def _to_memories(
    engine: Engine, material: ReviseMaterial, changes: Sequence[DraftedChange]
) -> list[NewMemory]:
    """What the set brings: candidates of the agent whose failure is in the midst."""
    worded = [one for one in changes if one.change != "retire"]
    texts = [text for one in worded for text in (one.situation, one.lesson)]
    made = iter(await engine.embedder.embed(texts))
    case = material.cases[0]
    return [
        _to_memory(case, one, {"situation": next(made), "lesson": next(made)}) for one in worded
    ]


def _to_memory(
    case: LessonCase, change: DraftedChange, vectors: Mapping[str, Embedding]
) -> NewMemory:
    draft = ExperienceDraft(
        agent=case.agent,
        situation=change.situation,
        lesson=change.lesson,
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
        vectors=vectors,
        status=Status.PROPOSED,
    )


async def _why_not(
    connection: Connection, namespace: Namespace, material: ReviseMaterial, new: Sequence[NewMemory]
) -> str | None:
    """Why nothing is proposed: words were erased while the model wrote, a note was changed, or a
    memory says the same already.
    """
    candidates = CandidateStore(connection, namespace.id)
    if [case for case in material.cases if await candidates.is_erased(case)]:
        return "erased"
    held = {
        one.id: one
        for one in await StatusStore(connection, namespace.id).hold(
            sorted(note.id for note in material.notes)
        )
    }
    if any(held[note.id].erased_at is not None for note in material.notes):
        return "erased"
    if any(held[note.id].version != note.version for note in material.notes):
        return "changed_since"
    same = len({one.twin_key for one in new}) < len(new)
    return "twin" if same or await MemoryStore(connection, namespace.id).twins(new) else None


async def _propose(
    engine: Engine,
    connection: Connection,
    namespace: Namespace,
    held: HeldChangeset,
    draft: Draft,
    *,
    now: datetime,
) -> None:
    """Its memories as candidates, and one ticket under which they are tried together."""
    model_id = await adopt_model(connection, engine, namespace)
    cases, new = draft.material.cases, draft.new
    entrance = Entrance(namespace, cases[0].key_id, now, model_id)
    await enter(connection, entrance, dict(enumerate(new)))
    failed = [
        FailedTask(one.task_id, TargetReward(one.reward, one.metric, one.reward_kind))
        for one in cases
    ]
    ticket_id = await propose_together(engine, connection, entrance, new, failed)
    brought = iter(new)
    changes = [
        _planned(one, None if one.change == "retire" else next(brought).id)
        for one in draft.reply.value
    ]
    await ChangesetStore(connection, namespace.id).change(
        held.id,
        state=ChangesetState.PROPOSED.value,
        reason=None,
        changes=[one.stored() for one in changes],
        ticket_id=ticket_id,
    )
    calls = LlmCallStore(connection, namespace.id)
    await calls.attach(draft.reply.llm_call_id, memory_id=new[0].id, ticket_id=ticket_id)


def _planned(one: DraftedChange, memory_id: UUID | None) -> PlannedChange:
    note = one.note
    kind = "edit" if one.change == "edit" else "create" if note is None else "retire"
    replaces = None if note is None else note.id
    return PlannedChange(kind, memory_id, replaces, None if note is None else note.version)


async def list_changesets(
    engine: Engine, call: Call, state: str | None, page: Page
) -> Listed[Changeset]:
    """Oldest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        found, total = await ChangesetStore(connection, call.namespace.id).browse(state, page)
        found = await hide_private(connection, call, found)
    return listed(found, page, total, lambda one: (str(one.id),))


async def get_changeset(engine: Engine, call: Call, changeset_id: UUID) -> Changeset:
    """What it would do, or did."""
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await ChangesetStore(connection, call.namespace.id).get(changeset_id)
        return await hide_private(connection, call, found)


async def retry_changeset(engine: Engine, call: Call, changeset_id: UUID) -> Changeset:
    """Queue a quarantined one again, or free one that waits from a claim: of who died over it, or
    while a model is away. Raises Conflict where it is neither.
    """
    call.key.require(Act.MANAGE)
    async with engine.database.effect(call.namespace.id) as connection:
        store = ChangesetStore(connection, call.namespace.id)
        held = await store.hold(changeset_id)
        if held.state is ChangesetState.WAITING and held.claimed_until is not None:
            # The claim counts on: who lives after all comes too late.
            await store.change(held.id, claimed_until=None)
            return await hide_private(connection, call, await store.get(changeset_id))
        if held.state is not ChangesetState.QUARANTINED:
            raise Conflict(
                f"the changeset is {held.state}",
                code="changeset_not_quarantined",
                field="changeset_id",
            )
        again = {"state": ChangesetState.WAITING.value, "claims": 0, "claimed_until": None}
        await store.change(held.id, finished_at=None, **again)
        return await hide_private(connection, call, await store.get(changeset_id))
