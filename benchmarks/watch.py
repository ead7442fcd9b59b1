"""How much memory a server takes at its largest, looked at while it works."""

import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

EVERY = 0.25


class MemoryWatch:
    """Peaks in bytes: `server` is the resident memory of the server's processes, `database` the
    proportional memory of the embedded Postgres (whose processes share theirs); 0 where it was not
    found.
    """

    def __init__(self, pid: int, data: Path | None) -> None:
        self.server = 0
        self.database = 0
        self._pid, self._data = pid, data
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        database = postmaster(self._data)
        while not self._over.is_set():
            ours = [p for p in family(self._pid) if database is None or p.pid != database]
            self.server = max(self.server, _total(ours, "rss", "postgres"))
            if database is not None:
                self.database = max(self.database, _total(family(database), "pss", ""))
            self._over.wait(EVERY)


def family(pid: int) -> list[psutil.Process]:
    """The process and all that came of it; nothing where it has ended."""
    try:
        head = psutil.Process(pid)
        return [head, *head.children(recursive=True)]
    except psutil.Error:
        return []


def _total(processes: Iterable[psutil.Process], kind: str, without: str) -> int:
    total = 0
    for process in processes:
        try:
            if without and process.name() == without:
                continue
            total += int(getattr(process.memory_full_info(), kind))
        except (psutil.Error, AttributeError):
            continue
    return total


def postmaster(data: Path | None) -> int | None:
    """The process id that Postgres wrote into its data directory."""
    if data is None:
        return None
    for file in data.glob("*/postmaster.pid"):
        return int(file.read_text(encoding="utf-8").splitlines()[0])
    return None
