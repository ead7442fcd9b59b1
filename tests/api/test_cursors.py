"""Cursors begin the next page of their own list and of no other."""

import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.kernel.errors import Rejected
from server.cursors import Cursors, place_of, signing_key

POSITION = ("2026-03-01T12:00:00Z", 7, 0.5)
PLACE = place_of("n1", "/v1/namespaces/a/experiences", [("status", "active")])


def test_a_cursor_says_where_the_next_page_begins():
    cursors = Cursors(b"k" * 32)

    assert cursors.read(cursors.write(POSITION, PLACE), PLACE) == POSITION


@given(st.lists(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False))))
def test_any_position_survives_the_way_there_and_back(position):
    cursors = Cursors(b"k" * 32)

    assert list(cursors.read(cursors.write(tuple(position), PLACE), PLACE)) == position


@pytest.mark.parametrize(
    "other",
    [
        place_of("n2", "/v1/namespaces/a/experiences", [("status", "active")]),
        place_of("n1", "/v1/namespaces/a/retrievals", [("status", "active")]),
        place_of("n1", "/v1/namespaces/a/experiences", [("status", "retired")]),
        place_of("n1", "/v1/namespaces/a/experiences", []),
    ],
)
def test_a_cursor_of_another_namespace_path_or_filter_is_refused(other):
    cursors = Cursors(b"k" * 32)

    with pytest.raises(Rejected) as refusal:
        cursors.read(cursors.write(POSITION, PLACE), other)

    assert (refusal.value.kind, refusal.value.field) == ("bad_cursor", "cursor")


def test_the_page_size_and_the_order_of_filters_do_not_change_the_list():
    one = place_of("n", "/p", [("a", "1"), ("b", "2"), ("limit", "5")])
    other = place_of("n", "/p", [("b", "2"), ("limit", "9"), ("a", "1"), ("cursor", "x")])

    assert one == other


@given(st.integers(0, 200), st.characters(codec="ascii"))
def test_a_cursor_with_one_letter_changed_is_refused(place, letter):
    cursors = Cursors(b"k" * 32)
    cursor = cursors.write(POSITION, PLACE)
    place %= len(cursor) - 1
    changed = cursor[:place] + letter + cursor[place + 1 :]

    if changed != cursor:
        with pytest.raises(Rejected):
            cursors.read(changed, PLACE)


@pytest.mark.parametrize("junk", ["", "a", "abc", "é", "=" * 9, "A" * 900, "\x00", "\ud800"])
def test_what_is_no_cursor_is_refused(junk):
    with pytest.raises(Rejected):
        Cursors(b"k" * 32).read(junk, PLACE)


def test_a_cursor_of_another_key_is_refused():
    cursor = Cursors(b"a" * 32).write(POSITION, PLACE)

    with pytest.raises(Rejected):
        Cursors(b"b" * 32).read(cursor, PLACE)


def test_processes_on_one_database_share_the_key_that_its_password_gives(tmp_path):
    one = signing_key("postgresql://app:secret@db/memlift", tmp_path / "one")
    other = signing_key("postgresql://app:secret@10.0.0.1/memlift", tmp_path / "other")

    assert one == other
    assert one != signing_key("postgresql://app:changed@db/memlift", tmp_path / "one")
    assert not (tmp_path / "one").exists()


def test_processes_on_one_data_directory_share_the_key_that_lies_there(tmp_path):
    first = signing_key(None, tmp_path)
    second = signing_key("postgresql:///memlift", tmp_path)

    assert first == second
    assert len(first) == 32
    assert [file.name for file in (tmp_path / "secrets").iterdir()] == ["cursor.key"]


def test_only_its_owner_reads_the_key(tmp_path):
    signing_key(None, tmp_path)

    mode = (tmp_path / "secrets" / "cursor.key").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
