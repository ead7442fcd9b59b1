"""ActorStore: agents, categories and tasks, seen through one namespace."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import Conflict, NotFound, Rejected, StaleEdit
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.rows import RowMapper
from memory.kernel.text import cleaned_name
from memory.tasks.entities import (
    GENERAL_KEPT,
    GENERAL_NAME,
    Agent,
    AgentDraft,
    Category,
    CategoryIds,
    CategoryName,
    Measure,
    claims_general,
)
from memory.tasks.tables import agent, category

_to_agent = RowMapper(Agent, [agent])
_parent = category.alias("parent")
_to_category = RowMapper(Category, [_parent.c.name.label("parent"), category])


class ActorStore:
    """Who acts in this namespace, and the kinds of task it knows."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def add_agent(self, draft: AgentDraft, key_id: UUID, now: datetime) -> Agent:
        """Raises Conflict where an agent of that name exists."""
        found = await self._insert_agent(draft, key_id, now)
        if found is None:
            raise Conflict(
                f"an agent called {draft.name} exists", code="agent_exists", field="name"
            )
        return found

    async def ensure_agent(self, name: str, key_id: UUID | None, now: datetime) -> Agent:
        """The agent of that name, made at first use."""
        known = await self.find_agent(name)
        if known is None:
            known = await self._insert_agent(AgentDraft(name), key_id, now)
        return known if known is not None else await self.get_agent(name)

    async def _insert_agent(
        self, draft: AgentDraft, key_id: UUID | None, now: datetime
    ) -> Agent | None:
        inserted = await self._connection.execute(
            insert(agent)
            .values(
                id=new_id(),
                namespace_id=self._namespace_id,
                name=draft.name,
                model=draft.model,
                family=draft.family,
                size_class=draft.size_class,
                own_information=draft.own_information,
                created_at=now,
                key_id=key_id,
            )
            .on_conflict_do_nothing(index_elements=["namespace_id", "name"])
            .returning(agent)
        )
        row = inserted.mappings().first()
        return None if row is None else _to_agent(row)

    async def find_agent(self, name: str) -> Agent | None:
        row = await self._connection.execute(
            select(*_to_agent.columns).where(
                agent.c.namespace_id == self._namespace_id, agent.c.name == name
            )
        )
        found = row.mappings().first()
        return None if found is None else _to_agent(found)

    async def get_agent(self, name: str) -> Agent:
        found = await self.find_agent(name)
        if found is None:
            raise NotFound(f"no agent called {name}", code="agent_not_found", field="agent")
        return found

    async def change_agent(self, name: str, values: Mapping[str, object], version: int) -> Agent:
        await self.get_agent(name)
        changed = await self._connection.execute(
            update(agent)
            .where(
                agent.c.namespace_id == self._namespace_id,
                agent.c.name == name,
                agent.c.version == version,
            )
            .values(version=agent.c.version + 1, **values)
            .returning(agent)
        )
        row = changed.mappings().first()
        if row is None:
            raise StaleEdit("the agent was changed since", field="If-Match")
        return _to_agent(row)

    async def every_agent(self) -> list[Agent]:
        """All agents, by name."""
        rows = await self._connection.execute(
            select(*_to_agent.columns)
            .where(agent.c.namespace_id == self._namespace_id)
            .order_by(agent.c.name)
        )
        return [_to_agent(row) for row in rows.mappings()]

    async def list_agents(self, page: Page) -> Listed[Agent]:
        here = agent.c.namespace_id == self._namespace_id
        rows = select(*_to_agent.columns).where(here).order_by(agent.c.name).limit(page.limit + 1)
        if page.after is not None:
            rows = rows.where(agent.c.name > page.after[0])
        found = [_to_agent(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(select(func.count()).select_from(agent).where(here))
        return listed(found, page, total, lambda row: (row.name,))

    async def ensure_category(
        self, name: CategoryName, key_id: UUID | None, now: datetime
    ) -> CategoryIds:
        """Ids of both levels, made where they are missing."""
        first = await self._ensure_level(name.name, None, key_id, now)
        if name.subcategory is None:
            return CategoryIds(first)
        return CategoryIds(first, await self._ensure_level(name.subcategory, first, key_id, now))

    async def find_category(self, name: str, parent_id: UUID | None = None) -> UUID | None:
        return await self._connection.scalar(
            select(category.c.id).where(
                category.c.namespace_id == self._namespace_id,
                category.c.name == name,
                category.c.parent_id.is_not_distinct_from(parent_id),
            )
        )

    async def require_category(self, name: CategoryName) -> None:
        """Raises Rejected where either level is unknown."""
        first = await self.find_category(name.name)
        if first is None:
            raise Rejected(f"no category {name.name}", code="category_unknown", field="category")
        if name.subcategory and await self.find_category(name.subcategory, first) is None:
            raise Rejected(
                f"no subcategory {name.subcategory}", code="category_unknown", field="subcategory"
            )

    async def _ensure_level(
        self, name: str, parent_id: UUID | None, key_id: UUID | None, now: datetime
    ) -> UUID:
        known = await self.find_category(name, parent_id)
        if known is not None:
            return known
        field = "category" if parent_id is None else "subcategory"
        cleaned_name(name, field)
        if parent_id is None and name != GENERAL_NAME and claims_general(name):
            raise Rejected(GENERAL_KEPT, field=field)
        await self._connection.execute(
            insert(category)
            .values(
                id=new_id(),
                namespace_id=self._namespace_id,
                parent_id=parent_id,
                name=name,
                created_at=now,
                key_id=key_id,
            )
            .on_conflict_do_nothing()
        )
        made = await self.find_category(name, parent_id)
        assert made is not None
        return made

    async def get_category(self, category_id: UUID) -> Category:
        rows = await self._connection.execute(
            self._categories().where(category.c.id == category_id)
        )
        found = rows.mappings().first()
        if found is None:
            raise NotFound(
                f"no such category: {category_id}", code="category_not_found", field="category"
            )
        return _to_category(found)

    def _categories(self) -> Select[tuple[object, ...]]:
        return (
            select(*_to_category.columns)
            .select_from(category.outerjoin(_parent, _parent.c.id == category.c.parent_id))
            .where(category.c.namespace_id == self._namespace_id)
        )

    async def list_categories(self, page: Page) -> Listed[Category]:
        rows = self._categories().order_by(category.c.id).limit(page.limit + 1)
        if page.after is not None:
            rows = rows.where(category.c.id > UUID(str(page.after[0])))
        found = [_to_category(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count())
            .select_from(category)
            .where(category.c.namespace_id == self._namespace_id)
        )
        return listed(found, page, total, lambda row: (str(row.id),))

    async def names(self) -> dict[UUID, str]:
        """Names of all categories by id, both levels."""
        rows = await self._connection.execute(
            select(category.c.id, category.c.name).where(
                category.c.namespace_id == self._namespace_id
            )
        )
        return {row.id: row.name for row in rows}

    async def fix_metric(self, category_id: UUID, measure: Measure) -> None:
        """A category that is free takes the metric and the reward kind of an outcome."""
        await self._connection.execute(
            update(category)
            .where(
                category.c.namespace_id == self._namespace_id,
                category.c.id == category_id,
                category.c.metric.is_(None),
            )
            .values(metric=measure.metric, reward_kind=measure.reward_kind, fixed_by="outcomes")
        )

    async def rename_category(self, category_id: UUID, name: str) -> None:
        """Its id, and so all that is kept in it, stays."""
        await self._connection.execute(
            update(category)
            .where(category.c.namespace_id == self._namespace_id, category.c.id == category_id)
            .values(name=name)
        )

    async def set_measure(self, category_id: UUID, measure: Measure) -> None:
        """What an admin says, whatever was fixed before."""
        await self._connection.execute(
            update(category)
            .where(category.c.namespace_id == self._namespace_id, category.c.id == category_id)
            .values(
                metric=measure.metric,
                reward_kind=measure.reward_kind,
                fixed_by=None if measure.is_free else "admin",
            )
        )
