"""The file of a namespace: its manifest, its members, and what reading it in did."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.fields import BOTH_WAYS, OUTPUT, Moment
from memory.tenancy.entities import NamespaceDraft

FORMAT = 1
"""The version of the file's own layout."""


MANIFEST = "manifest.json"


MAX_MANIFEST_BYTES = 1024 * 1024
MAX_LINE_BYTES = 32 * 1024 * 1024
MAX_MEMBERS = 128
MAX_ROWS = 10**9
MAX_BYTES = 64 * 1024**3
"""Of all members together, unpacked, unless the operator says otherwise."""
MAX_DEPTH = 64
"""Of a document in a row."""


Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]


SubjectKind = Literal["agent", "key", "task"]


@dataclass(frozen=True, slots=True)
class ExportSubject:
    """Whom or what a file is about, where it is not the whole namespace."""

    kind: SubjectKind
    name: str
    """The name of an agent; the id of a key or a task."""
    id: UUID | None = None
    """Its id in the database; null until it was looked up."""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class OnConflict(StrEnum):
    """What is done about what is there already: `fail` reads into an empty namespace and keeps
    all ids, `new_ids` gives each row a new one, `skip` leaves rows that are there as they are.
    """

    FAIL = "fail"
    NEW_IDS = "new_ids"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class MemberFacts:
    """One table in the file: a line of JSON for each of its rows."""

    __pydantic_config__ = BOTH_WAYS

    table: Word
    """The table, and the name of the member before `.jsonl`."""
    columns: Annotated[tuple[Word, ...], Field(max_length=MAX_MEMBERS)]
    """The keys of each line."""
    rows: Annotated[int, Field(ge=0, le=MAX_ROWS)]
    """How many lines it has."""
    bytes: Annotated[int, Field(ge=0, le=2**50)]
    """Its size, unpacked."""
    sha256: Digest
    """Of its bytes, in hexadecimal."""

    @property
    def name(self) -> str:
        return f"{self.table}.jsonl"


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """An embedding model that the rows name."""

    __pydantic_config__ = BOTH_WAYS

    id: UUID
    """How the rows name it."""
    name: Annotated[str, Field(max_length=500)]
    """Its name."""
    revision: Annotated[str, Field(max_length=500)]
    """What else changes its vectors."""
    sha256: Annotated[str, Field(max_length=64)]
    """Of its weights."""
    width: Annotated[int, Field(ge=1, le=16_000)]
    """Components of a vector."""
    calibration: Mapping[Word, Annotated[float, Field(allow_inf_nan=False)]]
    """What was measured of it where the file was made; measured anew where it is served."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the file says of itself, in its first member."""

    __pydantic_config__ = BOTH_WAYS

    format: int
    """The version of the layout."""
    schema: Annotated[str, Field(pattern=r"^[0-9]{4}$")]
    """The migration that the database was at."""
    exported_at: Moment
    """When it was made, by the server's clock."""
    vectors: bool
    """Whether the vectors are in it; else the texts that they are made of stand in their place."""
    namespace: NamespaceDraft
    """The namespace: slug, clock, learning, policy, settings."""
    created_at: Moment
    """When the namespace was made."""
    bank_version: Annotated[int, Field(ge=0, lt=2**62)]
    """The version of its bank."""
    newest_known_at: Moment | None
    """The newest date of an outcome that was applied."""
    signal: bool
    """Whether residuals of one memory on different dates agreed."""
    model_id: UUID | None
    """The model whose vectors it holds."""
    models: Annotated[tuple[ModelFacts, ...], Field(max_length=MAX_MEMBERS)]
    """Every model that a row names."""
    members: Annotated[tuple[MemberFacts, ...], Field(max_length=MAX_MEMBERS)]
    """The tables, in the order in which they stand in the file and can be read in."""

    agent: Annotated[str | None, Field(max_length=500)] = None
    """The agent that the file is about; null where it is about none alone."""
    key_id: UUID | None = None
    """The key that it is about."""
    task_id: UUID | None = None
    """The task that it is about."""

    @property
    def about(self) -> ExportSubject | None:
        """Null where the file is the whole namespace."""
        if self.agent is not None:
            return ExportSubject("agent", self.agent)
        if self.key_id is not None:
            return ExportSubject("key", str(self.key_id))
        return None if self.task_id is None else ExportSubject("task", str(self.task_id))

    @property
    def rows(self) -> int:
        """All rows of all tables."""
        return sum(member.rows for member in self.members)

    @property
    def bytes(self) -> int:
        """All members, unpacked."""
        return sum(member.bytes for member in self.members)


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """How a file is to be read in."""

    namespace: str | None = None
    """The name that it gets; null keeps that of the file."""
    on_conflict: OnConflict = OnConflict.FAIL
    """What is done about what is there already."""
    dry_run: bool = False
    """Everything is read and checked, and nothing is kept."""
    max_bytes: int = MAX_BYTES
    """Of all members together, unpacked."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What was read in."""

    __pydantic_config__ = OUTPUT

    namespace: str
    """Where it went."""
    dry_run: bool
    """Whether nothing of it was kept."""
    rows: Mapping[str, int]
    """Rows that were written, by table."""
    skipped: Mapping[str, int]
    """Rows that were there already and stayed as they were, by table."""
