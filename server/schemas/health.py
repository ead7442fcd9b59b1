"""Shapes of liveness and readiness."""

from collections.abc import Mapping
from typing import Literal

from memory.kernel.postgres.compatibility import Check
from server.schemas.base import Out


class Live(Out):
    status: Literal["live"] = "live"


class CheckOut(Out):
    ok: bool
    detail: str


class Ready(Out):
    """Ready when every check is."""

    status: Literal["ready", "not_ready"]
    checks: dict[str, CheckOut]

    @classmethod
    def of(cls, checks: Mapping[str, Check]) -> "Ready":
        shown = {name: CheckOut.model_validate(check) for name, check in checks.items()}
        status = "ready" if all(check.ok for check in checks.values()) else "not_ready"
        return cls(status=status, checks=shown)
