"""A server of one's own: started as a process, watched until it is ready, stopped at the end."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from memory.kernel.postgres.embedded.ports import find_free_port

SOURCE = Path(__file__).parents[2]
READY_WITHIN = 300.0
STOP_WITHIN = 30.0
LOOK_EVERY = 0.5
TOLD_EVERY = 5.0

Say = Callable[[str], None]


class ServerFailed(Exception):
    """The server did not become ready; the message has the end of its log."""


@dataclass(slots=True)
class LocalServer:
    """A running `memlift serve`: where it listens, what it calls its own, and its process."""

    url: str
    folder: Path
    process: "subprocess.Popen[bytes]"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def key(self) -> str:
        """The operator key that the first start wrote."""
        return (self.data / "operator.key").read_text(encoding="utf-8").strip()

    def log_end(self, lines: int = 12) -> str:
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def stop(self) -> None:
        """End it as an operator would; kill it where it does not listen."""
        if self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def remove(self) -> None:
        """Delete all it has written; only after `stop`."""
        shutil.rmtree(self.folder, ignore_errors=True)


def fresh_folder(name: str) -> Path:
    """A new folder for one server. The database may run as another account (it refuses root),
    which has to pass through to its own, closed folder within.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    folder.chmod(0o711)
    return folder


def start(
    folder: Path, settings: Mapping[str, str], say: Say, source: Path = SOURCE
) -> LocalServer:
    """A server on a free port of loopback, with `folder`/data as its data directory and `settings`
    added to its environment; its code is read from `source`. Returns when it is ready; raises
    ServerFailed when it will not be.
    """
    port = find_free_port()
    command = [sys.executable, "-m", "server.cli", "serve"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--data", str(folder / "data")]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command line, no shell
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **settings},
            cwd=source,
            start_new_session=True,
        )
    server = LocalServer(f"http://127.0.0.1:{port}", folder, process)
    try:
        _wait(server, say)
    except BaseException:
        server.stop()
        raise
    return server


def _wait(server: LocalServer, say: Say) -> None:
    began = told = time.monotonic()
    # Asked without the client: a benchmark starts servers of earlier releases, too.
    with httpx.Client(base_url=server.url, timeout=5.0) as client:
        while (missing := _missing(client)) is not None:
            now = time.monotonic()
            if server.process.poll() is not None:
                raise ServerFailed(f"the server ended:\n{server.log_end()}")
            if now - began > READY_WITHIN:
                raise ServerFailed(f"the server is not ready ({missing}):\n{server.log_end()}")
            if now - told >= TOLD_EVERY:
                told = now
                say(f"  {now - began:3.0f} s: {missing}")
            time.sleep(LOOK_EVERY)
    say(f"  ready after {time.monotonic() - began:.0f} s")


def _missing(client: httpx.Client) -> str | None:
    """What readiness still waits for; None when nothing."""
    try:
        answer = client.get("/health/ready")
    except httpx.TransportError:
        return "waiting for the server to answer"
    if answer.is_success:
        return None
    try:
        checks = answer.json()["checks"].items()
    except (ValueError, KeyError):
        return f"the server answers, but not well: {answer.status_code}"
    lacking = [f"{name}: {check['detail']}" for name, check in checks if not check["ok"]]
    return "; ".join(lacking) or f"the server answers {answer.status_code}"
