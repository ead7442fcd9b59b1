"""How the health of learning was, sample by sample."""

from sqlalchemy import Column, DateTime, Table
from sqlalchemy.dialects.postgresql import JSONB

from memory.kernel.postgres.tables import metadata, moment, namespace_id

health_sample = Table(
    "health_sample",
    metadata,
    namespace_id(),
    Column("known_at", DateTime(timezone=True), primary_key=True),
    moment("recorded_at"),
    Column("numbers", JSONB, nullable=False),
)
