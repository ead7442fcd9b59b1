"""What the tests of storage share."""

import pytest

from memory.domain.access import Key
from memory.engine import Engine
from tests.storage.neighbours import Neighbours, two_neighbours


@pytest.fixture(scope="session")
async def neighbours(engine: Engine, operator: Key) -> Neighbours:
    return await two_neighbours(engine, operator)
