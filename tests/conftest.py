"""Fixtures by concern, one file each."""

import os

# As the server sets it, before anything loads the model's library.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

pytest_plugins = (
    "tests.fixtures.database",
    "tests.fixtures.engine",
    "tests.fixtures.http",
    "tests.fixtures.language_model",
    "tests.fixtures.replicas",
)
