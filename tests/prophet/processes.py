"""The agent's service as a process, and an environment in which nothing beyond this machine is
reached.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx

from memory.kernel.postgres.embedded.ports import find_free_port

ROOT = Path(__file__).parents[2]
GUARD = Path(__file__).parent / "guard"
PATIENCE_SECONDS = 120
LOOK_SECONDS = 0.1

Body = dict[str, Any]
Prophet = Callable[..., "subprocess.CompletedProcess[str]"]


def offline(environment: Mapping[str, str]) -> dict[str, str]:
    """This environment, with the checkout's code and a guard on the sockets."""
    path = os.pathsep.join(map(str, (GUARD, ROOT, ROOT / "clients" / "python")))
    foreign = {k: v for k, v in environment.items() if not k.lower().endswith("_proxy")}
    return foreign | {"PYTHONPATH": path, "PYTHONWARNINGS": "default"}


@dataclass
class Agent:
    """`python -m clients.prophet serve`: where it listens, its process, and what it logged."""

    port: int
    process: "subprocess.Popen[bytes]"
    log: IO[bytes]

    @classmethod
    def serving(cls, *words: str) -> "Agent":
        port = find_free_port()
        log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        process = subprocess.Popen(
            [sys.executable, "-m", "clients.prophet", "serve", "--port", str(port), *words],
            cwd=ROOT,
            env=offline(os.environ),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        return cls(port, process, log)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/predict"

    def await_ready(self) -> "Agent":
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._answers():
            assert self.process.poll() is None, self.logged()
            assert time.monotonic() < deadline, self.logged()
            time.sleep(LOOK_SECONDS)
        return self

    def predict(self, event: Body) -> Body:
        answer = httpx.post(self.url, json=event, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refuses(self, event: Body) -> bool:
        return httpx.post(self.url, json=event, timeout=60).status_code == 422

    def logged(self) -> str:
        self.log.seek(0)
        return self.log.read().decode()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_SECONDS)
        self.log.close()

    def _answers(self) -> bool:
        try:
            httpx.get(self.url, timeout=10)
        except httpx.TransportError:
            return False
        return True
