"""A line of the file is read to the last bit, or refused; new ids keep what order and names say."""

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.kernel.errors import Rejected
from memory.kernel.ids import new_id
from memory.transfer.entities import MAX_DEPTH
from memory.transfer.shapes import Holds, Renaming, Shape, ValueKind, check_row, read_line

KEY, ROW, MODEL = (str(new_id()) for _ in range(3))
SALT = st.integers(0, 2**62 - 1)
IDS = SALT.map(lambda low: str(UUID(int=(0x0193_0000_0000_7000 << 64) | (2 << 62) | low)))


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_comes_back_to_the_last_bit(number: float) -> None:
    # As Postgres writes it: negative zero without a point.
    written = json.dumps({"n": number}).replace("-0.0}", "-0}").encode()

    read = read_line(written)["n"]

    assert float(read).hex() == number.hex()


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
def test_a_document_is_as_deep_as_allowed(depth: int) -> None:
    shapes = {"d": Shape(ValueKind.DOCUMENT)}
    row = {"d": "[" * depth + "]" * depth}

    if depth == MAX_DEPTH:
        check_row(row, shapes)
    else:
        with pytest.raises(Rejected, match="nested"):
            check_row(row, shapes)


@given(ids=st.sets(IDS, min_size=2), salt=SALT)
def test_new_ids_are_as_many_of_the_same_time_and_kind(ids: set[str], salt: int) -> None:
    names = Renaming({}, salt)
    new = [_renamed(names, ValueKind.ID, Holds.ID, one) for one in ids]

    assert len(set(new)) == len(ids)
    for old, made in zip(ids, new, strict=True):
        assert made[:18] == old[:18]
        assert UUID(made).variant == UUID(old).variant


@given(salt=st.integers(1, 2**62 - 1))
def test_a_row_is_named_alike_wherever_it_is_named(salt: int) -> None:
    names = Renaming({MODEL: KEY}, salt, {KEY})
    new = _renamed(names, ValueKind.ID, Holds.ID, ROW)
    document = json.dumps({"ids": [ROW, "a word"], ROW: {"of": ROW}, "said": f"about {ROW}"})

    assert new != ROW
    assert _renamed(names, ValueKind.TEXT, Holds.IDS_INSIDE, f"task:{ROW}") == f"task:{new}"
    assert _renamed(names, ValueKind.TEXT, Holds.IDS_INSIDE, "group:a") == "group:a"
    assert json.loads(_renamed(names, ValueKind.DOCUMENT, Holds.IDS_INSIDE, document)) == {
        "ids": [new, "a word"],
        new: {"of": new},
        "said": f"about {ROW}",
    }
    assert _renamed(names, ValueKind.ID, Holds.MODEL, MODEL) == KEY
    assert _renamed(names, ValueKind.ID, Holds.KEY, KEY) != KEY
    assert _renamed(names, ValueKind.ID, Holds.KEY, ROW) == ROW, "an operator's key, say"
    assert _renamed(names, ValueKind.TEXT, Holds.NOTHING, ROW) == ROW


def _renamed(names: Renaming, kind: ValueKind, holds: Holds, value: str) -> str:
    row = {"x": value}
    names.rename(row, {"x": Shape(kind, holds=holds)})
    return row["x"]
