"""Several serving processes at one address: who starts them, watches them and ends them.

The parent holds the address, and its Postgres where that is its own; it serves nothing. A process
that ends unasked is started again, at once the first time and later the longer the sooner it fell.
"""

import asyncio
import copy
import logging
import logging.config
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.importer import import_from_string
from uvicorn.supervisors.multiprocess import Process

from memory.inference.owner import ModelOwner
from memory.inference.shared import SILENT, OwnerWatch
from memory.kernel.errors import Unavailable
from server import opening
from server.placement import OWNER, Placement, owner_name, owner_socket, write_restarts
from server.settings import Settings, load

LOOK_SECONDS = 0.2
# A worker that loads a library may be silent for that long; one that is longer is taken for hung.
SILENT_SECONDS = 60.0
SILENCES_OF_OWNER = 6
"""Each of `shared.SILENCE` seconds."""
END_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0
WELL_AFTER = 60.0
"""Seconds of life after which a process that ends is started again at once."""
WAITING_CALLERS = 2_048

logger = logging.getLogger("memlift")


def end_with_parent() -> None:
    """A worker whose parent was killed would keep the port and write beside the next server."""
    if (parent := multiprocessing.parent_process()) is None:
        return

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="parent-watch", daemon=True).start()


@dataclass(frozen=True, slots=True)
class PlacedApplication:
    """Makes the application of one worker, in that worker."""

    application: str
    placement: Placement

    def __call__(self) -> Any:
        return import_from_string(self.application)(self.placement)


class TakingTurns(uvicorn.Server):
    """Takes one caller at a time off the address that all workers share (`backlog` 1): whoever is
    busy leaves the next one to the others. How many may wait is said again behind it.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(WAITING_CALLERS)


class Worker(Process):
    """A serving process that is asked, without waiting, whether it still answers."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket]) -> None:
        super().__init__(config, sockets)
        self._heard_at = time.monotonic()
        self._is_asked = False
        self.serves = False

    @property
    def server(self) -> uvicorn.Server:
        if self._server is None:
            self._server = TakingTurns(self.config)
        return self._server

    def is_hung(self) -> bool:
        """Whether it has not said a word for long; also finds out whether it serves."""
        if self._is_asked and self.parent_conn.poll(0):
            self.serves = self.parent_conn.recv()
            self._heard_at, self._is_asked = time.monotonic(), False
        if not self._is_asked:
            self.parent_conn.send(b"ping")
            self._is_asked = True
        return time.monotonic() - self._heard_at > SILENT_SECONDS


class OwnerProcess:
    """A process that holds the models, and how often it was silent lately."""

    serves = False

    def __init__(self, folder: Path, log: dict[str, Any], number: int) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.process = spawn.Process(
            target=hold_models, args=(str(folder), log, number), name=owner_name(number)
        )
        self._silences = 0
        self._watch: OwnerWatch | None = None
        self._place = owner_socket(folder, number)

    def start(self) -> None:
        self.process.start()
        self._watch = OwnerWatch(self._place, self._hear)

    def is_hung(self) -> bool:
        return self._silences > SILENCES_OF_OWNER

    def forget(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def _hear(self, fault: Unavailable | None) -> None:
        self._silences = self._silences + 1 if fault is not None and fault.kind == SILENT else 0


def hold_models(folder: str, log: dict[str, Any], number: int) -> None:
    """What an owner of the models runs, until it is told to end."""
    logging.config.dictConfig(log)
    end_with_parent()
    # At a terminal Ctrl-C reaches all processes at once: the workers are to finish before.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_hold(load(), Path(folder), number))
    # There is nothing to keep, and a usual exit would wait for a model that still loads.
    logging.shutdown()
    os._exit(0)


async def _hold(settings: Settings, folder: Path, number: int) -> None:
    ending = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ending.set)
    owner = ModelOwner(opening.owned_models(settings, number))
    async with owner.answering(owner_socket(folder, number)):
        await ending.wait()


@dataclass(slots=True)
class ProcessSlot:
    """What one process after the other fills: the owner's part, or that of a worker."""

    name: str
    make: Callable[[], Worker | OwnerProcess]
    holder: Worker | OwnerProcess | None = None
    began: float = 0.0
    falls: int = 0
    again_at: float = 0.0
    restarts: int = -1

    def fill(self) -> Worker | OwnerProcess:
        holder = self.make()
        holder.start()
        self.holder, self.began = holder, time.monotonic()
        self.restarts += 1
        return holder

    def empty(self) -> float:
        """Its process has ended unasked; the seconds until the next one is started."""
        lived = time.monotonic() - self.began
        self.falls = 0 if lived > WELL_AFTER else self.falls + 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self.falls - 1)) if self.falls else 0.0
        if isinstance(self.holder, OwnerProcess):
            self.holder.forget()
        self.holder, self.again_at = None, time.monotonic() + pause
        return pause


@dataclass(slots=True)
class Supervisor:
    """The processes of one server; `announce` is called once, when the first worker serves."""

    config: uvicorn.Config
    application: str
    folder: Path
    owners: int
    announce: Callable[[], None]
    log: dict[str, Any]
    _ending: threading.Event = field(default_factory=threading.Event)
    _has_served: bool = False

    def run(self) -> None:
        """Until a signal. Raises Unavailable where the application cannot start."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)
        slots = self._slots([self.config.bind_socket()])
        try:
            self._fill(slots)
            self._tell(slots)
            while not self._ending.wait(LOOK_SECONDS):
                for slot in slots:
                    self._look(slot)
                now = time.monotonic()
                if due := [one for one in slots if one.holder is None and one.again_at <= now]:
                    self._fill(due)
                    self._tell(slots)
        finally:
            self._end(slots)

    def _hear(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as signals call
        self._ending.set()

    def _slots(self, sockets: list[socket.socket]) -> list[ProcessSlot]:
        """Those of the owners first: they take longest, and end last."""
        owners = [
            ProcessSlot(owner_name(number), partial(OwnerProcess, self.folder, self.log, number))
            for number in range(1, self.owners + 1)
        ]
        workers = [
            ProcessSlot(str(index), partial(self._worker, index, sockets))
            for index in range(1, self.config.workers + 1)
        ]
        return [*owners, *workers]

    def _worker(self, index: int, sockets: list[socket.socket]) -> Worker:
        config = copy.copy(self.config)
        placement = Placement(self.folder, index, config.workers, self.owners)
        config.app = PlacedApplication(self.application, placement)
        return Worker(config, sockets)

    def _look(self, slot: ProcessSlot) -> None:
        holder = slot.holder
        if holder is None:
            return
        if holder.process.is_alive():
            if holder.is_hung():
                logger.error("%s (process %s) hangs: it is killed", _called(slot), _pid(holder))
                holder.process.kill()
            if holder.serves and not self._has_served:
                self._has_served = True
                self.announce()
            return
        holder.process.join()
        status = holder.process.exitcode
        if status == STARTUP_FAILURE and not self._has_served:
            raise Unavailable("the application did not start: the lines above say why")
        pause = slot.empty()
        logger.error(
            "%s (process %s) ended with status %s: it is started again in %.2g s",
            *(_called(slot), _pid(holder), status, pause),
        )

    def _fill(self, slots: list[ProcessSlot]) -> None:
        for slot in slots:
            holder = slot.fill()
            logger.info("%s is process %s", _called(slot), _pid(holder))

    def _tell(self, slots: list[ProcessSlot]) -> None:
        write_restarts(self.folder, {slot.name: slot.restarts for slot in slots})

    def _end(self, slots: list[ProcessSlot]) -> None:
        """All workers at once, each finishing what it serves; then the owner."""
        workers = [one for slot in slots if isinstance(one := slot.holder, Worker)]
        owners = [one for slot in slots if isinstance(one := slot.holder, OwnerProcess)]
        for some in (workers, owners):
            for one in some:
                if isinstance(one, OwnerProcess):
                    one.forget()
                one.process.terminate()
            for one in some:
                one.process.join(END_SECONDS)
                if one.process.is_alive():
                    one.process.kill()
                    one.process.join()


def _called(slot: ProcessSlot) -> str:
    if not slot.name.startswith(OWNER):
        return f"worker {slot.name}"
    return f"the owner of the models{slot.name.removeprefix(OWNER).replace('-', ' ')}"


def _pid(holder: Worker | OwnerProcess) -> int | None:
    return holder.process.pid
