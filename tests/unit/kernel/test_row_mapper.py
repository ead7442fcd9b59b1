"""Rows become nouns by the names of their columns, and drift is found at import."""

from dataclasses import dataclass
from enum import StrEnum

import pytest
from sqlalchemy import Column, MetaData, RowMapping, String, Table, create_engine, literal, select

from memory.kernel.postgres.rows import RowMapper

THING = Table(
    "thing", MetaData(), Column("name", String), Column("hue", String), Column("x", String)
)


class Hue(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Thing:
    name: str
    hue: Hue | None
    parts: tuple[str, ...]
    double: str


def doubled(row: RowMapping) -> str:
    return row["name"] * 2


def test_a_row_becomes_a_noun_with_enums_tuples_and_what_is_computed():
    things = RowMapper(Thing, [THING, literal("ab").label("parts")], computed={"double": doubled})
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        THING.create(connection)
        connection.execute(THING.insert().values(name="n", hue="red", x="y"))
        row = connection.execute(select(*things.columns).select_from(THING)).mappings().one()
    engine.dispose()

    assert [column.key for column in things.columns] == ["name", "hue", "parts"]
    assert things(row) == Thing("n", Hue.RED, ("a", "b"), "nn")


def test_a_field_without_a_column_is_found_when_the_mapper_is_made():
    with pytest.raises(TypeError, match="parts"):
        RowMapper(Thing, [THING], computed={"double": doubled})


def test_what_is_computed_for_no_field_is_found_too():
    with pytest.raises(TypeError, match="triple"):
        RowMapper(
            Thing,
            [THING, literal("ab").label("parts")],
            computed={"double": doubled, "triple": doubled},
        )
