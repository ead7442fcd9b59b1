"""What all requests of one process share."""

import secrets
from dataclasses import dataclass, field

from fastapi import Request

from memory.insight.pulse_entities import Pulse
from memory.kernel.engine import Engine
from memory.kernel.errors import Unavailable
from memory.kernel.postgres.database import PoolSettings
from server.bulkheads import Bulkheads
from server.callers import Callers
from server.cursors import KEY_BYTES, Cursors
from server.limits import Limits, Places
from server.metrics import Meters
from server.placement import Placement
from server.readiness import Readiness
from server.settings import Settings, usable_cores
from server.tracing import Tracing, open_tracing
from server.watching import Watches

TWO = 2
"""Of two requests one waits for the database while the other computes."""
FOLLOWED_EVERY = 1.0
"""Seconds between looks whether a namespace that somebody follows has changed."""


def _followers() -> Watches[int]:
    return Watches(FOLLOWED_EVERY, "key", "streams of changes")


@dataclass(slots=True)
class Shared:
    """Made with the app. At start come the engine, the key that signs cursors (until then one of
    no use), and `local_token` where keys are not asked for. `placement` is this worker's among
    those of the server, None where there is one process.
    """

    settings: Settings
    meters: Meters
    limits: Limits
    callers: Callers
    logins: Limits
    places: Places
    bulkheads: Bulkheads
    tracing: Tracing | None = None
    watches: Watches[Pulse] = field(default_factory=Watches[Pulse])
    followers: Watches[int] = field(default_factory=_followers)
    readiness: Readiness = field(default_factory=Readiness)
    engine: Engine | None = None
    cursors: Cursors = field(default_factory=lambda: Cursors(secrets.token_bytes(KEY_BYTES)))
    local_token: str | None = None
    placement: Placement | None = None

    @classmethod
    def of(cls, settings: Settings, meters: Meters, placement: Placement | None = None) -> "Shared":
        """With the limits of the settings: those against guessing hold for all workers together."""
        share = 1 if placement is None else placement.count
        logins = max(1, settings.login_burst // share)
        guesses = max(1, settings.unknown_key_burst // share)
        return cls(
            settings=settings,
            meters=meters,
            limits=Limits(settings.request_rate, settings.request_burst),
            callers=Callers(settings.unknown_key_rate / share, guesses),
            logins=Limits(settings.login_rate / share, logins, "this address may log in"),
            places=Places(settings.max_requests),
            bulkheads=Bulkheads(
                settings.pool_size + PoolSettings().more,
                max(TWO, usable_cores() // share),
                settings.turn_timeout.total_seconds(),
            ),
            tracing=open_tracing(settings),
            placement=placement,
        )

    def opened(self) -> Engine:
        """Raises Unavailable while the server starts or stops."""
        if self.engine is None:
            raise Unavailable("the server is starting or stopping", code="not_open", retry_after=1)
        return self.engine


def shared_of(request: Request) -> Shared:
    shared = request.app.state.shared
    assert isinstance(shared, Shared)
    return shared
