"""The model's words in place of the deterministic guideline, where they come in time and hold.

Asked only when there is something to write from and someone to read it: an arm that serves, a
guideline with lines, a retrieval that leaves a receipt.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from memory.guidelines.compiler import Budget, Guideline
from memory.guidelines.model_role import CompileMaterial, compile_role
from memory.kernel.engine import Engine
from memory.llm.client import Desk, written
from memory.llm.entities import Subject
from memory.llm.roles import Note
from memory.memories.entities import Trust
from memory.receipts.entities import Format
from memory.retrieval.context import Found
from memory.retrieval.serving import SERVING, Ranked, Serving
from memory.tenancy.entities import Call

AT_ONCE = 8


PREVIEW = "preview"


Part = tuple[Found, Ranked, Serving]


async def in_a_models_words(engine: Engine, call: Call, served: Sequence[Part]) -> list[Part]:
    """Each serving as it was, or with the model's guideline; all share one deadline."""
    seconds = engine.settings.writing.compile.total_seconds()
    deadline = time.monotonic() + seconds
    places = asyncio.Semaphore(AT_ONCE)

    async def one(part: Part) -> Part:
        if not seconds or not _worth_writing(part):
            return part
        async with places:
            return await _rewritten(engine, call, part, deadline - time.monotonic())

    return list(await asyncio.gather(*(one(part) for part in served)))


def _worth_writing(part: Part) -> bool:
    found, _, serving = part
    ask = found.asked.ask
    return (
        ask.format is Format.GUIDELINE
        and ask.purpose != PREVIEW
        and serving.assignment.arm in SERVING
        and bool(serving.guideline.lines)
    )


async def _rewritten(engine: Engine, call: Call, part: Part, seconds: float) -> Part:
    found, ranked, serving = part
    if engine.writer is None or seconds <= 0:
        return part
    notes = _notes(serving)
    role = compile_role(
        CompileMaterial(
            found.asked.text,
            found.category.name,
            notes,
            None if serving.guidance is None else serving.guidance.instruction,
        ),
        serving.guideline,
        Budget(found.asked.ask.max_tokens, engine.counter),
    )
    subject = Subject(
        retrieval_id=serving.receipt_id,
        task_id=found.asked.task.id if found.asked.task else None,
        agent=found.agent.name,
        memory_ids=tuple(note.id for note in notes),
        key_id=call.key.id,
    )
    desk = Desk(engine, engine.writer, call.namespace.id, subject, call.now)
    drafted = await written(desk, role, seconds)
    if drafted is None:
        return part
    return found, ranked, _reworded(serving, drafted.value, engine.writer.name)


def _notes(serving: Serving) -> tuple[Note, ...]:
    """The served memories by falling score; what is in quarantine is shown to no model."""
    strongest = sorted(serving.entries, key=lambda entry: (-entry.score, entry.id))
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


def _reworded(serving: Serving, guideline: Guideline, model: str) -> Serving:
    """Only what the model's lines cite may be credited, and the meta-guideline it wrote them by."""
    cited = {memory_id for line in guideline.lines for memory_id in line.memory_ids}
    if serving.guidance is not None:
        cited |= {item.memory_id for item in serving.items if item.kind == "meta_guideline"}
    items = tuple(replace(item, cited=item.memory_id in cited) for item in serving.items)
    return replace(serving, guideline=guideline, items=items, compiler=f"model/{model}")
