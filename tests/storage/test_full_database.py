"""A database that is out of something says so, and that is what callers are told."""

import pytest
from sqlalchemy import text

from memory.kernel.errors import Unavailable
from server.errors import fault_headers, status_of


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        ("53100", "database_disk_full", "disk is full"),
        ("53200", "database_full", "no memory"),
        ("53300", "database_full", "no more connections"),
        ("53400", "database_full", "limit"),
    ],
)
async def test_what_the_database_is_out_of_is_named(engine, state, code, words):
    # The server's own error, as Postgres sends it where a file cannot grow.
    raising = f"DO $$ BEGIN RAISE 'could not extend file' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(Unavailable, match=words) as refused:
        async with engine.database.transaction() as connection:
            await connection.execute(text(raising))

    assert refused.value.kind == code
    assert status_of(refused.value) == 503
    assert int(fault_headers(refused.value)["Retry-After"]) >= 1
    assert "reached" not in refused.value.detail
