"""A question to the language model: reserve tokens → ask → settle and record, try by try."""

import asyncio
import time
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Generic, TypeVar
from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Overloaded
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.ports import Prompt, Reply, Writer
from memory.llm.entities import Subject, TokenBudget, Writing, WritingFilter
from memory.llm.prompts import AGAIN
from memory.llm.redaction import redacted
from memory.llm.replies import Malformed
from memory.llm.roles import Role
from memory.llm.store import WritingStore
from memory.tenancy.entities import Act, Call

STOPPED = "budget_exhausted"


# What a provider turned away or lost cost nothing; an answer that came too late may have.
UNSPENT = frozenset(
    {
        "writer_busy",
        "writer_loading",
        "writer_failed",
        "writer_refused",
        "writer_denied",
        "writer_missing",
    }
)


# No provider's count is believed beyond this.
MOST_TOKENS = 10_000_000


MAX_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a question is asked: the engine and its writer, the namespace, whose text it carries,
    and when.
    """

    engine: Engine
    writer: Writer
    namespace_id: UUID
    subject: Subject
    now: datetime

    @property
    def day(self) -> date:
        return self.now.astimezone(UTC).date()


@dataclass(frozen=True, slots=True)
class Try:
    """One try: its reply, or what went wrong."""

    id: UUID
    prompt: Prompt
    attempt: int
    reply: Reply
    duration_ms: float
    fault: MemoryFault | None


def spent(one: Try, reserved: int) -> int:
    """As the provider counts; where it does not say, all that was set aside, unless the provider
    turned the question away.
    """
    if one.reply.tokens:
        return min(one.reply.tokens, MOST_TOKENS)
    return 0 if one.fault is not None and one.fault.kind in UNSPENT else reserved


def writing_of(desk: Desk, one: Try, tokens: int) -> Writing:
    parts = (one.prompt.system, one.prompt.material)
    status = "done" if one.fault is None else "failed"
    subject = desk.subject
    return Writing(
        id=one.id,
        role=one.prompt.role,
        model=desk.writer.name,
        attempt=one.attempt,
        prompt="\n\n".join(part for part in parts if part),
        answer=_storable(one.reply.text),
        tokens=tokens,
        duration_ms=one.duration_ms,
        status="stopped" if one.fault is not None and one.fault.kind == STOPPED else status,
        fault=None if one.fault is None else one.fault.kind,
        detail=None if one.fault is None else _storable(one.fault.detail),
        retrieval_id=subject.retrieval_id,
        memory_id=subject.memory_id,
        ticket_id=subject.ticket_id,
        task_id=subject.task_id,
        agent=subject.agent,
        memory_ids=subject.memory_ids,
        recorded_at=desk.now,
        erased_at=None,
        key_id=subject.key_id,
    )


def _storable(said: str) -> str:
    """What a model said, as far as a database takes it, without secrets."""
    bare = said[:MAX_KEPT].replace("\x00", "")
    return redacted(bare.encode("utf-8", "replace").decode())


Result = TypeVar("Result")


TRIES = 3


PAUSE = 0.25
"""Before a try after a fault that named no time of its own, doubled each time; seconds."""


PASSING = frozenset(
    {
        "writer_busy",
        "writer_loading",
        "writer_failed",
        "malformed",
        "truncated",
        "echoed",
        "empty",
        "uncited",
    }
)
"""Faults after which the same question may well be answered."""


UNRECORDED = "unrecorded"


# Many bytes a token where text is English, fewer elsewhere: three reserves enough for most.
BYTES_A_TOKEN = 3


# What a provider's form of a chat adds around the words.
OVERHEAD = 64


@dataclass(frozen=True, slots=True)
class Drafted(Generic[Result]):
    """A checked result, the writing that it came of, and the tokens of all its tries."""

    value: Result
    writing_id: UUID
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Undone:
    """Why there is no result, `budget_exhausted` or the last try's fault; and what it cost."""

    reason: str
    tokens: int = 0


async def ask_at_leisure(
    engine: Engine, namespace_id: UUID, role: Role[Result], what: tuple[Subject, datetime]
) -> Drafted[Result] | None:
    """What nobody waits for: the whole time-out is there."""
    if engine.writer is None:
        return None
    desk = Desk(engine, engine.writer, namespace_id, *what)
    return await written(desk, role, engine.settings.writing.timeout.total_seconds())


async def written(desk: Desk, role: Role[Result], seconds: float) -> Drafted[Result] | None:
    """The role's result within `seconds`, or None; raises nothing that the memory can raise."""
    made = await attempted(desk, role, seconds)
    return made if isinstance(made, Drafted) else None


async def attempted(desk: Desk, role: Role[Result], seconds: float) -> Drafted[Result] | Undone:
    """As `written`, and why not."""
    try:
        return await _tried(desk, role, time.monotonic() + seconds)
    except MemoryFault:
        # The database would not take the record: what is not on record is not used.
        desk.engine.tally.results[role.name, UNRECORDED] += 1
        return Undone(UNRECORDED)


async def _tried(desk: Desk, role: Role[Result], deadline: float) -> Drafted[Result] | Undone:
    prompt = replace(role.prompt, material=redacted(role.prompt.material))
    tokens, attempt = 0, 1
    while True:
        reserved = _reservation(prompt)
        if not await _reserved(desk, (prompt, attempt), reserved):
            return Undone(STOPPED, tokens)
        one = await _asked(desk, (prompt, attempt), deadline)
        value, one = _checked(role, one)
        tokens += await _recorded(desk, one, reserved)
        if one.fault is None:
            assert value is not None
            return Drafted(value, one.id, tokens)
        if not await _worth_another(one, deadline):
            return Undone(one.fault.kind, tokens)
        prompt, attempt = _next(role, one.fault), attempt + 1


async def _asked(desk: Desk, what: tuple[Prompt, int], deadline: float) -> Try:
    """The reply of one try, or the fault; no transaction is open here."""
    prompt, attempt = what
    began = time.monotonic()
    reply, fault = Reply("", 0), None
    try:
        reply = await desk.writer.write(prompt, max(0.0, deadline - began))
    except MemoryFault as raised:
        fault = raised
    duration = round((time.monotonic() - began) * 1000, 3)
    return Try(new_id(), prompt, attempt, reply, duration, fault)


def _checked(role: Role[Result], one: Try) -> tuple[Result | None, Try]:
    """The result that the reply holds, or the try with what is wrong with it."""
    if one.fault is not None:
        return None, one
    if one.reply.finish == "refused":
        refusal = MemoryFault("the model would not answer", code="writer_refused")
        return None, replace(one, fault=refusal)
    try:
        return role.read(one.reply.text), one
    except Malformed as fault:
        cut = one.reply.finish == "length" and fault.kind == "malformed"
        broken = Malformed(fault.detail, code="truncated") if cut else fault
        return None, replace(one, fault=broken)


async def _worth_another(one: Try, deadline: float) -> bool:
    """Waits as long as the provider asks, where another try may help and the time allows it."""
    assert one.fault is not None
    if one.fault.kind not in PASSING or one.attempt == TRIES:
        return False
    named = one.fault.retry_after
    pause = 0.0 if isinstance(one.fault, Malformed) else PAUSE * 2 ** (one.attempt - 1)
    wait = named if named is not None else pause
    if time.monotonic() + wait >= deadline:
        return False
    await asyncio.sleep(wait)
    return True


def _next(role: Role[Result], fault: MemoryFault) -> Prompt:
    """The same question; after a bad answer it says what was wrong, and leaves more room."""
    prompt = replace(role.prompt, material=redacted(role.prompt.material))
    if not isinstance(fault, Malformed):
        return prompt
    room = prompt.max_tokens * (2 if fault.kind == "truncated" else 1)
    return replace(prompt, system=prompt.system + AGAIN.format(fault=fault.kind), max_tokens=room)


def _reservation(prompt: Prompt) -> int:
    size = len(prompt.system.encode()) + len(prompt.material.encode())
    return size // BYTES_A_TOKEN + OVERHEAD + prompt.max_tokens


async def _reserved(desk: Desk, what: tuple[Prompt, int], tokens: int) -> bool:
    """Whether the day has these tokens left; where not, the stop is on record."""
    limit = desk.engine.settings.writing.daily_tokens
    prompt, attempt = what
    async with desk.engine.database.transaction(desk.namespace_id) as connection:
        store = WritingStore(connection, desk.namespace_id)
        if await store.reserve(desk.day, tokens, limit):
            return True
        stop = Overloaded(f"{tokens} tokens are more than the day has left", code=STOPPED)
        unsent = replace(prompt, system="", material="")
        one = Try(new_id(), unsent, attempt, Reply("", 0), 0.0, stop)
        await store.add(writing_of(desk, one, 0), desk.now)
    desk.engine.tally.results[prompt.role, STOPPED] += 1
    return False


async def _recorded(desk: Desk, one: Try, reserved: int) -> int:
    """The try is kept and its tokens are counted, in one step; returns them."""
    tokens = spent(one, reserved)
    async with desk.engine.database.transaction(desk.namespace_id) as connection:
        store = WritingStore(connection, desk.namespace_id)
        await store.add(writing_of(desk, one, tokens), desk.now)
        # Last, for every try of the namespace takes this row.
        await store.settle(desk.day, reserved, tokens)
    tally = desk.engine.tally
    tally.results[one.prompt.role, one.fault.kind if one.fault else "done"] += 1
    tally.tokens[one.prompt.role] += tokens
    return tokens


async def list_writings(
    engine: Engine, call: Call, wanted: WritingFilter, page: Page
) -> Listed[Writing]:
    """Oldest first. What carries one agent's private text is shown without words to other keys."""
    call.key.require(Act.INSPECT)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = WritingStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page)
    shown = [_for(call, one) for one in found]
    return listed(shown, page, total, lambda one: (str(one.id),))


def _for(call: Call, one: Writing) -> Writing:
    if not one.private or (one.agent is not None and call.key.sees_private(one.agent)):
        return one
    return replace(one, prompt="", answer="", detail=None)


async def budget_of(engine: Engine, call: Call) -> TokenBudget:
    """The tokens of the day that it is now."""
    call.key.require(Act.INSPECT)
    day = call.now.astimezone(UTC).date()
    async with engine.database.transaction(call.namespace.id) as connection:
        used = await WritingStore(connection, call.namespace.id).used(day)
    return TokenBudget(day, engine.settings.writing.daily_tokens, *used)
