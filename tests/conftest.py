"""Fixtures by concern, one file each."""

pytest_plugins = (
    "tests.fixtures.database",
    "tests.fixtures.engine",
    "tests.fixtures.http",
)
