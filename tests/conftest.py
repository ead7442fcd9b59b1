"""Fixtures by concern, one file each."""

import os
import sys
from pathlib import Path

# The client is a distribution of its own; the checkout is what is tested, not what is installed.
ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "clients" / "python"), str(ROOT / "clients" / "coding")]

# As the server sets it, before anything loads the model's library.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

pytest_plugins = (
    "tests.fixtures.run",
    "tests.fixtures.clusters",
    "tests.fixtures.database",
    "tests.fixtures.engine",
    "tests.fixtures.http",
    "tests.fixtures.language_model",
    "tests.fixtures.profiles",
    "tests.fixtures.replicas",
    "tests.fixtures.served",
)
