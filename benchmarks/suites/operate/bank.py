"""What parts of the suite `operate` share: the namespace they work on, and the ways to ask of a
server.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.bench import Bench
from benchmarks.suites.hot_path.filling import made_texts, multiplied
from benchmarks.suites.hot_path.servers import prepare

ROOT = Path(__file__).parents[3]
PATIENCE = 3600
SLUG = "operated"
EMBEDDED = 2_000
"""Texts with vectors of their own; a larger namespace has these again, numbered, with noise."""


@dataclass(frozen=True, slots=True)
class Operated:
    """A server under measurement as its operator has it: over HTTP, and beside its data."""

    bench: Bench
    client: httpx.Client
    home: Path

    def post(self, path: str, body: object) -> dict[str, Any]:
        answer = self.client.post(path, json=body)
        answer.raise_for_status()
        return json.loads(answer.text)

    def command(self, name: str, *words: object) -> str:
        """Run it beside the server, and keep how long it took, its start included. Raises
        CalledProcessError where it fails.
        """
        begun = time.monotonic()
        done = subprocess.run(  # noqa: S603 - a command of ours
            [sys.executable, "-m", "server.cli", *map(str, words), "--data", str(self.home)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        self.bench.number(name, time.monotonic() - begun, "s")
        for line in (done.stdout + done.stderr).splitlines()[-4:]:
            self.bench.say(f"{name}: {line}")
        done.check_returncode()
        return done.stdout


def fill(operated: Operated) -> None:
    """A namespace of so many memories, copied in by SQL, and some runs that were learned from."""
    bench = operated.bench
    count, seed = bench.settings["memories"], bench.settings["seed"]
    texts = made_texts(bench.folder.parent, min(count, EMBEDDED), seed)
    prepare(SLUG, bench.server, multiplied(texts, count, seed), SLUG)
    bench.say(f"filled with {count} memories")
    for number in range(bench.settings["runs"]):
        ask = {"agent": f"agent-{number % 5}", "task": {"text": f"task {number} of the day"}}
        served = operated.post(f"/v1/namespaces/{SLUG}/retrievals", ask)
        place = f"/v1/namespaces/{SLUG}/retrievals/{served['retrieval_id']}/outcome"
        operated.post(place, {"reward": (number % 10) / 10})
    operated.post(f"/v1/namespaces/{SLUG}/outcomes/apply", {})
    bench.say("learned")
