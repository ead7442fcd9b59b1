"""What went wrong when the same agent tried a task like this one, shown beside the notes (ReLoop2).

Load failures of the cell → embed their tasks → the nearest that is near, may be read and has words
→ its line. No transaction is open while vectors are made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import numpy as np

from memory.belief.exposure import acts_wholly_from
from memory.guidelines.wording import past_error as past_error_line
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection
from memory.llm.redaction import redacted
from memory.llm.run_material import truth_text
from memory.memories.service import load_mask, viewer
from memory.receipts.guideline_entities import Guideline, PastError, add_past_error
from memory.retrieval.context import Context
from memory.retrieval.store.past_errors import FailedRun, PastErrorStore
from memory.tenancy.entities import Call
from memory.verification.failure_notes import failure_note

LOOKED_AT = 32
"""So many of the last failures of a cell are looked through."""


SHARE = 3
"""An error may take one part in so many of the budget."""


Failures = dict[tuple[UUID, UUID, datetime], list[FailedRun]]


async def find_past_errors(
    engine: Engine, call: Call, contexts: Sequence[Context]
) -> list[Context]:
    """The contexts, each with the error that was asked for and found."""
    asking = [one for one in contexts if one.request.past_error]
    if not asking:
        return list(contexts)
    async with engine.database.transaction(call.namespace.id) as connection:
        failures = await _load(connection, call, asking)
    texts = {run.task for some in failures.values() for run in some}
    texts = sorted(texts | {context.text for context in asking})
    made = await engine.embedder.embed(texts)
    vectors = {text: one.vector for text, one in zip(texts, made, strict=True)}

    bound = acts_wholly_from(engine.model.calibration["q99"])

    def similarity(context: Context, run: FailedRun) -> float:
        return float(np.clip(vectors[context.text] @ vectors[run.task], 0.0, 1.0))

    def nearest(context: Context) -> PastError | None:
        ranked = sorted(
            ((similarity(context, run), run) for run in failures[_cell_of(context)]),
            key=lambda pair: -pair[0],
        )
        near = (pair for pair in ranked if pair[0] >= bound)
        return next((one for pair in near if (one := _past_error(engine, context, *pair))), None)

    return [
        replace(one, past_error=nearest(one)) if one.request.past_error else one for one in contexts
    ]


def _cell_of(context: Context) -> tuple[UUID, UUID, datetime]:
    return (*context.cell, context.as_of)


async def _load(connection: Connection, call: Call, contexts: Sequence[Context]) -> Failures:
    """By cell and time; without those that may repeat what the key may not read."""
    store = PastErrorStore(connection, call.namespace.id)
    found: Failures = {}
    for cell in dict.fromkeys(map(_cell_of, contexts)):
        found[cell] = await store.failures(*cell, LOOKED_AT)
    sources = [run.sources for some in found.values() for run in some]
    mask = await load_mask(connection, call.namespace.id, await viewer(connection, call), sources)
    return {
        cell: [run for run in some if not mask.hides(run.sources)] for cell, some in found.items()
    }


def _past_error(
    engine: Engine, context: Context, similarity: float, run: FailedRun
) -> PastError | None:
    """The error as it is told; None where nothing is known of it."""
    reported = (run.lesson or {}).get("lesson")
    words = redacted(reported) if reported else None
    words = words or failure_note(run.steps, run.result, truth_text(run.raw))
    if not words:
        return None
    text = past_error_line(redacted(run.task), words, run.known_at)
    error = PastError(
        retrieval_id=run.retrieval_id,
        outcome_id=run.outcome_id,
        task_id=run.task_id,
        similarity=similarity,
        reward=run.reward,
        said_by="reporter" if reported else "run",
        known_at=run.known_at,
        text=text,
        run_id=None if reported else run.run_id,
        sources=run.sources,
    )
    fits = SHARE * room_of(engine, error) <= context.request.max_tokens
    return replace(error, shown=fits and context.request.format.is_prose)


def with_past_error(
    engine: Engine, error: PastError | None, compiled: Callable[[int], Guideline], whole: int
) -> Guideline:
    """What `compiled` makes of the budget that the error leaves, with the error behind it; of the
    whole budget without it, where it would cost the strongest note its place.
    """
    if error is None or not error.shown:
        return compiled(whole)
    plain = compiled(whole)
    shorter = compiled(whole - room_of(engine, error))
    full = _counted(engine, add_past_error(shorter, error))
    fits = shorter.lines[:1] == plain.lines[:1] and full.tokens <= whole
    return full if fits else plain


def room_of(engine: Engine, error: PastError) -> int:
    """The tokens that an error takes."""
    return engine.counter.count(f"\n{error.text}")


def _counted(engine: Engine, guideline: Guideline) -> Guideline:
    return replace(guideline, tokens=engine.counter.count(guideline.text or ""))


def told_of(error: PastError | None, guideline: Guideline) -> PastError | None:
    """The error as the receipt has it: whether the guideline says it."""
    if error is None:
        return None
    return replace(error, shown=any(line.text == error.text for line in guideline.lines))


async def hold_past_errors(
    connection: Connection, namespace_id: UUID, contexts: Sequence[Context]
) -> Mapping[UUID, bool]:
    """By outcome, whether what its reporter said of it is still there; before memories are held."""
    errors = [one.past_error for one in contexts if one.past_error is not None]
    if not errors:
        return {}
    store = PastErrorStore(connection, namespace_id)
    kept = await store.hold_reports([one.outcome_id for one in errors])
    return {one.outcome_id: one.said_by == "run" or one.outcome_id in kept for one in errors}


async def gone_past_errors(
    connection: Connection,
    namespace_id: UUID,
    contexts: Sequence[Context],
    held: Mapping[UUID, bool],
) -> frozenset[UUID]:
    """The outcomes whose words were erased since they were read; the others keep theirs until the
    transaction ends.
    """
    errors = [one.past_error for one in contexts if one.past_error is not None]
    if not errors:
        return frozenset()
    kept = await PastErrorStore(connection, namespace_id).hold_runs(errors)
    return frozenset(
        one.outcome_id
        for one in errors
        if not held[one.outcome_id] or not kept.issuperset({one.task_id, one.run_id} - {None})
    )
