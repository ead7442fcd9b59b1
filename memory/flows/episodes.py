"""One memory's life: where it was served, what came of it, and how far agents differ over it."""

from uuid import UUID

from memory.domain.access import Call
from memory.domain.browsing import AgentRecord, Episode
from memory.domain.task import Listed, Page
from memory.engine import Engine
from memory.flows.actors import viewer
from memory.flows.sheets import read
from memory.flows.weights import present
from memory.learning.policy import policy_named
from memory.storage.episodes import EpisodeStore
from memory.storage.paging import listed
from memory.storage.reading import MemoryReader
from memory.storage.states import StateStore


async def list_episodes(engine: Engine, call: Call, memory_id: UUID, page: Page) -> Listed[Episode]:
    """The receipts in which it was served, the newest first."""
    async with engine.database.transaction(call.namespace.id) as connection:
        shown = await viewer(connection, call)
        await MemoryReader(connection, call.namespace.id, shown).get(memory_id)
        found, total = await EpisodeStore(connection, call.namespace.id).of_memory(memory_id, page)
    return listed(found, page, total, lambda episode: (str(episode.retrieval_id),))


async def records_of(engine: Engine, call: Call, memory_id: UUID) -> list[AgentRecord]:
    """What came of it for each agent in each category, and each agent's deviation, aged to now."""
    async with engine.database.transaction(call.namespace.id) as connection:
        shown = await viewer(connection, call)
        await MemoryReader(connection, call.namespace.id, shown).get(memory_id)
        cells = await EpisodeStore(connection, call.namespace.id).by_cell(memory_id)
        sheet = read(await StateStore(connection, call.namespace.id).load([memory_id]))
    policy, now = policy_named(call.namespace.policy), present(call)
    memory = policy.age_memory(sheet.memories[memory_id], now)
    records: list[AgentRecord] = []
    for cell in cells:
        known = sheet.deviations.get((memory_id, cell.agent_id))
        deviation = None if known is None else policy.age_deviation(known, now)
        records.append(
            AgentRecord(
                agent=cell.agent,
                category=cell.category,
                served=cell.served,
                n=cell.n,
                reward=cell.reward,
                n_pairs=cell.n_pairs,
                reward_without=cell.reward_without,
                deviation=None if deviation is None else deviation.values[0],
                effective_weight=policy.effective_weight(memory, deviation),
            )
        )
    return records
