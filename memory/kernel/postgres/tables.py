"""What all tables share, and the tables of leadership, runs of jobs and the change feed."""

from collections.abc import Sequence

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    MetaData,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


NUMBERS = ARRAY(DOUBLE_PRECISION)
"""Policy numbers, in the order the policy names them; float64 both ways, so a fold is exact."""


def namespace_id() -> Column[object]:
    """The boundary, with which every key of a table begins, so that the rows of a namespace lie
    together wherever they are spread; deleting the namespace deletes the row.
    """
    return Column(
        "namespace_id",
        Uuid,
        ForeignKey("namespace.id", ondelete="CASCADE"),
        nullable=False,
        primary_key=True,
    )


def identity() -> Column[object]:
    """The row's own UUIDv7, made by the server."""
    return Column("id", Uuid, primary_key=True)


def belongs_to(column: str, table: str, *, ondelete: str | None = None) -> ForeignKeyConstraint:
    """A row of `table` in the same namespace, named by its id."""
    return ForeignKeyConstraint(
        ["namespace_id", column],
        [f"{table}.namespace_id", f"{table}.id"],
        ondelete=ondelete,
    )


def key_id() -> Column[object]:
    """The key that wrote the row; null for rows that the server wrote by itself."""
    return Column("key_id", Uuid)


def moment(name: str, *, nullable: bool = False) -> Column[object]:
    """A point in time, with zone, to the microsecond."""
    return Column(name, DateTime(timezone=True), nullable=nullable)


def bank_version(*, nullable: bool = False) -> Column[object]:
    """The version of the bank in which the row began to be seen."""
    return Column("bank_version", BigInteger, nullable=nullable)


def one_of(column: str, values: Sequence[str]) -> CheckConstraint:
    """A closed list of words for `column`."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


lease = Table(
    "lease",
    metadata,
    Column("name", Text, primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    Column("holder", Text, nullable=False),
    moment("beat_at"),
)


job_run = Table(
    "job_run",
    metadata,
    identity(),
    Column("job", Text, nullable=False),
    Column("namespace_id", Uuid),
    Column("period", Text, nullable=False),
    Column("epoch", BigInteger),
    Column("dry_run", Boolean, nullable=False),
    Column("state", Text, nullable=False),
    moment("now"),
    moment("started_at"),
    moment("finished_at", nullable=True),
    Column("result", JSONB),
    # Why it failed.
    Column("reason", Text),
    Column("key_id", Uuid),
    one_of("state", ("running", "done", "failed")),
    # What came last of a job of a namespace.
    Index("ix_job_run_namespace_id_job_id", "namespace_id", "job", "id"),
    # The applier asks at every turn what failed; hardly any run did.
    Index("ix_job_run_failed", "namespace_id", "job", postgresql_where=text("state = 'failed'")),
    Index(
        "uq_job_run_job_namespace_id_period",
        "job",
        "namespace_id",
        "period",
        unique=True,
        # A run by hand has a key, and is one of its own; one that failed is tried again.
        postgresql_where=text("NOT dry_run AND key_id IS NULL AND state <> 'failed'"),
    ),
)


change = Table(
    "change",
    metadata,
    namespace_id(),
    Column("bank_version", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("subjects", JSONB, nullable=False),
    moment("recorded_at"),
)


# Fed by triggers on whatever a retrieval reads, and followed by resident copies: a copy that holds
# what one snapshot saw asks for what the next one sees beside it.
row_change = Table(
    "row_change",
    metadata,
    namespace_id(),
    Column("id", BigInteger, Identity(), primary_key=True),
    # The transaction that wrote: a full transaction id.
    Column("xid", BigInteger, nullable=False),
    # What changed, in the words of `memory/retrieval/resident`.
    Column("kind", Text, nullable=False),
    Column("memory_ids", ARRAY(Uuid), nullable=False),
    moment("recorded_at"),
    Index("ix_row_change_namespace_id_xid", "namespace_id", "xid"),
)
