"""One try of a question to the language model, as it is kept: its prompt and its answer, without
secrets, and what it cost.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from uuid import UUID

from memory.domain.redaction import redacted
from memory.domain.writing import Subject, Writing
from memory.engine import Engine
from memory.errors import MemoryFault
from memory.ports import Prompt, Reply, Writer

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
