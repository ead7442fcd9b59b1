"""No table grows for ever without somebody having said why."""

from pathlib import Path

from memory.retention.entities import TABLES
from memory.retention.lives import KEPT, LIVES
from memory.schema import metadata

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "keep-the-database-small.md"


def test_every_table_has_a_life_or_a_reason_to_stay() -> None:
    assert not LIVES.keys() & KEPT.keys()
    assert LIVES.keys() | KEPT.keys() == set(metadata.tables), (
        "say in memory/retention/lives.py what ends the rows of a new table, or why they stay"
    )
    assert all(LIVES.values())
    assert all(KEPT.values())


def test_what_retention_removes_from_has_a_life() -> None:
    assert TABLES.keys() <= LIVES.keys()


def test_the_page_says_of_every_table_what_the_code_says() -> None:
    rows = PAGE.read_text()

    for table, words in (LIVES | KEPT).items():
        assert f"| `{table}` | {words} |" in rows
