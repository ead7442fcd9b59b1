"""The problem document (RFC 9457): what went wrong, for programs and for people."""

from server.schemas.base import Out


class FieldProblem(Out):
    """One field that cannot be taken, by its path in the body (`items.3.reward`)."""

    field: str
    """Its path in the body."""
    detail: str
    """Why it cannot be taken."""


class Problem(Out):
    """`code` is stable and made for programs; `detail` is for people and may change."""

    type: str
    """A URN of the code."""
    title: str
    """The name of the status."""
    status: int
    """The status of the answer."""
    code: str
    """What went wrong, for programs; it does not change."""
    detail: str
    """What went wrong, for people; it may change."""
    field: str | None = None
    """The field it is about."""
    limit: object = None
    """What the field must keep to."""
    errors: list[FieldProblem] | None = None
    """Every field that cannot be taken."""
    request_id: str | None = None
    """Names the request in the log of the server."""


class BatchItem(Out):
    """What every item of a batch answers with."""

    index: int
    """Its place in the batch, counted from 0."""
    status: int
    """The HTTP status that it would have had by itself."""
    problem: Problem | None = None
    """Why it was refused; null where it was taken."""
