"""What a serving process starts with is out of the garbage collector's sight."""

import asyncio
import gc
from pathlib import Path

from memory.kernel.engine import Engine
from server.app import create_app
from server.settings import Settings
from tests.fixtures.engine import an_engine


async def test_a_process_that_serves_alone_freezes_what_it_started_with(
    database_url: str, operator_token: str, tmp_path: Path
):
    assert operator_token

    async def opened(_: Settings) -> Engine:
        return an_engine(database_url)

    settings = Settings(data=tmp_path, database_url=database_url)
    app = create_app(settings, opened, jobs=None, has_process=True)
    before = gc.get_freeze_count()
    try:
        async with app.router.lifespan_context(app):
            while gc.get_freeze_count() == before:  # noqa: ASYNC110 - nobody says when
                await asyncio.sleep(0.01)
            assert app.state.shared.opened().registered is not None
    finally:
        gc.unfreeze()
