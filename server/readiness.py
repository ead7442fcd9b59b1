"""Whether requests would be served, as found a moment ago: asking for it asks nobody else."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic

from memory.jobs.checks import readiness
from memory.kernel.engine import Engine
from memory.kernel.errors import Unavailable
from memory.kernel.postgres.compatibility import Check

RENEWED_EVERY = 1.0
# A database that lets its callers wait is as good as none.
SILENCE = 10.0
NOT_OPEN = {"engine": Check(ok=False, detail="the server is starting or stopping")}

logger = logging.getLogger("memlift")


@dataclass(slots=True)
class Readiness:
    """The checks as last found, by name."""

    found: Mapping[str, Check] = field(default_factory=lambda: NOT_OPEN)
    found_at: float = field(default_factory=monotonic)

    def checks(self) -> dict[str, Check]:
        """As found, and that nothing has been found for long, where that is so."""
        silent = monotonic() - self.found_at
        if silent <= SILENCE:
            return dict(self.found)
        detail = f"the checks have not come back for {silent:.0f} seconds"
        return {**self.found, "database": Check(ok=False, detail=detail)}

    async def renew(self, engine: Engine) -> None:
        """Look again. What was found stays where there is no connection to look with: in the end
        its age tells.
        """
        try:
            self.found = await readiness(engine)
        except Unavailable:
            return
        self.found_at = monotonic()


async def keep_renewing(engine: Engine, *renewals: Callable[[Engine], Awaitable[None]]) -> None:
    """Look again every second, until cancelled; one that fails is tried again."""
    while True:
        await asyncio.sleep(RENEWED_EVERY)
        for renew in renewals:
            try:
                await renew(engine)
            except Unavailable as fault:
                # An outage takes long: a line a second says it, without where it came from.
                logger.warning("what requests are answered from is not looked up: %s", fault.detail)
            except Exception:
                logger.exception("what requests are answered from could not be looked up again")
