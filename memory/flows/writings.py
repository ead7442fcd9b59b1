"""What the language model was asked and said is listed, and its budget read."""

from dataclasses import replace
from datetime import UTC

from memory.domain.access import Act, Call
from memory.domain.task import Listed, Page
from memory.domain.writing import TokenBudget, Writing, WritingFilter
from memory.engine import Engine
from memory.storage.paging import listed
from memory.storage.writings import WritingStore


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
