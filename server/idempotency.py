"""Once-only POSTs: the same key and body get the same answer, and the work is done once.

The key is claimed before the work. What the work creates waits to be committed until its answer is
made, and both are committed together: whoever repeats a call whose answer was lost finds either
the effect and the answer, or neither.

Kept: answers that had an effect (2xx). A fault did nothing, so its attempt is abandoned and may
be tried again under the same key. A batch is kept as soon as one of its items had an effect. An
answer to the making of a key or a webhook is not stored, as it holds a secret: its repeat is
refused.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from hashlib import sha256

from fastapi import Request, Response

from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, Rejected
from memory.kernel.postgres.database import DeferredCommit, deferring
from memory.tenancy import service as idempotency
from memory.tenancy.entities import Attempt, Recorded
from server.authentication import IDEMPOTENCY, now_of
from server.dependencies import call_of, key_of
from server.shared import shared_of

HEADER = IDEMPOTENCY
REPLAYED = "Idempotency-Replayed"
MAX_KEY = 200
FIRST_FAILURE = 300
# Routes whose answers hold a secret that exists nowhere else.
SECRET = frozenset({"create_key", "create_webhook"})

# Seconds before each further try to free the key of a call that had no effect.
FREE_AFTER = (0.5, 1.0, 2.0, 4.0, 8.0)
_freeing: set[asyncio.Task[None]] = set()

Handler = Callable[[Request], Awaitable[Response]]
logger = logging.getLogger("memlift.http")


class Idle(Response):
    """An answer, though of a good status, without any effect: it is not kept."""


async def once(request: Request, handler: Handler) -> Response:
    """The answer of `handler`, or the one it gave before."""
    engine = shared_of(request).opened()
    attempt = await _attempt(request)
    recorded = await idempotency.begin(engine, attempt)
    if recorded is not None:
        return _again(recorded)
    with deferring() as effect:
        try:
            response = await handler(request)
            await _close(
                engine, attempt, response, effect, secret=request.scope["route"].name in SECRET
            )
        except BaseException:
            await asyncio.shield(_undo(engine, attempt, effect))
            raise
    return response


async def _undo(engine: Engine, attempt: Attempt, effect: DeferredCommit) -> None:
    try:
        await effect.undo()
    finally:
        await _free(engine, attempt)


async def _free(engine: Engine, attempt: Attempt) -> None:
    """Abandons the attempt: now, or beside later requests when the database is away just now."""
    try:
        await idempotency.abandon(engine, attempt)
    except MemoryFault:
        _freeing.add(task := asyncio.create_task(_free_later(engine, attempt)))
        task.add_done_callback(_freeing.discard)


async def _free_later(engine: Engine, attempt: Attempt) -> None:
    for pause in FREE_AFTER:
        await asyncio.sleep(pause)
        with contextlib.suppress(MemoryFault):
            await idempotency.abandon(engine, attempt)
            return
    logger.warning("an idempotency key stays taken until its lease ends")


async def _attempt(request: Request) -> Attempt:
    key = await key_of(request)
    named = "namespace" in request.path_params
    return Attempt(
        key_id=key.id,
        method=request.method,
        path=request.url.path,
        idempotency_key=_checked(request.headers[HEADER]),
        body_sha256=sha256(await request.body()).digest(),
        namespace_id=(await call_of(request)).namespace.id if named else None,
        begun_at=now_of(request.scope),
    )


async def _close(
    engine: Engine, attempt: Attempt, response: Response, effect: DeferredCommit, *, secret: bool
) -> None:
    """Keeps or abandons the attempt, together with the effect that waits for it. Raises where they
    could not be kept.
    """
    if isinstance(response, Idle) or response.status_code >= FIRST_FAILURE:
        await effect.keep()
        await _free(engine, attempt)
        return
    body = b"" if secret else bytes(response.body)
    answer, together = Recorded(response.status_code, body), effect.connection is not None
    try:
        await idempotency.finish(engine, attempt, answer, effect)
    except Exception:
        if together:
            raise
        # The effect stands, and so does the answer: the record runs out with its lease.
        logger.exception("an idempotent answer was not recorded")
    await effect.keep()


def _again(recorded: Recorded) -> Response:
    if not recorded.body:
        raise Conflict(
            "what was made under this Idempotency-Key has a secret, which was shown once",
            code="token_not_kept",
            field=HEADER,
        )
    return Response(
        recorded.body,
        status_code=recorded.status,
        headers={REPLAYED: "true"},
        media_type="application/json",
    )


def _checked(key: str) -> str:
    if not 1 <= len(key) <= MAX_KEY or not (key.isascii() and key.isprintable()):
        raise Rejected(
            f"{HEADER} must have 1…{MAX_KEY} printable characters", field=HEADER, limit=MAX_KEY
        )
    return key
