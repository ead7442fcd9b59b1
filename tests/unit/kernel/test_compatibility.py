"""Which database servers will do, and what the others are told."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memory.kernel.errors import Unavailable
from memory.kernel.postgres.compatibility import ServerFacts, check, complaints

GOOD = ServerFacts(
    server=16,
    vector="0.8.0",
    login="memlift",
    login_is_mighty=False,
    missing_roles=(),
    application_is_mighty=False,
    now=datetime(2026, 1, 1, tzinfo=UTC),
)


def test_the_oldest_server_that_will_do_is_taken() -> None:
    assert complaints(GOOD) == []
    check(GOOD)


@pytest.mark.parametrize("vector", ["0.8.6", "0.10.0", "1.0.0", "0.8.1-dev"])
def test_a_newer_vector_extension_is_taken(vector: str) -> None:
    assert complaints(replace(GOOD, vector=vector)) == []


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"server": 15}, "Postgres 15 is too old"),
        ({"vector": None}, "CREATE EXTENSION vector"),
        ({"vector": "0.7.4"}, "pgvector 0.7.4 is too old"),
        ({"login": "postgres", "login_is_mighty": True}, "connect as memlift instead"),
        ({"missing_roles": ("memlift_app",)}, "may not act as memlift_app"),
        ({"application_is_mighty": True}, "NOSUPERUSER NOBYPASSRLS"),
    ],
)
def test_a_server_that_will_not_do_gives_one_line_with_the_change(
    fault: dict[str, object], said: str
) -> None:
    [complaint] = complaints(replace(GOOD, **fault))  # pyright: ignore[reportArgumentType] - a table

    assert said in complaint
    assert "\n" not in complaint
    with pytest.raises(Unavailable) as caught:
        check(replace(GOOD, **fault))  # pyright: ignore[reportArgumentType] - a table
    assert caught.value.detail == complaint


def test_every_complaint_is_made_at_once() -> None:
    assert len(complaints(replace(GOOD, server=13, vector=None, login_is_mighty=True))) == 3
