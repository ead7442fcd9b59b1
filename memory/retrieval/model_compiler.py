"""The model's words in place of the deterministic guideline, where they come in time and hold.

Asked only when there is something to write from and someone to read it: an arm that serves, a
guideline with lines, a retrieval that leaves a receipt.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from memory.belief.policy import policy_named
from memory.guidelines.compiler import Budget
from memory.guidelines.model_role import MAX_LINES, CompileMaterial, compile_role
from memory.kernel.engine import Engine
from memory.llm.client import LlmSession, ask
from memory.llm.entities import LlmSubject
from memory.llm.roles import Note
from memory.memories.entities import Trust
from memory.receipts.entities import Item
from memory.receipts.guideline_entities import BY_MODEL, Guideline, add_past_error
from memory.retrieval.context import Context
from memory.retrieval.entities import Advice
from memory.retrieval.past_errors import room_of
from memory.tenancy.entities import Call

AT_ONCE = 8


LITERAL_LINES = 5
"""Live-Evo's guidelines have three to five bullets."""


async def rewrite_guidelines(
    engine: Engine, call: Call, contexts: Sequence[Context], advice: Sequence[Advice]
) -> list[Advice]:
    """Each advice as it was, or with the model's guideline; all share one deadline."""
    seconds = engine.settings.llm.compile.total_seconds()
    deadline = time.monotonic() + seconds
    places = asyncio.Semaphore(AT_ONCE)

    async def one(context: Context, plain: Advice) -> Advice:
        if not seconds or not _is_worth_rewriting(plain):
            return plain
        async with places:
            return await _rewrite(engine, call, context, plain, seconds=deadline - time.monotonic())

    pairs = zip(contexts, advice, strict=True)
    return list(await asyncio.gather(*(one(context, plain) for context, plain in pairs)))


def _is_worth_rewriting(plain: Advice) -> bool:
    receipt = plain.receipt
    return (
        receipt.format.is_prose
        and not receipt.is_preview
        and receipt.arm.is_served
        and bool(receipt.guideline.lines)
    )


async def _rewrite(
    engine: Engine, call: Call, context: Context, plain: Advice, *, seconds: float
) -> Advice:
    if engine.llm is None or seconds <= 0:
        return plain
    notes, error = _notes(plain), plain.receipt.past_error
    taken = room_of(engine, error) if error is not None and error.shown else 0
    role = compile_role(
        CompileMaterial(
            context.text,
            context.category.name,
            notes,
            _instruction(plain),
            LITERAL_LINES if policy_named(call.namespace.policy).literal else MAX_LINES,
        ),
        plain.receipt.guideline,
        Budget(context.request.max_tokens - taken, engine.counter),
    )
    subject = LlmSubject(
        retrieval_id=plain.receipt.retrieval_id,
        task_id=plain.receipt.task_id,
        agent=context.agent.name,
        memory_ids=(*(note.id for note in notes), *_instructing(plain)),
        key_id=call.key.id,
    )
    session = LlmSession(engine, call.namespace.id, subject, call.now)
    draft = await ask(session, role, seconds)
    if draft is None:
        return plain
    text = add_past_error(draft.value, error)
    text = replace(text, tokens=engine.counter.count(text.text or ""))
    if text.tokens > context.request.max_tokens:
        return plain
    return _reword(plain, text, draft.model)


def _notes(plain: Advice) -> tuple[Note, ...]:
    """The served memories by falling score; what is in quarantine is shown to no model."""
    strongest = sorted(plain.entries, key=lambda entry: (-entry.score, entry.id))
    return tuple(
        Note(
            id=entry.id,
            kind=entry.kind,
            situation=entry.situation,
            lesson=entry.lesson,
            weight=entry.effective_weight,
            trusted=entry.trust is Trust.TRUSTED,
        )
        for entry in strongest
        if entry.trust is not Trust.QUARANTINED
    )


def _instruction(plain: Advice) -> str | None:
    """What the model is told of how to use the notes: what the deterministic guideline says."""
    return plain.guidance.instruction if plain.guidance and _instructing(plain) else None


def _instructing(plain: Advice) -> tuple[UUID, ...]:
    """The meta-guideline whose instruction the model is told."""
    directing = () if plain.guidance is None else (plain.guidance.memory_id,)
    return tuple(one for one in directing if one in plain.receipt.guideline.cited)


def _reword(plain: Advice, guideline: Guideline, model: str) -> Advice:
    """Only what the model's lines cite may be credited, and the meta-guideline it wrote them by."""
    told = _instructing(plain)

    def is_cited(item: Item) -> bool:
        return item.memory_id in told or item.memory_id in guideline.cited

    items = tuple(replace(item, cited=is_cited(item)) for item in plain.receipt.items)
    memories = tuple(
        replace(memory, cited=memory.memory_id in guideline.cited) for memory in plain.memories
    )
    receipt = replace(
        plain.receipt, guideline=guideline, items=items, compiler=f"{BY_MODEL}{model}"
    )
    return replace(plain, receipt=receipt, memories=memories)
