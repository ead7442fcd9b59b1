"""The release before serves while its successor migrates and starts: nothing is refused or lost."""

import json
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from clients.demo.server import LocalServer, fresh_folder, start
from tests.acceptance.servers import GENEROUS, ROOT

NAMESPACE = "/v1/namespaces/upgraded"
CALLS_BESIDE = 30
"""So many rounds of calls come after the migration, before the successor starts."""
PARTS = ("memory", "server", "migrations", "clients/python")


def _git(*words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else b""


def _commits_before() -> Iterator[str]:
    """Those that have some of today's migrations and no others, the newest first."""
    here = {path.name for path in Path(ROOT, "migrations", "versions").glob("0*.py")}
    for commit in _git("rev-list", "--first-parent", "--max-count=400", "HEAD").decode().split():
        listed = _git("ls-tree", "--name-only", commit, "migrations/versions/").decode().split()
        there = {Path(name).name for name in listed} - {"__init__.py"}
        if there and there < here:
            yield commit


@pytest.fixture
def source_before(tmp_path: Path) -> Path:
    commit = next(_commits_before(), None)
    packed = b"" if commit is None else _git("archive", commit, *PARTS)
    if not packed:
        pytest.skip("no history of the repository here: the code before cannot be had")
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@contextmanager
def serving(source: Path, url: str) -> Generator[LocalServer]:
    settings = {**GENEROUS, "MEMLIFT_DATABASE_URL": url, "PYTHONPATH": str(source)}
    server = start(fresh_folder("memlift-upgrade"), settings, lambda _: None, source)
    try:
        yield server
    finally:
        server.stop()
        server.remove()


class Calling(threading.Thread):
    """Remembers, retrieves and reports until told to stop; keeps what was not answered well."""

    def __init__(self, client: httpx.Client) -> None:
        super().__init__()
        self.client, self.over, self.rounds = client, threading.Event(), 0
        self.bad: list[str] = []
        self.kept: list[str] = []
        self.told: list[str] = []

    def run(self) -> None:
        while not self.over.is_set():
            made = self.post("/experiences", self.memory())
            asked = {"agent": "solver", "task": {"text": f"case {self.rounds} of the rain"}}
            served = self.post("/retrievals", asked)
            if made and served:
                self.kept.append(made["id"])
                place = f"/retrievals/{served['retrieval_id']}/outcome"
                told = self.post(place, {"reward": 0.5})
                self.told.append(told.get("outcome_id", ""))
            self.rounds += 1

    def memory(self) -> dict[str, str]:
        number = self.rounds
        said = f"the gauge at bridge {number} counts {number * 7} drops"
        return {"agent": "solver", "situation": said, "lesson": f"divide by {number + 3}"}

    def post(self, path: str, body: object) -> dict[str, str]:
        answer = self.client.post(NAMESPACE + path, json=body)
        if not answer.is_success:
            self.bad.append(f"{path}: {answer.status_code} {answer.text[:200]}")
            return {}
        return answer.json()

    def after(self, rounds: int) -> None:
        wanted = self.rounds + rounds
        while self.rounds < wanted and self.is_alive():
            self.join(0.05)

    def end(self) -> None:
        self.over.set()
        self.join()


@contextmanager
def calling_beside(client: httpx.Client) -> Generator[Calling]:
    calling = Calling(client)
    calling.start()
    try:
        yield calling
    finally:
        calling.end()


@pytest.mark.nightly
def test_the_release_before_goes_on_while_its_successor_migrates_and_starts(
    source_before: Path, fresh_database: Callable[[], str]
) -> None:
    database = fresh_database()
    with serving(source_before, database) as before:
        key = {"authorization": f"Bearer {before.key()}"}
        with (
            httpx.Client(base_url=before.url, headers=key, timeout=60) as client,
            httpx.Client(base_url=before.url, headers=key, timeout=60) as other,
        ):
            client.post("/v1/namespaces", json={"slug": "upgraded"}).raise_for_status()
            with calling_beside(client) as calling:
                calling.after(5)
                _migrate(database)
                calling.after(CALLS_BESIDE)
                with serving(ROOT, database) as successor:
                    calling.after(5)
                    calling.end()
                    _read_back(successor, key, calling)
                    ready = other.get("/health/ready").json()

    assert calling.bad == []
    assert calling.rounds > CALLS_BESIDE
    assert ready["checks"]["database"]["ok"]


def _migrate(url: str) -> None:
    """By the command of the successor, with nothing of its predecessor's."""
    command = [sys.executable, "-m", "server.cli", "migrate"]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "MEMLIFT_DATABASE_URL": url}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def _read_back(server: LocalServer, key: dict[str, str], calling: Calling) -> None:
    with httpx.Client(base_url=server.url, headers=key, timeout=60) as client:
        for memory in calling.kept[-CALLS_BESIDE:]:
            client.get(f"{NAMESPACE}/experiences/{memory}").raise_for_status()
        for outcome in calling.told[-CALLS_BESIDE:]:
            client.get(f"{NAMESPACE}/outcomes/{outcome}").raise_for_status()
        client.post(f"{NAMESPACE}/outcomes/apply", json={}).raise_for_status()
        run = client.post(f"{NAMESPACE}/jobs/rebuild/runs", json={"dry_run": True})
        assert run.json()["result"]["exact"], json.dumps(run.json())
