"""What both clients share: where the server is, who calls, and how httpx's values become ours."""

import logging
import random
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TypedDict, TypeVar, cast
from urllib.parse import urlsplit

import httpx

from memlift_client._answers import BatchItem
from memlift_client._faults import ConfigurationError
from memlift_client._retries import Exchange, NoAnswer, RetryPolicy, exchange
from memlift_client._tracing import Found, trace_headers, traced
from memlift_client._wire import Call, Parameter, Reply, Request

Result = TypeVar("Result")

SCHEMES = ("http", "https")
# Faults of httpx that no server and no network has to do with.
OURS = (httpx.LocalProtocolError, httpx.UnsupportedProtocol)


class Sent(TypedDict):
    """The keywords of httpx's build_request."""

    method: str
    url: str
    params: dict[str, Parameter] | None
    content: bytes | None
    headers: dict[str, str]


def _fresh_key() -> str:
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class Connection:
    """One server, one key, one namespace, and when to ask again.

    White space around URL and key is dropped, as a file's last newline is; what cannot be a URL or
    a key raises ConfigurationError. The key is printed nowhere. `chance` gives numbers in [0, 1)
    for the jitter, `fresh_key` an idempotency key for each call.
    """

    url: str
    key: str | None = field(repr=False)
    namespace: str
    retry_policy: RetryPolicy
    chance: Callable[[], float] = random.random
    fresh_key: Callable[[], str] = _fresh_key
    told: set[str] = field(default_factory=set[str], repr=False, compare=False)
    """The codes of warnings that were logged already, in this namespace."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", _checked_url(self.url))
        object.__setattr__(self, "key", _checked_key(self.key))

    def within(self, namespace: str) -> "Connection":
        return replace(self, namespace=namespace, told=set())

    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        accept = {"accept": "application/json, application/problem+json"}
        return accept if self.key is None else {**accept, "authorization": f"Bearer {self.key}"}

    def prepared(self, call: Call[Result], key: str | None = None) -> Call[Result]:
        """The call with its full path and, where it posts, `key` or a key of its own: made once,
        before the first attempt, so that every attempt carries the same.
        """
        return call.within(self.namespace, key or self.fresh_key())

    def exchange(self, call: Call[Result]) -> Exchange:
        """The conversation of a prepared call. A status that is an answer is not asked again."""
        once = replace(self.retry_policy, attempts=1)
        policy = once if call.accepted else self.retry_policy
        return exchange(call.request, policy, self.chance)

    def traced(self, call: Call[Result]) -> AbstractContextManager[Found]:
        """Around a prepared call, in the caller's trace where there is one."""
        return traced(call.request, self.url)

    def finish(self, call: Call[Result], reply: Reply) -> Result:
        """The typed result of a prepared call. What the server warns of is logged."""
        result = call.result(reply)
        _log_warnings(result, self.told)
        return result

    def sent(self, request: Request) -> Sent:
        return Sent(
            method=request.method,
            url=request.path,
            params=dict(request.parameters) or None,
            content=request.content,
            headers=request.headers() | trace_headers(),
        )


LOG = logging.getLogger("memlift_client")


def _log_warnings(result: object, told: set[str]) -> None:
    """So that a report which was accepted and teaches nothing is noticed; `warnings` has them. A
    code is a warning of the log the first time, and later ones are for debugging.
    """
    items = cast("tuple[object, ...]", result) if isinstance(result, tuple) else (result,)
    counts: dict[str, int] = {}
    codes: set[str] = set()
    for item in items:
        answer = item.value if isinstance(item, BatchItem) else item
        for warning in getattr(answer, "warnings", ()):
            said = f"{warning.code}: {warning.detail}"
            counts[said] = counts.get(said, 0) + 1
            codes.add(warning.code)
    if counts:
        text = "; ".join(said if n == 1 else f"{said} ({n} times)" for said, n in counts.items())
        level = logging.DEBUG if codes <= told else logging.WARNING
        told |= codes
        LOG.log(level, "the server took it and warns: %s", text)


def reply_of(response: httpx.Response) -> Reply:
    return Reply(
        response.status_code,
        response.content,
        _seconds(response.headers.get("retry-after")),
        response.headers.get("x-request-id"),
    )


def no_answer(fault: httpx.TransportError) -> NoAnswer:
    """Raises ConfigurationError where it is not the connection that failed. What httpx says of such
    a fault can hold the headers, so it is not passed on.
    """
    if isinstance(fault, OURS):
        raise ConfigurationError(
            f"the request could not be sent ({type(fault).__name__}): look at the URL, the key and"
            " what was asked"
        ) from None
    said = f"{type(fault).__name__}: {fault}"
    if isinstance(fault, httpx.ConnectError) and "[SSL" not in said:
        # Scheme, host and port alone: a URL may hold a password.
        url = fault.request.url
        return NoAnswer(said, f"{url.scheme}://{url.netloc.decode()}")
    return NoAnswer(said)


def _checked_url(url: str) -> str:
    """The URL without white space around it; no message repeats it, as it may hold a password, or
    be the key in the wrong place.
    """
    bare = url.strip()
    try:
        parts = urlsplit(bare)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigurationError("the server's URL cannot be read") from None
    if parts.scheme not in SCHEMES or "://" not in bare:
        raise ConfigurationError(
            "the server's URL needs a scheme: http:// or https:// before the host"
        )
    if not host or not bare.isprintable() or " " in bare:
        raise ConfigurationError("the server's URL names no host")
    return bare


def _checked_key(key: str | None) -> str | None:
    """The key without white space around it. It may hold no more than a header may."""
    if key is None:
        return None
    bare = key.strip()
    if not bare:
        raise ConfigurationError("the key is empty: leave it out, or read it from its file")
    if not (bare.isascii() and bare.isprintable()) or " " in bare:
        raise ConfigurationError("the key holds characters that no key has")
    return bare


def _seconds(text: str | None) -> float | None:
    """Seconds of a Retry-After; its other form, a date, counts as none named."""
    try:
        return None if text is None else max(0.0, float(text))
    except ValueError:
        return None
