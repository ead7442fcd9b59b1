"""What stands around the application: its database, its port, its processes and its end."""

import asyncio
import contextlib
import errno
import importlib.util
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Generator
from types import FrameType
from typing import Any, NoReturn

import click
import uvicorn
from uvicorn.config import LOGGING_CONFIG

from memory.kernel.errors import Rejected, Unavailable
from memory.kernel.postgres import compatibility
from memory.kernel.postgres.database import PoolSettings
from memory.kernel.postgres.embedded import EmbeddedPostgres, reached
from memory.kernel.postgres.migrate import heads, upgrade
from memory.kernel.text import counted
from memory.llm.provider import library_is_installed
from server import opening
from server.banner import Banner, login_link
from server.connections import BoundedConnection, ConnectionLimits
from server.language_models import language_models
from server.operator_key import local_token
from server.placement import meeting_folder
from server.settings import Settings, publish
from server.supervision import WAITING_CALLERS, Supervisor, end_with_parent

APPLICATION = "server.app:serving_app"
GRACE_SECONDS = 10
ADDRESS_FILE = "url"
"""In the data directory: where a running server listens."""
# The embedded server admits 100; some are kept for commands and for the leader.
EMBEDDED_CONNECTIONS = 90
LEAST_POOL = 2


def serve(settings: Settings, application: str = APPLICATION) -> None:
    """Serve until told to end; then the application stops first and its own Postgres last."""
    refuse_open_house(settings)
    refuse_missing_library(settings)
    refuse_unpinned_models(settings)
    local_token(settings)
    refuse_taken_port(settings)
    _end_on_signals()
    with _owned_database(settings) as url:
        try:
            compatibility.check(compatibility.facts(url))
            migrated(url)
            _say_what_workers_share(settings)
            with _address_left(settings):
                _run(settings, application)
        finally:
            _ignore_signals()


def migrated(url: str, partitions: int | None = None) -> str:
    """Bring the database to head, a new one spread over so many partitions, and look again from
    outside: success is what others see.
    """
    upgrade(url, partitions)
    current, head = heads(url)
    if current != head:
        raise Unavailable(f"the migration ran, yet the database is at {current}, not at {head}")
    return head


def require_head(url: str) -> None:
    """Raises Unavailable for a database that this version cannot work with yet."""
    current, head = heads(url)
    if current is None:
        raise Unavailable("the database is empty: `memlift serve` makes its schema and first key")
    if current != head:
        raise Unavailable(f"the database is at {current}, not at {head}: run `memlift migrate`")


@contextlib.contextmanager
def reached_database(settings: Settings) -> Generator[str]:
    """The database for a command beside the server: configured, running, or started for it."""
    if (url := settings.configured_database()) is not None:
        yield url
        return
    with reached(settings.data) as url:
        yield url


@contextlib.contextmanager
def existing_database(settings: Settings) -> Generator[str]:
    """The same for a command that has no use for an empty one. Raises Unavailable where no server
    has run in the data directory.
    """
    data = settings.data.expanduser()
    if settings.configured_database() is None and not (data / "pg").is_dir():
        raise Unavailable(f"no server has run in {data}: name its data directory by --data")
    with reached_database(settings) as url:
        yield url


@contextlib.contextmanager
def _owned_database(settings: Settings) -> Generator[str]:
    if (url := settings.configured_database()) is not None:
        yield url
        return
    refuse_too_many_connections(settings)
    with EmbeddedPostgres(settings.data) as address:
        yield address.url


@contextlib.contextmanager
def _address_left(settings: Settings) -> Generator[None]:
    """While it serves, where it listens stands in the data directory, for programs beside it."""
    file = settings.data.expanduser() / ADDRESS_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{near_url(settings)}\n", encoding="utf-8")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def left_address(settings: Settings) -> str | None:
    """Where the server of the data directory listens, as it wrote down; None where none does."""
    try:
        return (settings.data.expanduser() / ADDRESS_FILE).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def near_url(settings: Settings) -> str:
    """Where a program on this machine reaches the server."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104 - what it listens on
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def refuse_open_house(settings: Settings) -> None:
    """Without keys anyone who reaches the port is operator: then only this machine may."""
    if settings.insecure_local and not is_loopback(settings.host):
        raise Rejected(
            f"--insecure-local serves without keys, so it listens on loopback only, not on "
            f"{settings.host}: leave out one of the two",
            field="MEMLIFT_HOST",
        )


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def refuse_missing_library(settings: Settings) -> None:
    """A language model that is named and cannot be asked would be missed only in the numbers."""
    if settings.llm_model is not None and not library_is_installed():
        raise Rejected(
            "MEMLIFT_LLM_MODEL needs the extra llm: install requirements-llm.lock, or unset it",
            field="MEMLIFT_LLM_MODEL",
        )
    for name, wanted in (
        ("MEMLIFT_EVALUATIONS", settings.evaluations is not None),
        ("MEMLIFT_TRACING", settings.tracing),
    ):
        if wanted and importlib.util.find_spec("opentelemetry.sdk") is None:
            raise Rejected(
                f"{name} needs the extra otel: install requirements-otel.lock, or unset it",
                field=name,
            )


def refuse_unpinned_models(settings: Settings) -> None:
    """Models elsewhere that nothing pins, or that cannot be read, are found out before anything
    starts.
    """
    language_models(settings)
    opening.embedding_server(settings)
    opening.reranking_server(settings)


def refuse_taken_port(settings: Settings) -> None:
    """Find out before anything starts; the line names what to change."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with contextlib.closing(socket.socket(family)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as fault:
            raise Unavailable(_why_not(settings, fault)) from fault


def _why_not(settings: Settings, fault: OSError) -> str:
    if fault.errno == errno.EADDRINUSE:
        return (
            f"port {settings.port} on {settings.host} is taken: stop what listens there, or choose "
            "another with --port or MEMLIFT_PORT"
        )
    return f"cannot listen on {settings.host}:{settings.port}: {fault.strerror or fault}"


def connections_wanted(settings: Settings) -> int:
    """How many all workers together may open."""
    return settings.workers * (settings.pool_size + PoolSettings().overflow)


def refuse_too_many_connections(settings: Settings) -> None:
    wanted = connections_wanted(settings)
    if wanted > EMBEDDED_CONNECTIONS:
        workers, size, more = settings.workers, settings.pool_size, PoolSettings().overflow
        fewer = EMBEDDED_CONNECTIONS // (size + more)
        smaller = EMBEDDED_CONNECTIONS // workers - more
        fits = [
            *([f"{counted(fewer, 'worker')} with that pool"] if fewer else []),
            *(
                [f"MEMLIFT_POOL_SIZE={smaller} with so many workers"]
                if smaller >= LEAST_POOL
                else []
            ),
        ]
        raise Rejected(
            f"{counted(workers, 'worker')} may open {size} + {more} connections each, {wanted} in"
            f" all, and the embedded database has {EMBEDDED_CONNECTIONS} for them. What fits: "
            f"{', or '.join(fits) or 'fewer of both'}",
            field="MEMLIFT_POOL_SIZE",
        )


def _say_what_workers_share(settings: Settings) -> None:
    if settings.workers > 1:
        click.echo(workers_told(settings), err=True)


def workers_told(settings: Settings) -> str:
    """What several workers share and what each has of its own."""
    kept = settings.resident_bytes // 1024**2
    owners = opening.owners_of(settings)
    if owners > 1:
        models = f"{owners} processes more hold the model, each on a card of its own"
    elif owners:
        models = "one process more holds the model for all"
    else:
        models = "the model runs elsewhere"
    return (
        f"{settings.workers} workers: {models}; each worker keeps copies of namespaces of its own,"
        f" up to {kept} MiB, and limits of rates count in each"
    )


class Serving(uvicorn.Config):
    """The configuration of uvicorn; it travels to every worker and is loaded there."""

    connection_limits: ConnectionLimits

    def load(self) -> None:
        end_with_parent()
        super().load()


class Announced(uvicorn.Server):
    """Says where it is when it listens, to whoever started it."""

    def __init__(self, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self._settings = settings

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            link = None
            if sys.stderr.isatty() and not self._settings.insecure_local:
                link = await login_link(self._settings, near_url(self._settings))
            announce(self._settings, link)


def announce(settings: Settings, link: str | None = None) -> None:
    """Print the banner to standard error, whole where a person sees it."""
    banner = Banner(settings, near_url(settings), link)
    click.echo("\n".join(banner.lines(to_person=sys.stderr.isatty())), err=True)


class WithoutQuery(logging.Filter):
    """Keeps out of the access log what was asked: words that somebody searched for, filters,
    cursors.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            bare = (one.split("?", 1)[0] if isinstance(one, str) else one for one in record.args)
            record.args = tuple(bare)
        return True


class WithoutCancelled(logging.Filter):
    """Keeps out work that was given up because the server ends: it is taken up at the next start,
    and a traceback would tell of a fault where there is none.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        fault = record.exc_info[1] if record.exc_info else None
        return not isinstance(fault, asyncio.CancelledError)


GIVEN_UP_BY = ("apscheduler.executors.default", "sqlalchemy.pool.impl.AsyncAdaptedQueuePool")
LOGGING: dict[str, Any] = {
    **LOGGING_CONFIG,
    "filters": {
        "without_query": {"()": WithoutQuery},
        "without_cancelled": {"()": WithoutCancelled},
    },
    "loggers": {
        **LOGGING_CONFIG["loggers"],
        **{name: {"filters": ["without_cancelled"]} for name in GIVEN_UP_BY},
    },
    "handlers": {
        **LOGGING_CONFIG["handlers"],
        "access": {**LOGGING_CONFIG["handlers"]["access"], "filters": ["without_query"]},
    },
}


OUR_LOGGERS = ("memory", "memlift")


def _logging_at(level: str) -> dict[str, Any]:
    """Our own lines stand among those of the web server, from the same level on."""
    ours = {"handlers": ["default"], "level": level.upper(), "propagate": False}
    return {**LOGGING, "loggers": {**LOGGING["loggers"], **dict.fromkeys(OUR_LOGGERS, ours)}}


def _run(settings: Settings, application: str) -> None:
    publish({"data": settings.data.expanduser().absolute()})
    config = Serving(
        application,
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        log_level=settings.log_level,
        log_config=_logging_at(settings.log_level),
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        http=BoundedConnection,
        ws="none",
        backlog=1 if settings.workers > 1 else WAITING_CALLERS,
    )
    config.connection_limits = ConnectionLimits(
        settings.head_timeout.total_seconds(), settings.body_timeout.total_seconds()
    )
    if settings.workers > 1:
        _run_workers(config, settings, application)
        return
    server = Announced(config, settings)
    server.run()
    if not server.started:
        raise Unavailable("the application did not start: the lines above say why")


def _run_workers(config: Serving, settings: Settings, application: str) -> None:
    def welcome() -> None:
        link = None
        if sys.stderr.isatty() and not settings.insecure_local:
            link = asyncio.run(login_link(settings, near_url(settings)))
        announce(settings, link)

    with meeting_folder(settings.data) as folder:
        Supervisor(
            config=config,
            application=application,
            folder=folder,
            owners=opening.owners_of(settings),
            announce=welcome,
            log=_logging_at(settings.log_level),
        ).run()


def _end_on_signals() -> None:
    # uvicorn stops on a signal and then raises it again: it must end in an exit that unwinds,
    # or Postgres would be left behind.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - as signals call
    # What this interrupts is rolled back, and the driver would complain of an end that is wanted.
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)
    sys.exit(0)


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
