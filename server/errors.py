"""The one table from fault to status, and the problem documents that carry faults out."""

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from memory.kernel.errors import (
    Conflict,
    Forbidden,
    Gone,
    MemoryFault,
    Moved,
    NotFound,
    Overloaded,
    Rejected,
    StaleEdit,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from server.schemas.problems import FieldProblem, Problem
from server.shape_words import words_of

MEDIA_TYPE = "application/problem+json"
MAX_ERRORS = 20
MAX_FIELD = 200
DEFAULT_RETRY = 1.0


class MalformedBody(Rejected):
    """The body is not JSON."""

    code = "malformed_json"


class UnsupportedMedia(Rejected):
    """The body is not declared as JSON."""

    code = "unsupported_media_type"


class UnreadableHead(Rejected):
    """The request line or the headers are no HTTP."""

    code = "unreadable_head"


class HeadTooLarge(Rejected):
    """The request line and the headers are larger than is read."""

    code = "head_too_large"


class TooSlow(Rejected):
    """The request did not arrive in time."""

    code = "too_slow"


class PreconditionRequired(Rejected):
    """An edit must name the version its author saw."""

    code = "precondition_required"


STATUS: dict[type[MemoryFault], HTTPStatus] = {
    NotFound: HTTPStatus.NOT_FOUND,
    Gone: HTTPStatus.GONE,
    Moved: HTTPStatus.MISDIRECTED_REQUEST,
    Conflict: HTTPStatus.CONFLICT,
    StaleEdit: HTTPStatus.PRECONDITION_FAILED,
    Rejected: HTTPStatus.UNPROCESSABLE_ENTITY,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    UnsupportedMedia: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    PreconditionRequired: HTTPStatus.PRECONDITION_REQUIRED,
    UnreadableHead: HTTPStatus.BAD_REQUEST,
    HeadTooLarge: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    TooSlow: HTTPStatus.REQUEST_TIMEOUT,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    Forbidden: HTTPStatus.FORBIDDEN,
    Overloaded: HTTPStatus.TOO_MANY_REQUESTS,
    Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}
RETRIED = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
LIMITS = (
    "max_length",
    "min_length",
    "le",
    "lt",
    "ge",
    "gt",
    "multiple_of",
    "pattern",
    "expected",
    "expected_tags",
)


def status_of(fault: MemoryFault) -> HTTPStatus:
    """The status of the nearest ancestor in the table; a gap is our bug, hence 500."""
    return next(
        (STATUS[kind] for kind in type(fault).__mro__ if kind in STATUS),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )


def problem_of(fault: MemoryFault, request_id: str | None) -> Problem:
    return Problem(
        type=f"urn:memlift:{fault.kind}",
        title=status_of(fault).phrase,
        status=status_of(fault),
        code=fault.kind,
        detail=encodable(fault.detail),
        field=None if fault.field is None else encodable(fault.field),
        limit=fault.limit,
        request_id=request_id,
    )


def problem_of_shape(
    fault: RequestValidationError, request_id: str | None, body: object = None
) -> Problem:
    """Names every field that has the wrong shape, the first one also at the top. `body`: the type
    that the request's body should be of, where it has one.
    """
    faults: Sequence[Mapping[str, object]] = fault.errors()
    errors = [
        FieldProblem(field=_path(error), detail=encodable(words_of(error, body)))
        for error in faults[:MAX_ERRORS]
    ]
    return Problem(
        type="urn:memlift:rejected",
        title=HTTPStatus.UNPROCESSABLE_ENTITY.phrase,
        status=HTTPStatus.UNPROCESSABLE_ENTITY,
        code="rejected",
        detail=f"{errors[0].field}: {errors[0].detail}",
        field=errors[0].field,
        limit=limit_of(faults[0]),
        errors=errors,
        request_id=request_id,
    )


def problem_of_status(fault: HTTPException, request_id: str | None) -> Problem:
    """What the router itself refuses: no such path, no such method."""
    status = HTTPStatus(fault.status_code)
    code = status.name.lower()
    return Problem(
        type=f"urn:memlift:{code}",
        title=status.phrase,
        status=status,
        code=code,
        detail=encodable(str(fault.detail)),
        request_id=request_id,
    )


def problem_of_bug(request_id: str | None) -> Problem:
    """An exception nobody foresaw; its text stays in the log, beside the request id."""
    return Problem(
        type="urn:memlift:internal",
        title=HTTPStatus.INTERNAL_SERVER_ERROR.phrase,
        status=HTTPStatus.INTERNAL_SERVER_ERROR,
        code="internal",
        detail="this is a fault of the server; its log has the rest under the request id",
        request_id=request_id,
    )


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        problem.model_dump_json(exclude_none=True),
        status_code=problem.status,
        headers=headers,
        media_type=MEDIA_TYPE,
    )


def fault_response(fault: MemoryFault, request_id: str | None) -> Response:
    return problem_response(problem_of(fault, request_id), fault_headers(fault))


def fault_headers(fault: MemoryFault) -> dict[str, str]:
    """What a client's library acts on without reading the body."""
    headers: dict[str, str] = {}
    status = status_of(fault)
    if status is HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(fault, Moved):
        headers["Location"] = fault.url
    if fault.retry_after is not None or status in RETRIED:
        wait = DEFAULT_RETRY if fault.retry_after is None else fault.retry_after
        headers["Retry-After"] = str(max(1, math.ceil(wait)))
    return headers


def encodable(text: str) -> str:
    """A caller's words in our answer: lone surrogates are written out, for no encoding has them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _path(error: Mapping[str, object]) -> str:
    """`items.3.reward`; the part of the request comes first in `loc` and is left out, and so is the
    mark that a name is wrong and not what it names.
    """
    place = error.get("loc")
    parts = [str(part) for part in place if part != "[key]"] if isinstance(place, tuple) else []
    return encodable(".".join(parts[1:] or parts))[:MAX_FIELD]


def limit_of(error: Mapping[str, object]) -> object:
    """The bound that a value of the wrong shape is outside of, where there is one."""
    context = error.get("ctx")
    if not isinstance(context, dict):
        return None
    return next((context[name] for name in LIMITS if name in context), None)
