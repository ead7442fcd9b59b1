"""How good an agent is at a category, from its verified runs: a mean that few runs cannot move far
from the category's own.
"""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from memory.constraints.store.competence import CompetenceStore
from memory.constraints.trajectory_entities import AgentCategory, Competence, VerifiedRuns
from memory.kernel.engine import Engine
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection
from memory.memories.browse_entities import require_past
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Call, Namespace

KAPPA = 5.0
"""So many runs at the category's mean stand before an agent's own."""


UNKNOWN = 0.5
"""The mean of a category in which nobody has run."""


async def list_competences(
    engine: Engine, call: Call, as_of: datetime | None, page: Page
) -> Listed[Competence]:
    """Of every agent in every category it has verified runs in, by name; those known by `as_of`."""
    if as_of is not None:
        require_past(as_of, call.namespace, call.now)
    async with engine.database.transaction(call.namespace.id) as connection:
        rows = await load_competences(connection, call.namespace, as_of)
    after = () if page.after is None else page.after
    found = [row for row in rows if (row.agent, row.category) > after]
    return listed(found[: page.limit + 1], page, len(rows), lambda row: (row.agent, row.category))


async def load_competences(
    connection: Connection, namespace: Namespace, as_of: datetime | None = None
) -> list[Competence]:
    """All of them, by agent and category."""
    counts = await CompetenceStore(connection, namespace.id).all(as_of)
    store = ActorStore(connection, namespace.id)
    agents = {agent.id: agent.name for agent in await store.every_agent()}
    categories = await store.names()
    values = shrink_means(counts)
    rows = (
        Competence(
            agents[cell.agent_id],
            categories[cell.category_id],
            runs.n,
            runs.total / runs.n,
            values[cell],
        )
        for cell, runs in counts.items()
        if runs.n
    )
    return sorted(rows, key=lambda row: (row.agent, row.category))


def shrink_means(counts: Mapping[AgentCategory, VerifiedRuns]) -> dict[AgentCategory, float]:
    """(total + κ m) / (n + κ) with κ = 5, m the mean reward of the category's runs by all agents.

    Who is not in `counts` has the category's mean, see `category_means`.
    """
    means = category_means(counts)
    return {
        AgentCategory(agent, category): (total + KAPPA * means[category]) / (n + KAPPA)
        for (agent, category), (n, total) in counts.items()
    }


def category_means(counts: Mapping[AgentCategory, VerifiedRuns]) -> dict[UUID, float]:
    """The mean reward of each category, whoever ran; .5 where nobody did."""
    sums: dict[UUID, VerifiedRuns] = {}
    for cell in sorted(counts):
        n, total = counts[cell]
        runs, rewards = sums.get(cell[1], (0, 0.0))
        sums[cell[1]] = VerifiedRuns(runs + n, rewards + total)
    return {
        category: rewards / runs if runs else UNKNOWN for category, (runs, rewards) in sums.items()
    }
