"""What all tables share: the metadata with its naming rule, and columns that recur."""

from collections.abc import Sequence

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, ForeignKey, MetaData, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION

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


def identity() -> Column[object]:
    """The row's own UUIDv7, made by the server."""
    return Column("id", Uuid, primary_key=True)


def namespace_id(*, primary_key: bool = False) -> Column[object]:
    """The boundary: deleting the namespace deletes the row."""
    return Column(
        "namespace_id",
        Uuid,
        ForeignKey("namespace.id", ondelete="CASCADE"),
        nullable=False,
        primary_key=primary_key,
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
