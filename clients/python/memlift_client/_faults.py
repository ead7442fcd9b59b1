"""What can go wrong between an agent and the server; reading the tree tells what to catch.

MemLiftError
├── ConfigurationError  this client cannot ask: its URL, its key or a number is none
│   └── KeyRefused      the server does not know the key; a MemLiftProblem, too
├── MemLiftProblem      the server answered with a problem document
├── ConnectionFailed    no answer came, after every retry
└── UnexpectedAnswer    an answer came that is not of the published contract

Acting without advice is right after ConnectionFailed alone: after a ConfigurationError no later
call will do better. No message holds a key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One field that was refused, and why."""

    field: str
    detail: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem document (RFC 9457): `code` is stable, `detail` is a sentence for people.

    `field` and `limit` name what was refused and where its bound lies; None where it is about
    something else.
    """

    status: int
    code: str
    title: str
    detail: str
    field: str | None = None
    limit: object = None
    errors: tuple[FieldProblem, ...] = ()
    request_id: str | None = None

    @classmethod
    def read(cls, document: Mapping[str, object], status: int) -> "Problem":
        """A problem from whatever the server sent; missing members become empty."""
        errors = cast("list[Mapping[str, object]]", document.get("errors") or [])
        return cls(
            status=status,
            code=str(document.get("code") or "unknown"),
            title=str(document.get("title") or ""),
            detail=str(document.get("detail") or ""),
            field=_text(document.get("field")),
            limit=document.get("limit"),
            errors=tuple(FieldProblem(str(e.get("field")), str(e.get("detail"))) for e in errors),
            request_id=_text(document.get("request_id")),
        )


class MemLiftError(Exception):
    """Base of everything this client raises on purpose."""


class ConfigurationError(MemLiftError):
    """What this client was given cannot work: to be set right by people, not to be tried again."""


class MemLiftProblem(MemLiftError):
    """The server refused the call, and said why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.status} {problem.code}: {problem.detail}")
        self.problem = problem
        self.status = problem.status
        self.code = problem.code
        self.detail = problem.detail
        self.field = problem.field
        self.limit = problem.limit
        self.errors = problem.errors
        self.request_id = problem.request_id


class KeyRefused(MemLiftProblem, ConfigurationError):
    """The key is missing, unknown, expired or revoked."""


class ConnectionFailed(MemLiftError):
    """No answer came. The call may or may not have had its effect; the same idempotency key tells
    the server that it is the same call. `unreached` is the address where no server took the
    connection, None where it was lost later.
    """

    def __init__(self, message: str, unreached: str | None = None) -> None:
        super().__init__(message)
        self.unreached = unreached


class UnexpectedAnswer(MemLiftError):
    """The answer is not of the published contract: another server, or another version."""


def _text(value: object) -> str | None:
    return None if value is None else str(value)
