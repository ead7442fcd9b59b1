"""Operations on their way out say so in every answer: since when (RFC 9745), until when (RFC 8594),
and where it stands what to call in their place. The contract marks them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class Deprecation:
    """When an operation became deprecated, the first day on which it may be gone, and what to call
    in its place.
    """

    since: date
    sunset: date
    instead: str
    """A sentence for the contract, such as `Use report_outcome.`"""
    documentation: str
    """The address of a page about it."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Of every answer, also of a refusal."""
        return {
            "Deprecation": f"@{int(_midnight(self.since).timestamp())}",
            "Sunset": format_datetime(_midnight(self.sunset), usegmt=True),
            "Link": f'<{self.documentation}>; rel="deprecation", <{self.documentation}>;'
            ' rel="sunset"',
        }


DEPRECATED: Mapping[str, Deprecation] = {}
"""By the name of the operation. None is on its way out now."""


class Deprecations:
    """Adds the headers to answers of deprecated operations."""

    def __init__(self, app: ASGIApp, operations: Mapping[str, Deprecation]) -> None:
        self._app = app
        self._operations = operations

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = self._operations.get(getattr(scope.get("route"), "name", ""))
                if known is not None:
                    headers = MutableHeaders(scope=message)
                    for name, value in known.headers.items():
                        headers.append(name, value)
            await send(message)

        await self._app(scope, receive, marked if scope["type"] == "http" else send)


def mark(operation: dict[str, Any], known: Deprecation) -> None:
    """Say in the contract that the operation is on its way out."""
    operation["deprecated"] = True
    said = f"Deprecated since {known.since}; gone from {known.sunset} on. {known.instead}"
    operation["description"] = f"{operation.get('description', '')}\n\n{said}".strip()


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
