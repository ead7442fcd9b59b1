"""Shapes of liveness and readiness."""

from collections.abc import Mapping
from typing import Literal

from memory.kernel.postgres.compatibility import Check
from server.schemas.base import Out


class Live(Out):
    status: Literal["live"] = "live"
    """The process answers; nothing else was looked at."""


DEGRADED = {
    "leader": "no leader",
    "jobs": "jobs fail",
    "language_model": "language model away",
    "server_cost": "daily cost limit reached",
    "other_models": "namespaces of another model",
    "schema": "newer schema",
}
"""What it is called where one of these checks is not met: requests are served all the same."""


class Ready(Out):
    """Ready when every check is that requests depend on."""

    status: Literal["ready", "not_ready"]
    """Whether requests are served."""
    degraded: list[str]
    """What does not go on beside the requests: `no leader`, `jobs fail`, `language model away`,
    `daily cost limit reached`: that of all namespaces together, until 00:00 UTC; `namespaces of
    another model`, which are refused alone; `newer schema`: a newer release has migrated the
    database, and this process is to be replaced.
    """
    checks: dict[str, Check]
    """What was looked at, by name."""

    @classmethod
    def of(cls, checks: Mapping[str, Check]) -> "Ready":
        unmet = [name for name, check in checks.items() if not check.ok]
        degraded = [DEGRADED[name] for name in unmet if name in DEGRADED]
        status = "ready" if len(degraded) == len(unmet) else "not_ready"
        return cls(status=status, degraded=degraded, checks=dict(checks))
