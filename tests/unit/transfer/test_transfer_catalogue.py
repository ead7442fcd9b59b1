"""No table and no column with rows of a namespace is forgotten by its file."""

from memory.schema import ISOLATED, metadata
from memory.transfer.shapes import Holds, ValueKind
from memory.transfer.store.catalogue import (
    ID_DOCUMENTS,
    LEFT_OUT,
    OTHER_DOCUMENTS,
    SECRET_COLUMNS,
    transfer_tables,
)
from memory.transfer.store.subjects import ABOUT, ABOUT_NOBODY

OUTSIDE = {
    "dashboard_session": "belongs to a key",
    "embedding_model": "belongs to the database; the manifest says which are named",
    "lease": "belongs to the database",
    "namespace": "is in the manifest",
    "server_budget": "is what one server may still spend today",
}
"""Tables without a namespace, and why no file holds them as rows."""


def test_every_table_is_in_the_file_or_there_is_a_reason() -> None:
    exported = {table.name for table in transfer_tables()}

    assert not exported & (LEFT_OUT.keys() | OUTSIDE.keys())
    assert exported | LEFT_OUT.keys() | OUTSIDE.keys() == set(metadata.tables), (
        "a new table is exported, unless memory/transfer/store/catalogue.py says why not"
    )
    assert {table.name for table in ISOLATED} <= exported | LEFT_OUT.keys()
    assert all(LEFT_OUT.values())


def test_every_column_is_in_the_file_but_secrets() -> None:
    for table in transfer_tables():
        columns = {column.name for column in metadata.tables[table.name].c}
        hidden = {"namespace_id", *SECRET_COLUMNS.get(table.name, ())}
        assert table.shapes.keys() == columns - hidden, table.name
    assert SECRET_COLUMNS == {"api_key": ("sha256",)}


def test_every_document_is_known_to_hold_ids_or_not_to() -> None:
    documents = {
        f"{table.name}.{name}"
        for table in transfer_tables()
        for name, shape in table.shapes.items()
        if shape.kind is ValueKind.DOCUMENT
    }

    assert not ID_DOCUMENTS & OTHER_DOCUMENTS
    assert documents == ID_DOCUMENTS | OTHER_DOCUMENTS, (
        "say in memory/transfer/store/catalogue.py whether the new document names rows"
    )


def test_rows_come_after_those_that_they_name() -> None:
    seen: set[str] = set()
    for table in transfer_tables():
        seen.add(table.name)
        for reference in table.references:
            assert reference.table in seen, table.name


def test_every_id_is_of_a_row_a_key_or_a_model() -> None:
    for table in transfer_tables():
        for name, shape in table.shapes.items():
            if shape.kind is ValueKind.ID:
                assert shape.holds is not Holds.NOTHING, f"{table.name}.{name}"


def test_every_table_is_about_a_subject_or_there_is_a_reason() -> None:
    about = {table for of_kind in ABOUT.values() for table in of_kind}
    assert not about & ABOUT_NOBODY.keys()
    assert about | ABOUT_NOBODY.keys() == {one.name for one in transfer_tables()}, (
        "say in memory/transfer/store/subjects.py which rows of the new table are about an agent, a"
        " key or a task"
    )


def test_a_key_is_about_whatever_it_has_written() -> None:
    written = {one.name for one in transfer_tables() if "key_id" in one.shapes}

    assert written - ABOUT["key"].keys() == {"rollback", "taxonomy"}
