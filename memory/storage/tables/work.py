"""Leadership, runs of jobs, and the feed of changes for caches."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Table, Text, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB

from memory.storage.tables.base import identity, metadata, moment, namespace_id, one_of

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
    Column("key_id", Uuid),
    one_of("state", ("running", "done", "failed")),
    Index(
        "uq_job_run_job_namespace_id_period",
        "job",
        "namespace_id",
        "period",
        unique=True,
        postgresql_where=text("NOT dry_run"),
    ),
)

change = Table(
    "change",
    metadata,
    namespace_id(primary_key=True),
    Column("bank_version", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("subjects", JSONB, nullable=False),
    moment("recorded_at"),
)
