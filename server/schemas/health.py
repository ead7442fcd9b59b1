"""Shapes of liveness and readiness."""

from collections.abc import Mapping
from typing import Literal

from memory.kernel.postgres.compatibility import Check
from server.schemas.base import Out


class Live(Out):
    status: Literal["live"] = "live"
    """The process answers; nothing else was looked at."""


class Ready(Out):
    """Ready when every check is."""

    status: Literal["ready", "not_ready"]
    """Whether every check is met."""
    checks: dict[str, Check]
    """What was looked at, by name."""

    @classmethod
    def of(cls, checks: Mapping[str, Check]) -> "Ready":
        status = "ready" if all(check.ok for check in checks.values()) else "not_ready"
        return cls(status=status, checks=dict(checks))
