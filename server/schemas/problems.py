"""The problem document (RFC 9457): what went wrong, for programs and for people."""

from server.schemas.base import Out


class FieldProblem(Out):
    """One field that cannot be taken, by its path in the body (`items.3.reward`)."""

    field: str
    detail: str


class Problem(Out):
    """`code` is stable and made for programs; `detail` is for people and may change."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    field: str | None = None
    limit: object = None
    errors: list[FieldProblem] | None = None
    request_id: str | None = None
