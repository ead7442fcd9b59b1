"""The vectors of a file that has none: its texts are embedded by this server's model, into members
that take the place of those in the file.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from memory.constraints.taxonomy import DescriptionVectors, embed_descriptions
from memory.constraints.taxonomy_entities import Branch, TaxonomyDraft
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.transfer.archive import Archive, NumberedLine, Spool, fault_at, open_archive
from memory.transfer.entities import MemberFacts
from memory.transfer.rules import present
from memory.transfer.shapes import Row, check_row, read_line
from memory.transfer.store.catalogue import VECTORS, transfer_tables

_TEXTS_AT_ONCE = 64
_TAXONOMY = "taxonomy"


@dataclass(slots=True)
class EmbeddedAgain:
    """What the model made of the texts; to be closed."""

    engine: Engine
    spools: Mapping[str, Spool]
    descriptions: DescriptionVectors = field(default_factory=dict)

    @classmethod
    def of(cls, engine: Engine | None, folder: Path) -> "EmbeddedAgain":
        """Raises Rejected where there is no model to embed with."""
        if engine is None:
            raise Rejected("the file has no vectors, and there is no model to embed its texts")
        return cls(engine, {table: Spool(folder) for table in VECTORS})

    @property
    def model_id(self) -> UUID:
        return self.engine.model.id

    async def embed(self, file: Path) -> None:
        """Read the file once, and embed what has to be."""
        with open_archive(file) as archive:
            for member in archive.manifest.members:
                if member.table in VECTORS:
                    await self._embed_member(archive, member)
                elif member.table == _TAXONOMY:
                    await self._describe(archive, member)
                else:
                    archive.skip(member)

    def member(self, table: str) -> tuple[MemberFacts, Iterator[NumberedLine]]:
        """The member that takes the place of the file's."""
        shapes = next(one for one in transfer_tables() if one.name == table).shapes
        spool = self.spools[table]
        return spool.facts(table, list(shapes)), spool.lines()

    def close(self) -> None:
        for spool in self.spools.values():
            spool.close()

    async def _embed_member(self, archive: Archive, member: MemberFacts) -> None:
        waiting: list[Row] = []
        current = str(archive.manifest.model_id)
        for row in _rows(archive, member):
            # Vectors of a model before are of no use: nothing compares with them.
            if row["model_id"] == current:
                waiting.append(row)
            if len(waiting) == _TEXTS_AT_ONCE:
                await self._embed_rows(waiting, member.table)
                waiting = []
        if waiting:
            await self._embed_rows(waiting, member.table)

    async def _embed_rows(self, rows: Sequence[Row], table: str) -> None:
        made = await self.engine.embedder.embed([row.pop("text") for row in rows])
        tells = "token_ids" in next(one for one in transfer_tables() if one.name == table).shapes
        for row, one in zip(rows, made, strict=True):
            vector = ",".join(f"{number:.9g}" for number in one.vector.tolist())
            told = row | {"model_id": str(self.model_id), "vector": f"[{vector}]"}
            if tells:
                told |= {"token_ids": list(one.token_ids), "unknown_share": one.unknown_share}
            self.spools[table].add_line(json.dumps(told).encode())

    async def _describe(self, archive: Archive, member: MemberFacts) -> None:
        newest: Row | None = None
        for row in _rows(archive, member):
            if newest is None or row["version"] > newest["version"]:
                newest = row
        if newest is None:
            return
        try:
            stored = cast("list[Mapping[str, Any]]", json.loads(newest["categories"]))
            draft = TaxonomyDraft(tuple(Branch.read(one) for one in stored), newest["allow_new"])
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            raise Rejected(f"the newest taxonomy in {member.name} cannot be read") from fault
        self.descriptions = await embed_descriptions(self.engine, draft)


def _rows(archive: Archive, member: MemberFacts) -> Iterator[Row]:
    table = next(one for one in transfer_tables(vectors=False) if one.name == member.table)
    shapes = present(member.columns, table.shapes)
    for line in archive.lines(member):
        try:
            row = read_line(line.text)
            check_row(row, shapes)
        except Rejected as fault:
            raise fault_at(member, line.number, fault.detail) from fault
        yield row
