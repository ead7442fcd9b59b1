"""One real server for all pages, and for each page a reader with a home of their own."""

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

# The client is a distribution of its own; the checkout is what is tested, not what is installed.
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "clients" / "python")]

from tests.acceptance.servers import Home, Server  # noqa: E402 - reached through the path above
from tests.docs.documented_pages import Reader  # noqa: E402 - reached through the path above
from tests.fixtures.served import shared  # noqa: E402 - reached through the path above

# A documented call that is refused fails its page.
CURL_SETTINGS = "silent\nshow-error\nfail-with-body\n"


@pytest.fixture(scope="session")
def documented_server(run_folder: Path) -> Generator[Server]:
    """`memlift serve`, with its data where the pages say it is and its first namespace empty."""

    def start() -> Server:
        home = Home(run_folder / "documented" / ".local" / "state" / "memlift")
        home.data.parent.mkdir(parents=True)
        for folder in (home.data.parent, *home.data.parent.parents[:2]):
            folder.chmod(0o711)
        # A page has a receiver of webhooks on this machine.
        return Server.of(home, {"MEMLIFT_WEBHOOK_HOSTS": "127.0.0.1"})

    yield from shared(run_folder, "documented", start)


@pytest.fixture
def reader(
    documented_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Generator[Reader]:
    """In a folder that looks like the checkout, so that what a page saves does not land in it."""
    for entry in ROOT.iterdir():
        if entry.name not in (".venv", ".git"):
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    before = dict(os.environ)
    home = documented_server.home.data.parents[2]
    (home / ".curlrc").write_text(CURL_SETTINGS)
    os.environ["HOME"] = str(home)
    os.environ["PATH"] = os.pathsep.join((f"{sys.prefix}/bin", before["PATH"]))
    os.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT), str(ROOT / "clients" / "python")))
    os.environ["MEMLIFT_URL"] = documented_server.url
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path, f"127.0.0.1:{documented_server.port}")
    yield reader
    reader.leave()
    os.environ.clear()
    os.environ.update(before)
