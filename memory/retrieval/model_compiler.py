"""The model's words in place of the deterministic guideline, where they come in time and hold.

Asked only when there is something to write from and someone to read it: an arm that serves, a
guideline with lines, a retrieval that leaves a receipt.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from memory.guidelines.compiler import Budget
from memory.guidelines.model_role import CompileMaterial, compile_role
from memory.kernel.engine import Engine
from memory.llm.client import LlmSession, ask
from memory.llm.entities import LlmSubject
from memory.llm.roles import Note
from memory.memories.entities import Kind, Trust
from memory.receipts.entities import Format, Guideline, Item
from memory.retrieval.context import Context
from memory.retrieval.entities import Advice
from memory.tenancy.entities import Call

AT_ONCE = 8


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
        receipt.format is Format.GUIDELINE
        and not receipt.is_preview
        and receipt.arm.is_served
        and bool(receipt.guideline.lines)
    )


async def _rewrite(
    engine: Engine, call: Call, context: Context, plain: Advice, *, seconds: float
) -> Advice:
    if engine.llm is None or seconds <= 0:
        return plain
    notes = _notes(plain)
    role = compile_role(
        CompileMaterial(
            context.text,
            context.category.name,
            notes,
            None if plain.guidance is None else plain.guidance.instruction,
        ),
        plain.receipt.guideline,
        Budget(context.request.max_tokens, engine.counter),
    )
    subject = LlmSubject(
        retrieval_id=plain.receipt.retrieval_id,
        task_id=plain.receipt.task_id,
        agent=context.agent.name,
        memory_ids=tuple(note.id for note in notes),
        key_id=call.key.id,
    )
    session = LlmSession(engine, engine.llm, call.namespace.id, subject, call.now)
    draft = await ask(session, role, seconds)
    return plain if draft is None else _reword(plain, draft.value, engine.llm.name)


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


def _reword(plain: Advice, guideline: Guideline, model: str) -> Advice:
    """Only what the model's lines cite may be credited, and the meta-guideline it wrote them by."""
    guided = plain.guidance is not None

    def is_cited(item: Item) -> bool:
        if item.kind is Kind.META_GUIDELINE and guided:
            return True
        return item.memory_id in guideline.cited

    items = tuple(replace(item, cited=is_cited(item)) for item in plain.receipt.items)
    memories = tuple(
        replace(memory, cited=memory.memory_id in guideline.cited) for memory in plain.memories
    )
    receipt = replace(plain.receipt, guideline=guideline, items=items, compiler=f"model/{model}")
    return replace(plain, receipt=receipt, memories=memories)
