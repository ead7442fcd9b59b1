"""Servers side by side: today's with a resident copy and without, and the first release's."""

import subprocess
import tarfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit
from uuid import UUID

from benchmarks.bench import Bench, Served
from benchmarks.guidelines.first_release import REVISION, ROOT
from benchmarks.load import Hit, Shot, fire
from benchmarks.suites.hot_path.filling import Texts, fill
from benchmarks.texts import AREAS, experiences
from clients.demo.server import ServerFailed, fresh_folder, start

FIRST, SQL, COPY, WORKERS = "first_release", "database", "copy", "workers"
"""The first release; today without a resident copy; with one; with one in each of some workers."""
CARDS = "cards"
"""As many workers, which share several cards."""
MEANING = "copy_by_meaning"
"""With a copy, by meaning alone."""
KEPT = {SQL: 0, **dict.fromkeys((COPY, MEANING, WORKERS, CARDS), 4 * 1024**3)}
"""Bytes for resident copies; the first release has none."""
BY_MEANING = {SQL, MEANING}
"""With `rerank` none: without a copy, counting words takes the database half a second."""

GPU = "gpu"
"""Whether there is a card that the server uses, among the numbers of a run."""

PARTS = ("clients", "memory", "migrations", "server")
SLUG = "hot-path"
AGENTS = 8
K = 3
# A key may ask as fast as it is answered: what is measured is the server, not its limit.
UNLIMITED = {"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"}


@dataclass(frozen=True, slots=True)
class Contender:
    """A server under its name, and the namespace in it that was filled."""

    name: str
    served: Served
    namespace_id: UUID
    prefix: str = f"/v1/namespaces/{SLUG}"

    @property
    def database_url(self) -> str:
        url = self.served.database_url()
        assert url is not None
        return url

    def ask(self, text: str) -> Shot:
        return Shot("POST", f"{self.prefix}/retrievals", request(text))

    def ask_all(self, texts: Sequence[str]) -> Shot:
        items = {"items": [request(text) for text in texts]}
        return Shot("POST", f"{self.prefix}/retrievals/batch", items)


def request(text: str) -> dict[str, object]:
    return {"agent": "agent-0", "task": {"text": text}, "k": K}


@contextmanager
def contenders(
    bench: Bench, names: Sequence[str], texts: Texts
) -> Generator[Mapping[str, Contender]]:
    """These servers, each with the same memories; the first release is left out, and that is said,
    where its source is not at hand.
    """
    with ExitStack() as stack:
        found: dict[str, Contender] = {}
        for name in names:
            source = ROOT if name != FIRST else first_release(bench.folder)
            if source is None:
                bench.say(f"no source of {REVISION} is at hand: it is not measured")
                continue
            bench.say(f"starting {name}")
            served = stack.enter_context(serving(name, source, shared_by(bench, name)))
            found[name] = prepare(name, served, texts)
        settle(bench)
        yield found


def settle(bench: Bench) -> None:
    """Within a minute a new namespace has the first runs of all jobs, which are not measured."""
    bench.say(f"waiting {bench.settings['settle']} s for the first runs of the jobs")
    time.sleep(bench.settings["settle"])


def shared_by(bench: Bench, name: str) -> Mapping[str, str]:
    """How many processes and cards a server has."""
    if name not in (WORKERS, CARDS):
        return {}
    cards = bench.settings["cards"] if name == CARDS else 1
    return {"MEMLIFT_WORKERS": str(bench.settings["workers"]), "MEMLIFT_CARDS": str(cards)}


@contextmanager
def serving(
    name: str, source: Path = ROOT, more: Mapping[str, str] | None = None
) -> Generator[Served]:
    """`more`: variables beside those of its name."""
    settings = {
        **UNLIMITED,
        **({"MEMLIFT_RESIDENT_BYTES": str(KEPT[name])} if name in KEPT else {}),
        **(more or {}),
    }
    own = start(fresh_folder(f"memlift-{name}"), settings, print, source)
    try:
        yield Served(own.url, own.key(), own.data, own.process.pid)
    finally:
        own.stop()
        own.remove()


def first_release(folder: Path) -> Path | None:
    """Where the code of the first release is, taken from the history, or from an archive of it
    (`first-release.tar.gz`) that lies in `folder`; None where there is neither.
    """
    place = folder / "first-release"
    if not (place / "server").is_dir():
        packed = folder / "first-release.tar.gz"
        archive = packed.read_bytes() if packed.exists() else _archive()
        if archive is None:
            return None
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(place, filter="data")
    return place


def _archive() -> bytes | None:
    command = ["git", "archive", REVISION, *PARTS]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)  # noqa: S603 - fixed words, no shell
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def prepare(name: str, served: Served, texts: Texts, slug: str = SLUG) -> Contender:
    """A namespace with all the texts: one of each agent and category over HTTP, the others copied
    from these by SQL. Every retrieval is served in full.
    """
    settings = {"control_rate": 0.0} | ({"rerank": "none"} if name in BY_MEANING else {})
    body = {"slug": slug, "settings": settings}
    made = expect(served, Shot("POST", "/v1/namespaces", body))
    contender = Contender(name, served, UUID(made.answer["id"]), f"/v1/namespaces/{slug}")
    patterns = list(islice(_patterns(), AGENTS * len(AREAS)))
    shot = Shot("POST", f"{contender.prefix}/experiences/batch", {"items": patterns})
    expect(served, shot)
    fill(contender.database_url, contender.namespace_id, texts)
    return contender


def _patterns() -> Generator[dict[str, object]]:
    """An experience of each agent in each category, without repeating any of the texts."""
    for place, one in enumerate(experiences(AGENTS * len(AREAS), seed=900)):
        yield {
            **one,
            "agent": f"agent-{place % AGENTS}",
            "category": sorted(AREAS)[place // AGENTS],
        }


def expect(served: Served, shot: Shot) -> Hit:
    """The answer of a shot that has to go well, all of its items included."""
    [hit] = fire(served, [shot], 1)
    items: Sequence[Mapping[str, Any]] = ()
    if isinstance(hit.answer, dict):
        items = hit.answer.get("items", ())
    refused = [item for item in items if item.get("status", 0) >= FIRST_PROBLEM]
    if not hit.timing.ok or refused:
        raise ServerFailed(f"{shot.path}: {hit.status} {refused[:1] or hit.answer}")
    return hit


FIRST_PROBLEM = 300


def read_metrics(served: Served) -> str:
    """What a server says at `/metrics`."""
    place = urlsplit(served.url)
    line = HTTPConnection(cast("str", place.hostname), place.port)
    line.request("GET", "/metrics", headers={"Authorization": f"Bearer {served.key}"})
    said = line.getresponse().read().decode()
    line.close()
    return said
