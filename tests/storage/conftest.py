"""What the tests of storage share."""

from collections.abc import AsyncGenerator

import pytest

from memory.kernel.engine import Engine
from memory.tenancy.entities import Key
from tests.fixtures.engine import an_engine
from tests.storage.bank_builders import Dictated
from tests.storage.neighbours import Neighbours, two_neighbours


@pytest.fixture(scope="session")
async def neighbours(engine: Engine, operator: Key) -> Neighbours:
    return await two_neighbours(engine, operator)


@pytest.fixture(scope="session")
async def dictating(engine: Engine, database_url: str) -> AsyncGenerator[Engine]:
    """An engine whose embedder says what the test tells it to."""
    opened = an_engine(database_url, embedder=Dictated())
    opened.registered = engine.registered
    yield opened
    await opened.close()
