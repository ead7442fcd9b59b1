"""The embedding models that made vectors."""

from sqlalchemy import (
    Column,
    Integer,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

from memory.kernel.postgres.tables import identity, metadata, moment, one_of

embedding_model = Table(
    "embedding_model",
    metadata,
    identity(),
    Column("name", Text, nullable=False),
    Column("revision", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("width", Integer, nullable=False),
    Column("calibration", JSONB, nullable=False),
    Column("state", Text, nullable=False),
    moment("created_at"),
    UniqueConstraint("name", "revision", "sha256"),
    one_of("state", ("active", "retired")),
)
