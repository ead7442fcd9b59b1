"""Constraints bind a task by its category and by the tasks they were learned from."""

from dataclasses import replace

import pytest

from memory.domain.bank import Kind, Status, StatusChange, Trust
from memory.domain.loop import Format, Item, Served
from memory.domain.namespace import Clock
from memory.domain.task import AgentChange, AgentDraft, CategoryName, TaskDraft
from memory.engine import Engine
from memory.flows.actors import add_agent, change_agent
from memory.flows.bank import change_status
from memory.flows.decay import fade
from memory.flows.learn import apply_now
from memory.flows.merge import merge
from memory.flows.receipts import explain, get_receipt
from memory.flows.weights import weight_of
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON, OPEN, Caller, a_namespace
from tests.flows.constraint_builders import MATHS, Laid, copies, lay
from tests.storage.steps import remembered, reported, served

TICKET = "solve for the price of a ticket"
ASKED = TaskDraft(TICKET, category=MATHS)


def bound(answer: Served) -> list[Item]:
    return [item for item in answer.receipt.items if item.kind is Kind.CONSTRAINT]


async def test_a_bank_of_constraints_alone_answers(engine: Engine, calls: Caller, wall: str):
    [laid] = await lay(engine, await calls(wall), Laid("a price is asked for"))

    answer = await served(engine, await calls(wall), task=ASKED, agent="stranger")

    [item] = bound(answer)
    assert (answer.receipt.arm, answer.receipt.eligible) == ("on", True)
    assert (item.memory_id, item.rank, item.served, item.cited) == (laid, 1, True, True)
    assert (item.similarity, item.propensity, item.scores) == (pytest.approx(1, abs=1e-3), 1, None)
    said = "«When a price is asked for, enforce the check for a price is asked for; avoid guessing»"
    assert f"- constraint by «memlift-contrast» (2026-03-01, weight 1.00, unverified): {said}" in (
        answer.receipt.text or ""
    )
    assert answer.memories == ()
    assert [one.memory_id for one in answer.constraints] == [laid]
