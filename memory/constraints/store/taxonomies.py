"""TaxonomyStore: the versions of a namespace's taxonomy, none of which ever changes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast
from uuid import UUID

from sqlalchemy import RowMapping, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.tables import taxonomy
from memory.constraints.taxonomy_entities import Branch, TaxonomyDraft, TaxonomyVersion
from memory.kernel.errors import StaleEdit


class TaxonomyStore:
    """Taxonomies of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def current(self) -> TaxonomyVersion | None:
        """The newest that was brought; None where none was."""
        rows = await self._connection.execute(
            select(taxonomy)
            .where(taxonomy.c.namespace_id == self._namespace_id)
            .order_by(taxonomy.c.version.desc())
            .limit(1)
        )
        found = rows.mappings().first()
        return None if found is None else _to_version(found)

    async def versions(self) -> list[TaxonomyVersion]:
        """Oldest first."""
        rows = await self._connection.execute(
            select(taxonomy)
            .where(taxonomy.c.namespace_id == self._namespace_id)
            .order_by(taxonomy.c.version)
        )
        return [_to_version(row) for row in rows.mappings()]

    async def add(
        self, draft: TaxonomyDraft, version: int, key_id: UUID | None, now: datetime
    ) -> TaxonomyVersion:
        """Raises StaleEdit where another writer brought that version."""
        made = await self._connection.scalar(
            insert(taxonomy)
            .values(
                namespace_id=self._namespace_id,
                version=version,
                categories=[branch.stored() for branch in draft.categories],
                allow_new=draft.allow_new,
                recorded_at=now,
                key_id=key_id,
            )
            .on_conflict_do_nothing()
            .returning(taxonomy.c.version)
        )
        if made is None:
            raise StaleEdit("another taxonomy was brought meanwhile", field="If-Match")
        return TaxonomyVersion(version, draft.categories, draft.allow_new, now)


def _to_version(row: RowMapping) -> TaxonomyVersion:
    stored = cast("Sequence[Mapping[str, object]]", row["categories"])
    branches = tuple(Branch.read(one) for one in stored)
    return TaxonomyVersion(row["version"], branches, row["allow_new"], row["recorded_at"])
