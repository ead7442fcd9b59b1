"""What a suite works with: a server to speak to, settings, and a place to put what it measured."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from benchmarks.metrics import Row


@dataclass(frozen=True, slots=True)
class Served:
    """The server under measurement. `data` and `pid` are None for one that was not started here:
    then its memory cannot be watched, and the parts inside it not be timed apart.
    """

    url: str
    key: str
    data: Path | None
    pid: int | None

    def database_url(self) -> str | None:
        """Where the server's database listens, as the server wrote it down."""
        if self.data is None or not (self.data / "address").exists():
            return None
        return (self.data / "address").read_text(encoding="utf-8").strip()


@dataclass(frozen=True, slots=True)
class Bench:
    """One run: the server, the settings, the open file of measurements, and the settings that are
    words.
    """

    server: Served
    settings: Mapping[str, int]
    file: TextIO
    words: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def folder(self) -> Path:
        """Where the artefacts of the run are."""
        return Path(self.file.name).parent

    def timed(self, operation: str, concurrency: int, times: Iterable["Timing"]) -> None:
        """Keep timings, one line each."""
        for timing in times:
            self._keep(
                {
                    "operation": operation,
                    "concurrency": concurrency,
                    "at": timing.at,
                    "ms": timing.ms,
                    "ok": timing.ok,
                }
            )

    def number(self, operation: str, value: float, unit: str) -> None:
        """Keep a single number."""
        self._keep({"operation": operation, "value": value, "unit": unit})

    def say(self, line: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)

    def _keep(self, row: Row) -> None:
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()


@dataclass(frozen=True, slots=True)
class Timing:
    """When it began (seconds on a monotonic clock), how long it took, whether it went well."""

    at: float
    ms: float
    ok: bool
