"""What both clients share: where the server is, who calls, and how httpx's values become ours."""

import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypedDict, TypeVar

import httpx

from memlift_client._retries import Exchange, NoAnswer, RetryPolicy, exchange
from memlift_client._wire import Call, Parameter, Reply, Request

Result = TypeVar("Result")


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

    `chance` gives numbers in [0, 1) for the jitter, `fresh_key` an idempotency key for each call.
    """

    url: str
    key: str | None
    namespace: str
    retry_policy: RetryPolicy
    chance: Callable[[], float] = random.random
    fresh_key: Callable[[], str] = _fresh_key

    def within(self, namespace: str) -> "Connection":
        return replace(self, namespace=namespace)

    def headers(self) -> dict[str, str]:
        """The headers of every request."""
        accept = {"accept": "application/json, application/problem+json"}
        return accept if self.key is None else {**accept, "authorization": f"Bearer {self.key}"}

    def prepared(self, call: Call[Result]) -> Call[Result]:
        """The call with its full path and, where it posts, a key of its own: made once, before the
        first attempt, so that every attempt carries the same.
        """
        return call.within(self.namespace, self.fresh_key())

    def exchange(self, call: Call[Result]) -> Exchange:
        """The conversation of a prepared call. A status that is an answer is not asked again."""
        once = replace(self.retry_policy, attempts=1)
        policy = once if call.accepted else self.retry_policy
        return exchange(call.request, policy, self.chance)

    def sent(self, request: Request) -> Sent:
        return Sent(
            method=request.method,
            url=request.path,
            params=dict(request.parameters) or None,
            content=request.content,
            headers=request.headers(),
        )


def reply_of(response: httpx.Response) -> Reply:
    return Reply(
        response.status_code,
        response.content,
        _seconds(response.headers.get("retry-after")),
        response.headers.get("x-request-id"),
    )


def no_answer(fault: httpx.TransportError) -> NoAnswer:
    return NoAnswer(f"{type(fault).__name__}: {fault}")


def _seconds(text: str | None) -> float | None:
    """Seconds of a Retry-After; its other form, a date, counts as none named."""
    try:
        return None if text is None else max(0.0, float(text))
    except ValueError:
        return None
