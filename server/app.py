"""Settings → engine → routes → faults; the lifespan opens and closes."""

import asyncio
import contextlib
import gc
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from memory.inference.service import keep_registering
from memory.jobs.leader import run_leader
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from server.authentication import KeyFirst
from server.contract import describe
from server.cursors import Cursors, signing_key
from server.dashboard import PAGES
from server.departures import Departures
from server.deprecation import DEPRECATED, Deprecations
from server.errors import (
    fault_headers,
    problem_of,
    problem_of_shape,
    problem_of_status,
    problem_response,
)
from server.login_bodies import LoginBodies
from server.mcp.door import McpDoor
from server.metrics import Meters
from server.middleware import Accounts, Bodies, Heads, Loopback, request_id_of
from server.opening import gauges, open_from
from server.operator_key import introduce, local_token
from server.otlp.sink import EvaluationSink
from server.placement import Placement
from server.readiness import keep_renewing
from server.routes import BUSY, ROUTERS
from server.routing import refused_by_router
from server.settings import Settings, load
from server.shared import Shared, shared_of
from server.worker_pages import told_to_others

RESTART_AFTER = 5.0
COLLECTED_AFTER = (10_000, 20, 20)
"""New objects before the collector looks for cycles among them, and looks before it looks further.
A retrieval makes a few thousand, nearly all of which go by themselves: looked for every 700, cycles
cost a tenth of its processor time.
"""

SWITCHED_AFTER = 0.00002
"""Seconds after which a thread that computes lets another one go on. The model's thread comes back
to the interpreter some sixty times a pass; each time it would wait for a busy event loop for the
usual 5 ms, so that a text took 300 ms for 15.
"""

EngineFactory = Callable[[Settings], Awaitable[Engine]]
Jobs = Callable[[Engine], Awaitable[None]]
logger = logging.getLogger("memlift")


def create_app(
    settings: Settings | None = None,
    engine_factory: EngineFactory = open_from,
    jobs: Jobs | None = run_leader,
    *,
    has_process: bool = False,
    placement: Placement | None = None,
) -> FastAPI:
    """The whole server; `jobs` None leaves leading to other processes. One that `has_process` to
    itself completes its routes and contract before anything runs beside it, and takes what it
    started with out of the collector's sight.

    There is no page of documentation: the usual ones are fetched from elsewhere. `/openapi.json`
    is served.
    """
    settings = settings or load()
    shared = Shared.of(settings, Meters(), placement)
    door = McpDoor(shared)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        opened = _opened(shared, engine_factory, freezes=has_process)
        async with opened, door.opened(), _working(shared, jobs), _telling(shared):
            yield

    app = FastAPI(
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=_operation_id,
        redirect_slashes=False,
    )
    app.state.shared = shared
    for router in (*ROUTERS, *PAGES):
        app.include_router(router)
    app.router.routes.append(door.route)
    if settings.evaluations is not None:
        app.router.routes.append(EvaluationSink(shared, settings.evaluations).route)
    guard(app, shared)
    describe(app)
    if has_process:
        # FastAPI would build routes and contract within the first requests, and the contract from
        # the sources of the shapes. Beside the thread that loads the model's libraries that also
        # fails at times: before Python 3.13 two threads that parse sources disturb each other
        # ("AST constructor recursion depth mismatch").
        app.openapi()
        # Paths are compared with one route after the other; the contract's order is for readers.
        app.router.routes.sort(key=lambda one: getattr(one, "original_router", None) not in BUSY)
    return app


def serving_app(placement: Placement | None = None) -> FastAPI:
    """What `memlift serve` runs in each of its processes; `placement` is that of a worker."""
    owner = None if placement is None else placement.model_socket
    return create_app(
        engine_factory=partial(open_from, owner=owner), has_process=True, placement=placement
    )


def _operation_id(route: APIRoute) -> str:
    return route.name


def _signing_key(settings: Settings) -> bytes:
    """The embedded database's password is of no use here: its address comes after the start."""
    return signing_key(settings.configured_database(), settings.data.expanduser())


def guard(app: FastAPI, shared: Shared) -> None:
    """What stands around the routes; the middleware added last is the outermost."""
    app.add_exception_handler(MemoryFault, _on_fault)
    app.add_exception_handler(RequestValidationError, _on_shape)
    app.add_exception_handler(HTTPException, _on_status)
    seconds = shared.settings.body_timeout.total_seconds()
    if DEPRECATED:
        app.add_middleware(Deprecations, operations=DEPRECATED)
    app.add_middleware(Bodies, limit=shared.settings.max_body_bytes, seconds=seconds)
    app.add_middleware(KeyFirst, shared=shared)
    app.add_middleware(LoginBodies, shared=shared)
    if shared.settings.insecure_local:
        app.add_middleware(Loopback)
    app.add_middleware(Departures)
    app.add_middleware(Heads, meters=shared.meters)
    app.add_middleware(Accounts, meters=shared.meters)


async def _on_fault(request: Request, fault: Exception) -> Response:
    known = cast("MemoryFault", fault)
    shared_of(request).meters.faults.labels(known.kind).inc()
    return problem_response(problem_of(known, request_id_of(request.scope)), fault_headers(known))


async def _on_shape(request: Request, fault: Exception) -> Response:
    shared_of(request).meters.faults.labels("rejected").inc()
    shape = cast("RequestValidationError", fault)
    field = getattr(request.scope.get("route"), "body_field", None)
    body = None if field is None else field.field_info.annotation
    return problem_response(problem_of_shape(shape, request_id_of(request.scope), body))


async def _on_status(request: Request, fault: Exception) -> Response:
    status = refused_by_router(request, cast("HTTPException", fault))
    problem = problem_of_status(status, request_id_of(request.scope))
    shared_of(request).meters.faults.labels(problem.code).inc()
    return problem_response(problem, status.headers)


@contextlib.asynccontextmanager
async def _opened(shared: Shared, factory: EngineFactory, *, freezes: bool) -> AsyncGenerator[None]:
    """The engine, from the first request to the last."""
    engine = await factory(shared.settings)
    registering = asyncio.create_task(_register(engine, freezes=freezes))
    try:
        await introduce(engine, shared.settings, datetime.now(UTC))
        shared.meters.watch(lambda: gauges(engine) | shared.bulkheads.gauges())
        shared.meters.watch_llm(engine.llm_counters)
        shared.meters.watch_jobs(engine.jobs)
        shared.meters.watch_webhooks(engine.webhook_results)
        engine.on_stage = shared.meters.observe_stage
        if shared.settings.insecure_local:
            shared.local_token = local_token(shared.settings)
        shared.cursors = Cursors(_signing_key(shared.settings))
        shared.engine = engine
        renewals = (shared.readiness.renew, shared.callers.living.renew)
        for renew in renewals:
            await renew(engine)
        tasks = [
            asyncio.create_task(keep_renewing(engine, *renewals)),
            asyncio.create_task(keep_renewing(engine, _renew_copies)),
        ]
        try:
            yield
        finally:
            for task in tasks:
                await _ended(task)
    finally:
        shared.engine = None
        await _ended(registering)
        await engine.close()
        if shared.tracing is not None:
            await asyncio.to_thread(shared.tracing.close)


async def _register(engine: Engine, *, freezes: bool) -> None:
    """The model, and then, where it is known what stays for good, what the collector may leave
    alone: with the model's libraries some 700,000 objects, 0.4 s of each full collection. Threads
    take turns from then on as a model beside an event loop needs it.
    """
    await keep_registering(engine, datetime.now(UTC))
    if freezes:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECTED_AFTER)
        sys.setswitchinterval(SWITCHED_AFTER)


async def _renew_copies(engine: Engine) -> None:
    if engine.resident is not None:
        await engine.resident.renew()


@contextlib.asynccontextmanager
async def _telling(shared: Shared) -> AsyncGenerator[None]:
    """The numbers of this worker, to the others that are scraped for it."""
    if shared.placement is None:
        yield
        return
    async with told_to_others(shared.placement, shared.meters.text):
        yield


@contextlib.asynccontextmanager
async def _working(shared: Shared, jobs: Jobs | None) -> AsyncGenerator[None]:
    """The jobs beside the requests."""
    if jobs is None:
        yield
        return
    task = asyncio.create_task(_kept_going(jobs, shared.opened()))
    try:
        yield
    finally:
        await _ended(task)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _kept_going(jobs: Jobs, engine: Engine) -> None:
    """A leader that fell over is started again: requests are served without it, learning is not."""
    while True:
        try:
            await jobs(engine)
        except Exception:
            logger.exception("the jobs stopped; they start again in %s seconds", RESTART_AFTER)
        await asyncio.sleep(RESTART_AFTER)
