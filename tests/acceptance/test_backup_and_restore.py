"""A backup is made while agents write, the server is killed, and another place serves it all."""

import itertools
import json
import stat
import tarfile
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import psycopg
import pytest
from memlift_client import MemLift, MemLiftError, NamespaceSettingsFields

from memory.kernel.postgres.embedded import as_superuser, reached
from memory.kernel.postgres.migrate import head
from tests.acceptance.servers import Home, Server, command

AGENT, SLUG = "writer", "backed-up"
SETTINGS: NamespaceSettingsFields = {"control_rate": 0, "slot_rate": 0, "coins": False}
BEFORE = 6


class Load(threading.Thread):
    """Goes round the loop until the server is gone, and notes each round that was acknowledged."""

    def __init__(self, memory: MemLift) -> None:
        super().__init__(daemon=True)
        self.rounds: list[tuple[str, str, str]] = []
        self.grown = threading.Condition()
        self.fault: MemLiftError | None = None
        self._memory = memory

    def run(self) -> None:
        try:
            for turn in itertools.count():
                done = self._round(turn)
                with self.grown:
                    self.rounds.append(done)
                    self.grown.notify_all()
        except MemLiftError as fault:
            with self.grown:
                self.fault = fault
                self.grown.notify_all()

    def _round(self, turn: int) -> tuple[str, str, str]:
        text = f"forecasting the result of harvest {turn}"
        kept = self._memory.remember(agent=AGENT, situation=text, lesson=f"count the cases, {turn}")
        served = self._memory.retrieve(agent=AGENT, task=text, purpose="paired")
        reward = 0.5 + turn % 5 / 10
        reported = self._memory.report(served.receipt, reward=reward, without={"reward": 0.4})
        return kept.id, served.receipt, reported.outcome_id

    def until(self, rounds: int) -> None:
        with self.grown:
            self.grown.wait_for(lambda: self.fault or len(self.rounds) >= rounds, timeout=300)
            assert len(self.rounds) >= rounds, self.fault


@pytest.fixture(scope="module")
def other(above: Path) -> Generator[Home]:
    home = Home(above / "other")
    yield home
    home.clear()


def test_what_was_acknowledged_before_a_backup_is_served_elsewhere(
    used_home: Home, other: Home, begin: Callable[..., Server], above: Path
) -> None:
    server = begin(used_home).await_led()
    server.client().create_namespace(SLUG, settings=SETTINGS)
    key = server.client().create_key(name="bot", role="agent", namespace=SLUG, agents=[AGENT])
    load = Load(server.client(SLUG, key=key.token, attempts=1))
    load.start()
    load.until(BEFORE)
    assert ask(server.client(SLUG, key=key.token), server.client(SLUG))

    file, known = above / "all.backup", list(load.rounds)
    made = command("backup", "--out", file, MEMLIFT_HOME=used_home.data)
    refused = command("restore", file, "--replace", MEMLIFT_HOME=used_home.data)
    load.until(len(load.rounds) + 1)
    operator = used_home.operator_key.read_text().strip()
    server.kill()
    load.join(timeout=120)
    back = command("restore", file, MEMLIFT_HOME=other.data)
    again = command("restore", file, MEMLIFT_HOME=other.data)

    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("backed up ")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {one.name for one in above.iterdir() if "backup" in one.name} == {file.name}
    assert (refused.returncode, "in use by process" in refused.stderr) == (1, True), refused.stderr
    assert back.returncode == 0, back.stderr
    assert f"now at {head()}" in back.stdout
    assert again.returncode == 1
    assert "tables already: restore into an empty one" in again.stderr
    there = begin(other).await_led()
    assert not other.operator_key.exists()
    client = there.client(SLUG, key=operator)
    require_readable(client, known)
    bot = there.client(SLUG, key=key.token)
    assert ask(bot, client) & {one[0] for one in known}
    # What is there is replaced where that is asked for: what came later is gone.
    late = client.remember(agent=AGENT, situation="after the restore", lesson="it is later").id
    there.stop()
    anew = command("restore", file, "--replace", MEMLIFT_HOME=other.data)
    assert anew.returncode == 0, anew.stderr
    assert (found(other, known[0][0]), found(other, late)) == (1, 0)


def ask(bot: MemLift, operator: MemLift) -> set[str]:
    """The ids of what is served for a task like the first."""
    served = bot.retrieve(
        "forecasting the result of harvest 0", agent=AGENT, arm="on", explore=False
    )
    return {str(one.memory_id) for one in operator.get_retrieval(served.retrieval_id).items}


def require_readable(client: MemLift, known: list[tuple[str, str, str]]) -> None:
    """Each round is there, and the ledger folds to the states bit for bit."""
    for memory_id, receipt, outcome_id in known:
        assert str(client.get_memory(memory_id).id) == memory_id
        assert str(client.get_retrieval(receipt).retrieval_id) == receipt
        assert str(client.get_outcome(outcome_id).id) == outcome_id
    assert client.apply_outcomes().pending == 0
    rebuilt = client.run_job("rebuild").result or {}
    assert rebuilt["exact"] is True


def found(home: Home, memory_id: str) -> int:
    """How many memories have that id, past roles and rows."""
    with reached(home.data) as url, psycopg.connect(as_superuser(home.data, url)) as connection:
        row = connection.execute(
            "SELECT count(*) FROM memory WHERE id = %s", [memory_id]
        ).fetchone()
    assert row is not None
    return row[0]


def test_a_backup_that_is_not_as_it_was_written_touches_nothing(
    other: Home, above: Path, subtests: pytest.Subtests
) -> None:
    whole = (above / "all.backup").read_bytes()
    place = len(whole) // 2
    changed = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    newer = whole.replace(head().encode(), b"9999", 1)
    for name, content, why in (
        ("changed", changed, "is not what the manifest says"),
        ("short", whole[:place], "is no backup, or cut short"),
        ("newer", newer, "does not know"),
        ("other", b"no tar at all" * 100, "is no backup, or cut short"),
    ):
        with subtests.test(name):
            file = above / f"{name}.file"
            file.write_bytes(content)
            fresh = above / f"home-{name}"
            done = command("restore", file, MEMLIFT_HOME=fresh)
            assert (done.returncode, why in done.stderr) == (1, True), done.stderr
            assert not fresh.exists()


def test_a_backup_says_what_made_it(above: Path) -> None:
    with tarfile.open(above / "all.backup") as tar:
        assert tar.getnames() == ["manifest.json", "database.dump"]
        manifest = json.load(tar.extractfile("manifest.json"))  # pyright: ignore[reportArgumentType] - it is a file

    assert manifest["schema"] == head()
    assert manifest["postgres"].startswith("18.")
    assert manifest["rows"]["memory"] >= BEFORE
    assert manifest["models"]
