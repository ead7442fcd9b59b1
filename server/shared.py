"""What all requests of one process share."""

import secrets
from dataclasses import dataclass, field

from fastapi import Request

from memory.kernel.engine import Engine
from memory.kernel.errors import Unavailable
from server.cursors import KEY_BYTES, Cursors
from server.limits import Limits
from server.metrics import Meters
from server.settings import Settings


@dataclass(slots=True)
class Shared:
    """Made with the app. At start come the engine, the key that signs cursors (until then one of
    no use), and `local_token` where keys are not asked for.
    """

    settings: Settings
    meters: Meters
    limits: Limits
    engine: Engine | None = None
    cursors: Cursors = field(default_factory=lambda: Cursors(secrets.token_bytes(KEY_BYTES)))
    local_token: str | None = None

    def opened(self) -> Engine:
        """Raises Unavailable while the server starts or stops."""
        if self.engine is None:
            raise Unavailable("the server is starting or stopping", code="not_open", retry_after=1)
        return self.engine


def shared_of(request: Request) -> Shared:
    shared = request.app.state.shared
    assert isinstance(shared, Shared)
    return shared
