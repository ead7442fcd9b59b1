"""Questions to a language model, and what is on record of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from memory.kernel.engine import Engine, LlmCounters, LlmLimits
from memory.kernel.paging import Page
from memory.kernel.ports import LlmClient
from memory.llm.client import LlmResult, budget_of, list_llm_calls
from memory.llm.entities import LlmCall, LlmCallFilter, LlmSubject, TokenBudget
from memory.llm.roles import Note
from memory.meta_guidelines.reflection import ReflectMaterial, ReflectReply, reflect
from memory.tenancy.entities import Call
from memory.verification.acquisition import SummariseMaterial, Summary, summarise
from tests.fixtures.engine import NOON

PLENTY = 1_000_000


def with_llm(
    engine: Engine,
    llm: LlmClient | None,
    *,
    seconds: float = 20,
    compiling: float = 20,
    tokens: int = PLENTY,
) -> Engine:
    """The same engine with a language model, and nothing counted yet."""
    limits = LlmLimits(timedelta(seconds=seconds), timedelta(seconds=compiling), tokens)
    settings = replace(engine.settings, llm=limits)
    return replace(engine, llm=llm, settings=settings, llm_counters=LlmCounters())


async def a_summary(
    engine: Engine, call: Call, subject: LlmSubject | None = None, **changes: object
) -> LlmResult[Summary] | None:
    fields: dict[str, object] = {
        "task": "a forecast of rain",
        "category": "weather",
        "reward": 0.1,
        "run": "looked at one day only",
    }
    material = SummariseMaterial(**(fields | changes))  # pyright: ignore[reportArgumentType] - fields by name
    return await summarise(engine, call.namespace.id, material, subject or LlmSubject(), NOON)


async def a_reflection(engine: Engine, call: Call) -> LlmResult[ReflectReply] | None:
    note = Note(UUID(int=1), "experience", "rain", "look up the base rate", 1.0, trusted=True)
    material = ReflectMaterial("a forecast of rain", "weather", "advice", (note,), 0.2, 0.7)
    return await reflect(engine, call.namespace.id, material, LlmSubject(), NOON)


async def on_record(engine: Engine, call: Call, **wanted: object) -> Sequence[LlmCall]:
    which = LlmCallFilter(**wanted)  # pyright: ignore[reportArgumentType] - fields by name
    return (await list_llm_calls(engine, call, which, Page(200))).items


async def spent(engine: Engine, call: Call) -> TokenBudget:
    return await budget_of(engine, call)
