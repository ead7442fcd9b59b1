"""`memlift serve` as an operator runs it: a process, a data directory, a port and a log."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from memlift_client import MemLift, RetryPolicy

from memory.kernel.postgres.embedded import reached
from memory.kernel.postgres.embedded.ports import find_free_port
from tests.acceptance.warm import Forked, fork

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 240
LOOK_SECONDS = 0.1
NO_LEADER = "no process leads"
# One for all: each of its own would read all certificates anew, ten times a second.
ASKING = httpx.Client(limits=httpx.Limits(max_keepalive_connections=0))
# A test calls faster than an agent may.
GENEROUS = {"MEMLIFT_REQUEST_RATE": "1e6", "MEMLIFT_REQUEST_BURST": "1000000"}


@dataclass(frozen=True)
class Home:
    """A data directory and what lies in it."""

    data: Path

    @property
    def address(self) -> Path:
        return self.data / "address"

    @property
    def operator_key(self) -> Path:
        return self.data / "operator.key"

    def url(self) -> str:
        """Of the database that runs in here."""
        return self.address.read_text().strip()

    def postmaster(self) -> psutil.Process:
        lines = (self.data / "pg" / "postmaster.pid").read_text().splitlines()
        return psutil.Process(int(lines[0]))

    def processes(self) -> list[int]:
        """Every process of Postgres that works in here."""
        place = str(self.data.resolve() / "pg")
        found = (entry.info for entry in psutil.process_iter(["pid", "cwd"]))
        return [info["pid"] for info in found if info["cwd"] == place]

    def clear(self) -> None:
        """Stop a Postgres whose owner was killed."""
        if self.processes():
            with reached(self.data):
                pass


class Elsewhere(psutil.Process):
    """A process that another worker of this run has started."""

    def poll(self) -> int | None:
        return None if self.is_running() and self.status() != psutil.STATUS_ZOMBIE else -1


@dataclass
class Server:
    """One serving process."""

    home: Home
    port: int
    process: "subprocess.Popen[bytes] | Elsewhere | Forked"
    log: Path
    clients: list[MemLift] = field(default_factory=list)

    @classmethod
    def of(
        cls, home: Home, variables: Mapping[str, object] | None = None, *, warm: bool = False
    ) -> "Server":
        """`warm`: forked from a process that has the libraries loaded; it ends with this one."""
        port = find_free_port()
        settings = {"MEMLIFT_HOME": home.data, "MEMLIFT_PORT": port} | dict(variables or {})
        surroundings = environment(GENEROUS | {key: str(one) for key, one in settings.items()})
        log = home.data.with_name(f"server-{port}.log")
        if warm:
            return cls(home, port, fork(["serve"], ROOT, surroundings, log), log)
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "server.cli", "serve"],
                cwd=ROOT,
                env=surroundings,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return cls(home, port, process, log)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def readiness(self) -> tuple[int, dict[str, object]]:
        """The status of the answer and the checks in it; 0 where nobody answers."""
        try:
            answer = ASKING.get(f"{self.url}/health/ready", timeout=30)
        except httpx.TransportError:
            return 0, {}
        return answer.status_code, answer.json()["checks"]

    def await_ready(self) -> "Server":
        self.until(lambda: self.readiness()[0] == 200)
        return self

    def await_led(self) -> "Server":
        """Ready, and some process leads: it may be one that was killed, until its lease is over."""
        self.await_ready().until(lambda: self.leader() != NO_LEADER)
        return self

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait while the process lives."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, f"{self.readiness()}\n{self.log.read_text()}"
            time.sleep(LOOK_SECONDS)

    def leader(self) -> str:
        """Who leads, as this server sees it."""
        checks = self.readiness()[1]
        return str(checks["leader"]["detail"])  # pyright: ignore[reportIndexIssue] - JSON

    def leads(self) -> bool:
        return self.leader().endswith(f":{self.process.pid}")

    def with_leader(self, other: "Server") -> "tuple[Server, Server]":
        """These two, the one that leads first: waits until one of them does."""
        self.until(lambda: self.leads() or other.leads())
        return (self, other) if self.leads() else (other, self)

    def client(
        self, namespace: str = "default", *, key: str | None = None, attempts: int = 5
    ) -> MemLift:
        token = key or self.home.operator_key.read_text().strip()
        retry_policy = RetryPolicy(timeout=60, attempts=attempts)
        made = MemLift(self.url, token, namespace, retry_policy=retry_policy)
        self.clients.append(made)
        return made

    def stop(self) -> int:
        """As an operator does; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS) or 0

    def kill(self) -> None:
        """As the kernel does: the whole process group, at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)

    def hang_up(self) -> None:
        """Of ours alone: the process goes on."""
        for client in self.clients:
            client.close()

    def end(self) -> None:
        self.hang_up()
        if self.process.poll() is None:
            self.stop()


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of this run, with these of our variables alone."""
    foreign = {key: value for key, value in os.environ.items() if not key.startswith("MEMLIFT_")}
    return foreign | dict(variables)


def command(*words: object, **variables: object) -> "subprocess.CompletedProcess[str]":
    """`memlift WORDS`, run to its end."""
    return subprocess.run(
        [sys.executable, "-m", "server.cli", *map(str, words)],
        cwd=ROOT,
        env=environment({key: str(value) for key, value in variables.items()}),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
