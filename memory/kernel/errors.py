"""The faults of the memory, drawn as a tree; reading it tells what to catch.

    MemoryFault
    ├── NotFound            the thing is not there, or not in this namespace
    ├── Gone                the thing was there and is kept no longer
    ├── Moved               the namespace is served by another deployment, at `url`
    ├── Conflict            what is there does not admit this
    │   └── StaleEdit       the caller edited an older version
    ├── Rejected            the input cannot be taken; names the field and the limit
    │   └── TooLarge        the input is larger than the limit
    ├── Unauthenticated     no valid key
    ├── Forbidden           the key may not do this
    ├── Overloaded          too much is asked at once; come back after `retry_after`
    └── Unavailable         a part we lean on is down or not ready; come back after `retry_after`

A fault carries a stable `code` (snake_case, part of the published contract), a sentence for
people, and, where it is about input, the `field` and the `limit`. It knows nothing of HTTP.
"""

import traceback
from pathlib import Path
from typing import ClassVar, Self


class MemoryFault(Exception):
    """Something the caller can be told. Base of every fault the memory raises on purpose."""

    code: ClassVar[str] = "fault"

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        field: str | None = None,
        limit: object = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.kind = code or type(self).code
        self.field = field
        self.limit = limit
        self.retry_after = retry_after

    def below(self, name: str) -> Self:
        """The same fault, its field told from the noun that holds this one as its field `name`."""
        return self.under(name if self.field is None else f"{name}.{self.field}")

    def under(self, name: str) -> Self:
        """The same fault, of a field that its caller knows as `name`."""
        if self.field is not None and self.detail.startswith(f"{self.field} "):
            self.detail = name + self.detail.removeprefix(self.field)
        self.field = name
        return self


class NotFound(MemoryFault):
    """The thing is not there, or belongs to another namespace: the two look alike on purpose."""

    code = "not_found"


class Gone(MemoryFault):
    """What is asked for was there, and is kept no longer."""

    code = "gone"


class Moved(MemoryFault):
    """The namespace has moved to another deployment, where the same keys open it."""

    code = "namespace_moved"

    def __init__(self, url: str) -> None:
        super().__init__(f"the namespace has moved: it is served at {url}")
        self.url = url


class Conflict(MemoryFault):
    """What is there does not admit this change."""

    code = "conflict"


class StaleEdit(Conflict):
    """The caller edited a version that is no longer current."""

    code = "stale_edit"


class Rejected(MemoryFault):
    """The input cannot be taken as it is."""

    code = "rejected"


class TooLarge(Rejected):
    """The input is larger than the limit it names."""

    code = "too_large"


class Unauthenticated(MemoryFault):
    """No key, or one that is unknown, expired or revoked."""

    code = "unauthenticated"


class Forbidden(MemoryFault):
    """The key is known and may not do this."""

    code = "forbidden"


class Overloaded(MemoryFault):
    """More is asked at once than is served."""

    code = "overloaded"


class Unavailable(MemoryFault):
    """A part the memory leans on is down or not ready."""

    code = "unavailable"


def moving() -> Unavailable:
    """Of a namespace that is between two deployments, for seconds."""
    return Unavailable(
        "the namespace is being moved from one deployment to another: ask again",
        code="namespace_moving",
        retry_after=1,
    )


def arriving() -> Unavailable:
    """Of a namespace that is not here yet as a whole: seconds, or until somebody ends its move."""
    return Unavailable(
        "the namespace is being moved here from another deployment, which serves it meanwhile: "
        "ask again when `memlift move` has ended; if that was stopped, run it again, or end the "
        "move by `memlift move … --call-off`",
        code="namespace_moving",
        retry_after=1,
    )


def explain(fault: Exception) -> str:
    """A sentence for the record: where it happened and of what kind it is, without the words of
    a fault that nobody wrote for callers, which may quote what is stored.
    """
    if isinstance(fault, MemoryFault):
        return fault.detail
    kind, root = type(fault).__name__, Path(__file__).parents[2]
    for frame in reversed(traceback.extract_tb(fault.__traceback__)):
        place = Path(frame.filename)
        if place.is_relative_to(root / "memory"):
            return f"an unexpected {kind} in {place.relative_to(root)}, line {frame.lineno}"
    return f"an unexpected {kind}"
