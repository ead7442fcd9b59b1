"""A lesson that its trials turned down is written anew by a language model, once.

The model sees the run that it was drawn from, the lesson, and what the trials brought. What it
writes is the next version of the same candidate, under a new ticket: the earlier words and trials
stay with it. Claimed is the one try that there is; who dies over it has spent it.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.inference.service import require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Overloaded, Unavailable
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import Leadership, led_transaction
from memory.kernel.text import LESSON, SITUATION
from memory.llm import prompts
from memory.llm.client import LlmFailure, LlmResult, LlmSession, ask_or_explain
from memory.llm.entities import LlmSubject
from memory.llm.lesson_prompts import lesson_prompt
from memory.llm.replies import Malformed, read_object, text_of
from memory.llm.roles import SMALL_ANSWER, LlmRole, prompt_of, said
from memory.llm.store import LlmCallStore
from memory.memories.entities import Memory, Status, Viewer
from memory.memories.store.memories import NewVersion
from memory.memories.store.queries import MemoryReader
from memory.receipts.material import is_erased
from memory.tenancy.entities import Namespace
from memory.verification.acquisition import (
    Summary,
    has_run,
    material_of,
    summarise_parts,
    with_shared_words,
    work_off,
)
from memory.verification.changesets import WAITED_FOR
from memory.verification.entities import Ticket, TrialSlot
from memory.verification.refining import Rewording, reword
from memory.verification.store.candidates import CandidateStore, LessonCase
from memory.verification.store.tickets import TicketStore


@dataclass(frozen=True, slots=True)
class Repair:
    """A candidate that was turned down: its words, its trials, and the run it was drawn from."""

    memory: Memory
    ticket: Ticket
    case: LessonCase


async def draw_lessons(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership | None
) -> None:
    """What the job `acquire` leaves to be done: lessons of what is queued, then repairs."""
    await work_off(engine, namespace, now, leadership)
    await repair_rejected(engine, namespace, now, leadership)


async def repair_rejected(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership | None
) -> None:
    """Every lesson that trials turned down gets its one try, as long as the model answers."""
    if engine.llm is None:
        return
    require_model(engine, namespace)
    while True:
        async with led_transaction(engine.database, namespace.id, leadership) as connection:
            ticket_id = await TicketStore(connection, namespace.id).claim_repair(now)
            repair = None
            if ticket_id is not None:
                repair = await _load(connection, namespace, ticket_id)
        if ticket_id is None:
            return
        if repair is not None and not await _repair(engine, namespace, repair, leadership, now):
            return


async def _load(connection: Connection, namespace: Namespace, ticket_id: UUID) -> Repair | None:
    """None where nothing is known of the run."""
    store = CandidateStore(connection, namespace.id)
    tickets = TicketStore(connection, namespace.id)
    outcome_id = await store.of_ticket(ticket_id)
    case = None if outcome_id is None else await store.case(outcome_id)
    if case is None or not has_run(case):
        return None
    seen = Viewer((case.agent_id,))
    ticket = await tickets.get(ticket_id, seen.owners)
    memory = await MemoryReader(connection, namespace.id, seen).get(ticket.memory_id)
    return Repair(memory, ticket, await with_shared_words(connection, namespace, case))


async def _repair(
    engine: Engine,
    namespace: Namespace,
    repair: Repair,
    leadership: Leadership | None,
    now: datetime,
) -> bool:
    """Ask, and propose what comes; False where the model is away: then the try is not spent."""
    reply = None
    try:
        reply = await _ask(engine, namespace, repair, now)
        wording = None if reply is None else await _to_version(engine, repair, reply.value)
    except (Unavailable, Overloaded):
        async with engine.database.transaction(namespace.id) as connection:
            await TicketStore(connection, namespace.id).give_back_repair(repair.ticket.id)
        return False
    if reply is None or wording is None:
        return True
    by = Rewording(namespace, repair.case.key_id, now, "repaired")
    try:
        async with led_transaction(engine.database, namespace.id, leadership) as connection:
            if await _is_current(connection, namespace, repair):
                await reword(engine, connection, by, repair.memory, wording=wording)
                calls = LlmCallStore(connection, namespace.id)
                await calls.attach(reply.llm_call_id, memory_id=repair.memory.id)
    except MemoryFault as fault:
        # Another memory says the same, or it was changed meanwhile: the rejection stands.
        if fault.kind not in ("memory_exists", "stale_edit", "refinements_spent"):
            raise
    return True


async def _is_current(connection: Connection, namespace: Namespace, repair: Repair) -> bool:
    """Whether the candidate is as it was turned down, and nothing that the model read is erased."""
    if await CandidateStore(connection, namespace.id).is_erased(repair.case):
        return False
    if await is_erased(connection, namespace.id, (repair.memory.id, *repair.case.sources)):
        return False
    seen = Viewer((repair.case.agent_id,))
    current = await MemoryReader(connection, namespace.id, seen).get(repair.memory.id)
    return current.status is Status.REJECTED and current.version == repair.memory.version


async def _ask(
    engine: Engine, namespace: Namespace, repair: Repair, now: datetime
) -> LlmResult[Summary] | None:
    case = repair.case
    subject = LlmSubject(
        memory_id=repair.memory.id,
        ticket_id=repair.ticket.id,
        task_id=case.task_id,
        agent=case.agent,
        memory_ids=(*case.sources, repair.memory.id),
        key_id=case.key_id,
    )
    session = LlmSession(engine, namespace.id, subject, now)
    seconds = engine.settings.llm.timeout.total_seconds()
    reply = await ask_or_explain(session, repair_role(repair), seconds)
    if not isinstance(reply, LlmFailure):
        return reply
    if reply.reason in WAITED_FOR:
        raise Unavailable(f"the language model: {reply.reason}", code=reply.reason)
    return None


def repair_role(repair: Repair) -> LlmRole[Summary]:
    """A lesson that was turned down, why, and its run → another lesson."""
    material, memory = material_of(repair.case), repair.memory
    parts = [
        *summarise_parts(material),
        (
            "The lesson that was turned down",
            f"on {said(memory.situation)} do {said(memory.lesson)}",
        ),
        ("Why it was turned down", _told(repair.ticket)),
    ]
    asked = f"{prompts.REPAIR}\n{lesson_prompt(material.kind)}"
    schema = prompts.SUMMARISE_SCHEMA
    return LlmRole(
        "repair",
        prompt_of("repair", asked, parts, schema, room=SMALL_ANSWER),
        lambda answer: _read(answer, memory),
    )


def _told(ticket: Ticket) -> str:
    lines = [f"{ticket.reason}: rewards from 0 to 1, without the lesson and with it"]
    return "\n".join([*lines, *map(_told_of_trial, ticket.trials)])


def _told_of_trial(slot: TrialSlot) -> str:
    before = slot.reference if slot.reference is not None else slot.reward_without
    what = {"source": "the same task", "other": "another task", "anchor": "a task that went well"}
    numbers = ("?" if one is None else f"{one:.3f}" for one in (before, slot.reward))
    return f"{what[slot.purpose.value]}: {' and '.join(numbers)}"


def _read(answer: str, memory: Memory) -> Summary:
    read = read_object(answer, ("situation", "lesson"))
    made = Summary(text_of(read, "situation", SITUATION), text_of(read, "lesson", LESSON))
    if made.lesson == memory.lesson:
        raise Malformed("the lesson is the one that was turned down", code="empty")
    return made


async def _to_version(engine: Engine, repair: Repair, made: Summary) -> NewVersion:
    one, other = await engine.embedder.embed([made.situation, made.lesson])
    vectors = {"situation": one, "lesson": other}
    known_at, version = repair.ticket.known_at, repair.memory.version + 1
    return NewVersion(repair.memory.id, version, made.situation, made.lesson, known_at, vectors)
