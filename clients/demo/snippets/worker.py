"""The process that runs snippets: jobs come as JSON on stdin, verdicts go as JSON to stdout.

Each job runs in a child of its own, with limits on time, memory and files, so that one that hangs,
crashes or spoils something harms no other. It is started by path and imports no other module of
the project.
"""

import builtins
import copy
import csv
import heapq
import io
import json
import math
import os
import re
import resource
import select
import signal
import sqlite3
import string
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

CPU_SECONDS = 2
MEMORY = 1 << 30
FILES = 16
LONGEST = 300
DIED = f"ended without an answer, perhaps after {CPU_SECONDS} s of work"
CHUNK = 65536
WORDS = (
    "abs all any bool dict enumerate filter float format int iter len list map max min range "
    "repr reversed round set sorted str sum tuple zip"
)
SAFE = {name: getattr(builtins, name) for name in WORDS.split()}
# Of modules only what snippets need: from a whole one it is two steps to `sys` and to files.
LIBRARY: Mapping[str, Any] = {
    "Decimal": Decimal,
    "ROUND_HALF_UP": ROUND_HALF_UP,
    "ZoneInfo": ZoneInfo,
    "copy": SimpleNamespace(copy=copy.copy, deepcopy=copy.deepcopy),
    "csv": SimpleNamespace(reader=csv.reader, writer=csv.writer),
    "datetime": datetime,
    "heapq": SimpleNamespace(nlargest=heapq.nlargest, nsmallest=heapq.nsmallest),
    "io": SimpleNamespace(StringIO=io.StringIO),
    "json": SimpleNamespace(dumps=json.dumps, loads=json.loads),
    "math": SimpleNamespace(ceil=math.ceil, floor=math.floor, trunc=math.trunc),
    "re": SimpleNamespace(
        finditer=re.finditer, fullmatch=re.fullmatch, match=re.match, search=re.search, sub=re.sub
    ),
    "string": SimpleNamespace(capwords=string.capwords),
    "timedelta": timedelta,
    "timezone": timezone,
    "zip_longest": zip_longest,
}
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}

Job = Mapping[str, Any]
Verdict = dict[str, Any]


def main() -> None:
    request = json.load(sys.stdin)
    json.dump([judge(job, float(request["seconds"])) for job in request["jobs"]], sys.stdout)


def judge(job: Job, seconds: float) -> Verdict:
    """What a child of its own found; a child that takes too long is killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _answer_and_leave(job, writer)
    os.close(writer)
    said = _read(reader, seconds)
    os.close(reader)
    if said is None:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if said is None:
        return {"passed": False, "detail": f"took longer than {seconds:g} s"}
    return json.loads(said) if said else {"passed": False, "detail": DIED}


def _read(reader: int, seconds: float) -> bytes | None:
    """All that is written until the other end closes; None when time is up."""
    said, until = b"", time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return None
        part = os.read(reader, CHUNK)
        if not part:
            return said
        said += part


def _answer_and_leave(job: Job, writer: int) -> None:
    """In the child: run, write what came of it, end without going back."""
    try:
        _confine()
        os.write(writer, json.dumps(run(job)).encode())
    finally:
        os._exit(0)


def _confine() -> None:
    """No time, memory or file beyond what a small task needs, and nowhere to talk to."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    limits = {
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: MEMORY,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: FILES,
    }
    for limit, most in limits.items():
        # Not every system knows every limit; the clock of the parent holds everywhere.
        with suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))


def run(job: Job) -> Verdict:
    """The first check that fails, or that all passed."""
    warnings.simplefilter("ignore")
    try:
        solve = _made(job)
    except Exception as fault:  # noqa: BLE001 - whatever a snippet does is its verdict
        return {"passed": False, "detail": _told(fault)}
    for call, expected in job["checks"]:
        names = {**LIBRARY, "solve": solve}
        want = eval(expected, dict(LIBRARY))  # noqa: S307 - tests are ours
        try:
            got = eval(call, names)  # noqa: S307 - the snippet is confined to this child
        except Exception as fault:  # noqa: BLE001 - whatever a snippet does is its verdict
            return {"passed": False, "detail": f"{_short(call)} raised {_told(fault)}"}
        if not _is_same(got, want):
            return {
                "passed": False,
                "detail": f"{_short(call)} gave {_short(repr(got))}, not {_short(repr(want))}",
            }
    return {"passed": True, "detail": ""}


def _is_same(got: object, want: object) -> bool:
    """Equal, and `True` is no 1."""
    return bool(got == want) and isinstance(got, bool) == isinstance(want, bool)


def _made(job: Job) -> Callable[..., object]:
    """The answer as something that can be called."""
    code, parameters, form = job["snippet"], job["parameters"], job["form"]
    names: dict[str, Any] = {**LIBRARY, "__builtins__": SAFE}
    if form == "query":
        return partial(_rows, job["schema"], code)
    if form == "function":
        exec(code, names)  # noqa: S102 - confined to this child
        return names[code.removeprefix("def ").partition("(")[0].strip()]
    return eval(f"lambda {', '.join(parameters)}: ({code})", names)  # noqa: S307 - confined


def _rows(
    schema: str, query: str, tables: Mapping[str, Sequence[Any]], **values: object
) -> list[Any]:
    """What the query gives from these tables; it may read and nothing else."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(schema)
        for table, rows in tables.items():
            for row in rows:
                places = ", ".join("?" * len(row))
                database.execute(f"INSERT INTO {table} VALUES ({places})", row)  # noqa: S608 - ours
        database.set_authorizer(_authorize)
        return database.execute(query, values).fetchall()


def _authorize(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


def _told(fault: Exception) -> str:
    return _short(f"{type(fault).__name__}: {fault}")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


if __name__ == "__main__":
    main()
