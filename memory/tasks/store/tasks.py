"""TaskStore: what agents attempt, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import Conflict, NotFound
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Statement, insert_rows
from memory.kernel.postgres.rows import RowMapper
from memory.tasks.entities import CategoryIds, Task, TaskDraft
from memory.tasks.tables import category, task

_sub = category.alias("sub")
_to_task = RowMapper(
    Task, [category.c.name.label("category"), _sub.c.name.label("subcategory"), task]
)
_TASKS = select(*_to_task.columns).select_from(
    task.join(
        category,
        (category.c.namespace_id == task.c.namespace_id) & (category.c.id == task.c.category_id),
    ).outerjoin(
        _sub, (_sub.c.namespace_id == task.c.namespace_id) & (_sub.c.id == task.c.subcategory_id)
    )
)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who wrote a row, when it could be known, and when it was recorded."""

    key_id: UUID
    known_at: datetime
    recorded_at: datetime


class TaskStore:
    """Tasks of one namespace; the same key is the same task."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def ensure(
        self, draft: TaskDraft, categories: CategoryIds, written: Provenance
    ) -> tuple[Task, bool]:
        """The task, and whether it is new. Raises Conflict where the key stands for another
        text or closing time.
        """
        new = new_task(draft, categories, written)
        row = task_row(self._namespace_id, new, draft, written)
        for _ in range(2):
            inserted = await self._connection.scalar(
                insert(task).values(**row).on_conflict_do_nothing().returning(task.c.id)
            )
            if inserted is not None:
                return new, True
            # Held until what names it is committed; an old one may just have been removed.
            known = await self._one(task.c.key == draft.key, hold=True)
            if known is not None:
                return await self.agree(known, draft), False
        raise _conflict(draft, "text")

    async def hold(self, task_id: UUID) -> None:
        """Until the transaction ends nobody removes it. Raises NotFound."""
        if await self._one(task.c.id == task_id, hold=True) is None:
            raise NotFound(f"no such task: {task_id}", code="task_not_found", field="task_id")

    async def agree(self, known: Task, draft: TaskDraft) -> Task:
        """The stored task, where the draft says the same; the first to say when it closes is
        taken at their word. Raises Conflict.
        """
        if known.text != draft.text:
            raise _conflict(draft, "text")
        if draft.closes_at is None or known.closes_at == draft.closes_at:
            return known
        rows = await self._connection.execute(
            update(task)
            .where(task.c.namespace_id == self._namespace_id, task.c.id == known.id)
            .values(closes_at=func.coalesce(task.c.closes_at, draft.closes_at))
            .returning(task.c.closes_at)
        )
        found = rows.first()
        if found is None:
            raise NotFound(f"no such task: {known.id}", code="task_not_found", field="task_id")
        if found.closes_at != draft.closes_at:
            raise _conflict(draft, "closing time")
        return replace(known, closes_at=found.closes_at)

    async def some(self, task_ids: Sequence[UUID], keys: Sequence[str]) -> list[Task]:
        """Tasks by id, and tasks by their callers' keys, as far as there are any."""
        rows = await self._connection.execute(
            _TASKS.where(
                task.c.namespace_id == self._namespace_id,
                task.c.id.in_(task_ids) | task.c.key.in_(keys),
            )
        )
        return [_to_task(row) for row in rows.mappings()]

    async def get(self, task_id: UUID) -> Task:
        found = await self._one(task.c.id == task_id)
        if found is None:
            raise NotFound(f"no such task: {task_id}", code="task_not_found", field="task_id")
        return found

    async def _one(self, condition: ColumnElement[bool], *, hold: bool = False) -> Task | None:
        """`hold`: until the transaction ends nobody removes it."""
        query = _TASKS.where(task.c.namespace_id == self._namespace_id, condition)
        if hold:
            query = query.with_for_update(read=True, key_share=True, of=task)
        row = await self._connection.execute(query)
        found = row.mappings().first()
        return None if found is None else _to_task(found)

    async def browse(self, key: str | None, page: Page) -> Listed[Task]:
        """Oldest first."""
        condition = task.c.namespace_id == self._namespace_id
        if key is not None:
            condition &= task.c.key == key
        rows = _TASKS.where(condition).order_by(task.c.id).limit(page.limit + 1)
        if page.after is not None:
            rows = rows.where(task.c.id > UUID(str(page.after[0])))
        found = [_to_task(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(task).where(condition)
        )
        return listed(found, page, total, lambda row: (str(row.id),))


def _conflict(draft: TaskDraft, what: str) -> Conflict:
    return Conflict(
        f"task key {draft.key} stands for another {what}", code="task_conflict", field="task.key"
    )


def task_row(
    namespace_id: UUID, new: Task, draft: TaskDraft, written: Provenance
) -> dict[str, object]:
    """As it is stored."""
    return {
        "id": new.id,
        "namespace_id": namespace_id,
        "key": new.key,
        "text": new.text,
        "sha256": draft.digest,
        "category_id": new.category_id,
        "subcategory_id": new.subcategory_id,
        "group_key": new.group_key,
        "metadata": dict(new.metadata),
        "known_at": new.known_at,
        "recorded_at": new.recorded_at,
        "key_id": written.key_id,
        "closes_at": new.closes_at,
    }


def write_tasks(rows: Sequence[Mapping[str, object]]) -> Statement:
    """Writes tasks as far as no key of theirs stands for one already."""
    return insert_rows(task, rows, unless_there=True)


def new_task(draft: TaskDraft, categories: CategoryIds, written: Provenance) -> Task:
    """A new task, as it will be stored."""
    assert draft.category is not None
    return Task(
        id=new_id(),
        key=draft.key,
        text=draft.text,
        category_id=categories.category,
        subcategory_id=categories.subcategory,
        category=draft.category,
        subcategory=draft.subcategory,
        group_key=draft.group_key,
        metadata=draft.metadata,
        closes_at=draft.closes_at,
        known_at=written.known_at,
        recorded_at=written.recorded_at,
    )
