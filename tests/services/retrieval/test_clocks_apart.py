"""Processes whose clocks lie apart: who asks for the present is told all that was acknowledged."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from memory.curation.entities import StatusChange
from memory.curation.service import change_status, edit_memory
from memory.kernel.engine import Engine
from memory.memories.entities import MemoryEdit
from memory.outcomes.applying import apply_now
from memory.retrieval.entities import Advice
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import Caller
from tests.storage.steps import remembered, reported, served

HOUR = timedelta(hours=1)
ASK: dict[str, object] = {"k": 5, "purpose": "preview", "arm": "on", "gates": "off"}


@pytest.mark.parametrize("copies", ["resident", "none"])
async def test_what_a_process_ahead_of_time_wrote_is_there_for_one_behind(
    engine: Engine, calls: Caller, wall: str, copies: str
):
    engine = engine if copies == "resident" else replace(engine, resident=None)
    behind = await calls(wall)
    ahead = replace(behind, now=behind.now + HOUR)
    [kept] = await remembered(engine, ahead, a_draft(lesson="start from the base rate"))
    [gone] = await remembered(engine, ahead, a_draft(lesson="ask for the pressure"))
    run = await served(engine, ahead, purpose="paired")
    await reported(engine, ahead, run, reward=1.0, without={"reward": 0.0})
    await apply_now(engine, ahead)
    behind, ahead = await calls(wall), replace(await calls(wall), now=ahead.now)
    await edit_memory(engine, ahead, kept.id, MemoryEdit(lesson="start elsewhere"), 1)
    await change_status(engine, ahead, gone.id, StatusChange("suspend"))

    answer = await served(engine, behind, **ASK)
    later = await served(engine, ahead, **ASK)

    assert _lessons(answer) == _lessons(later) == {kept.id: "start elsewhere"}
    assert answer.receipt.as_of == behind.now


def _lessons(answer: Advice) -> dict[UUID, str]:
    return {one.memory_id: one.lesson for one in answer.memories}
