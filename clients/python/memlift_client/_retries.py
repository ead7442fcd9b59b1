"""When to ask again, and how long to wait: a conversation without I/O.

`exchange` yields what is to be done (send a Request, or Pause) and is sent the result, so the
sync client, the async client and a test drive the same code.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass

from memlift_client._faults import ConnectionFailed
from memlift_client._wire import Reply, Request

TOO_MANY, UNAVAILABLE, CONFLICT = 429, 503, 409


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a client waits, and how often it asks again.

    timeout: seconds an answer may take. attempts: ≥ 1, the first included. first_delay: seconds
    before the second attempt, doubled for each later one up to longest_delay; the wait is drawn
    from the upper half of that, so that clients which failed together do not return together. A
    Retry-After is kept to, up to longest_wait.
    """

    timeout: float = 30.0
    attempts: int = 5
    first_delay: float = 0.2
    longest_delay: float = 10.0
    longest_wait: float = 60.0

    def delay(self, attempt: int, chance: float) -> float:
        """Seconds before attempt `attempt` + 1; `chance` in [0, 1)."""
        ceiling = min(self.longest_delay, self.first_delay * 2.0 ** (attempt - 1))
        return ceiling * (0.5 + 0.5 * chance)


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The connection failed or the time ran out."""

    detail: str
    unreached: str | None = None
    """The address where no server took the connection."""


Step = Request | Pause
Event = Reply | NoAnswer | None
Exchange = Generator[Step, Event, Reply]


def exchange(request: Request, retry_policy: RetryPolicy, chance: Callable[[], float]) -> Exchange:
    """Send `request` until it is answered for good. Returns the last answer, whatever its status;
    raises ConnectionFailed when none came.
    """
    for attempt in range(1, retry_policy.attempts + 1):
        event = yield request
        last = attempt == retry_policy.attempts
        if isinstance(event, Reply) and (last or not _worth_another(event)):
            return event
        if isinstance(event, NoAnswer) and (last or not _may_repeat(request)):
            said = f"{request.method} {request.path}: {event.detail}"
            raise ConnectionFailed(said, event.unreached)
        yield Pause(_wait(event, retry_policy.delay(attempt, chance()), retry_policy.longest_wait))
    raise ConnectionFailed(f"{request.method} {request.path}: no attempt was allowed")


def _worth_another(reply: Reply) -> bool:
    if reply.status in (TOO_MANY, UNAVAILABLE):
        return True
    # The first attempt of this very call is still at work: its answer will be there soon.
    return reply.status == CONFLICT and reply.problem().code == "idempotency_running"


def _may_repeat(request: Request) -> bool:
    """An edit that may have arrived is not repeated: its version would be stale by its own deed."""
    if request.method in ("PATCH", "PUT"):
        return request.version is None
    return request.method != "POST" or request.key is not None


def _wait(event: Event, delay: float, longest: float) -> float:
    asked = event.retry_after if isinstance(event, Reply) else None
    return delay if asked is None else min(max(asked, delay), longest)
