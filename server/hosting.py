"""What stands around the application: its database, its port, its processes and its end."""

import contextlib
import errno
import ipaddress
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Generator
from types import FrameType
from typing import NoReturn

import click
import uvicorn
from uvicorn.supervisors import Multiprocess

from memory.kernel.errors import Rejected, Unavailable
from memory.kernel.postgres import compatibility
from memory.kernel.postgres.embedded import EmbeddedPostgres, reached
from memory.kernel.postgres.migrate import heads, upgrade
from memory.llm.provider import library_is_installed
from server.settings import Settings, publish

APPLICATION = "server.app:create_app"
GRACE_SECONDS = 10
# A worker that loads a model may be silent for that long; uvicorn would replace it sooner.
LOADING_SECONDS = 60
# The embedded server admits 100; some are kept for commands and for the leader.
EMBEDDED_CONNECTIONS = 90


def serve(settings: Settings, application: str = APPLICATION) -> None:
    """Serve until told to end; then the application stops first and its own Postgres last."""
    refuse_open_house(settings)
    refuse_missing_library(settings)
    refuse_taken_port(settings)
    _end_on_signals()
    with _owned_database(settings) as url:
        try:
            compatibility.check(compatibility.facts(url))
            migrated(url)
            _say_what_workers_cost(settings)
            _run(settings, application)
        finally:
            _ignore_signals()


def migrated(url: str) -> str:
    """Bring the database to head and look again from outside: success is what others see."""
    upgrade(url)
    current, head = heads(url)
    if current != head:
        raise Unavailable(f"the migration ran, yet the database is at {current}, not at {head}")
    return head


@contextlib.contextmanager
def reached_database(settings: Settings) -> Generator[str]:
    """The database for a command beside the server: configured, running, or started for it."""
    if (url := settings.configured_database()) is not None:
        yield url
        return
    with reached(settings.data) as url:
        yield url


@contextlib.contextmanager
def _owned_database(settings: Settings) -> Generator[str]:
    if (url := settings.configured_database()) is not None:
        yield url
        return
    _refuse_too_many_connections(settings)
    with EmbeddedPostgres(settings.data) as address:
        yield address.url


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


def _refuse_too_many_connections(settings: Settings) -> None:
    wanted = settings.workers * settings.pool_size
    if wanted > EMBEDDED_CONNECTIONS:
        raise Rejected(
            f"{settings.workers} workers with {settings.pool_size} connections each are more than "
            f"the {EMBEDDED_CONNECTIONS} of the embedded database: lower MEMLIFT_POOL_SIZE",
            field="MEMLIFT_POOL_SIZE",
        )


def _say_what_workers_cost(settings: Settings) -> None:
    if settings.workers > 1:
        click.echo(
            f"{settings.workers} workers: each loads its own copy of the model and of the index, "
            "and all share the processors of this machine",
            err=True,
        )


class Serving(uvicorn.Config):
    """The configuration of uvicorn; it travels to every worker and is loaded there."""

    def load(self) -> None:
        _end_with_parent()
        super().load()


def _run(settings: Settings, application: str) -> None:
    publish({"data": settings.data.expanduser().absolute()})
    config = Serving(
        application,
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        log_level=settings.log_level,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_worker_healthcheck=LOADING_SECONDS,
    )
    if settings.workers > 1:
        Multiprocess(config, sockets=[config.bind_socket()]).run()
        return
    server = uvicorn.Server(config)
    server.run()
    if not server.started:
        raise Unavailable("the application did not start: the lines above say why")


def _end_with_parent() -> None:
    """A worker whose parent was killed would keep the port and write beside the next server."""
    if (parent := multiprocessing.parent_process()) is None:
        return

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="parent-watch", daemon=True).start()


def _end_on_signals() -> None:
    # uvicorn stops on a signal and then raises it again: it must end in an exit that unwinds,
    # or Postgres would be left behind.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - as signals call
    sys.exit(0)


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
