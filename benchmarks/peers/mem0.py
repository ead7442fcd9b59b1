"""mem0 beside ours: a Postgres of its own, its server, and memories copied into its table."""

import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import psycopg
from pgvector.psycopg import register_vector
from psycopg.types.json import Jsonb

from benchmarks.bench import Served
from benchmarks.load import Shot, fire
from clients.demo.server import fresh_folder
from memory.kernel.postgres.embedded.ports import find_free_port
from memory.kernel.postgres.embedded.supervisor import EmbeddedPostgres

SERVER = Path(__file__).with_name("mem0_server.py")
PYTHON = Path(__file__).parents[2] / ".venv-peers" / "bin" / "python"
"""Has mem0: made by `make install-peers`."""

ENVIRONMENT = {
    "MEM0_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "OPENAI_API_KEY": "none",
}
"""It calls nobody; a key has to be there, for a language model that is never asked."""

USER = "bench"
PATIENCE = 180.0
LOOK = 0.5

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Mem0:
    """The server, and where its Postgres listens; `served.data` is the folder of that."""

    served: Served
    database_url: str

    def ask(self, text: str, k: int) -> Shot:
        return Shot("POST", "/search", {"query": text, "user": USER, "k": k})

    def fill(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Memories as it stores them. The first is stored by itself, so that its table is there and
        says how.
        """
        [hit] = fire(self.served, [Shot("POST", "/memories", {"text": texts[0], "user": USER})], 1)
        if not hit.timing.ok:
            raise SystemExit(f"mem0 did not store a memory: {hit.status} {hit.answer}")
        with psycopg.connect(self.database_url) as connection:
            register_vector(connection)
            [pattern] = connection.execute("SELECT payload FROM mem0").fetchone() or [{}]
            with connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO mem0 (id, vector, payload) VALUES (%s, %s, %s)",
                    [
                        (uuid4(), vector, Jsonb(_payload(pattern, text)))
                        for text, vector in zip(texts[1:], vectors[1:], strict=True)
                    ],
                )
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute("ANALYZE mem0")


@contextmanager
def serving() -> Generator[Mem0]:
    """Started with nothing in it."""
    folder = fresh_folder("memlift-peer-mem0")
    with EmbeddedPostgres(folder, tcp=True) as address:
        port = find_free_port()
        named = [f"{name}={value}" for name, value in ENVIRONMENT.items()]
        # Without `-P` this folder comes first where modules are looked for, and `mem0` is this file.
        words = ["env", *named, f"MEM0_DIR={folder}", str(PYTHON), "-P", str(SERVER)]
        words += [address.superuser_url, str(folder), str(port)]
        process = subprocess.Popen(words)  # noqa: S603 - our own file
        try:
            served = Served(f"http://127.0.0.1:{port}", "none", folder, process.pid)
            _wait_for(served, process)
            yield Mem0(served, address.superuser_url)
        finally:
            process.terminate()
            process.wait()


def _wait_for(served: Served, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"the server of mem0 ended with {process.returncode}")
        try:
            with urlopen(f"{served.url}/health/live", timeout=LOOK):  # noqa: S310 - our own
                return
        except (URLError, TimeoutError):
            time.sleep(LOOK)
    raise SystemExit(f"the server of mem0 did not answer in {PATIENCE:g} seconds")


def _payload(pattern: Mapping[str, object], text: str) -> dict[str, object]:
    """As that of a memory it stored: what repeats the text has this text."""
    words = str(pattern.get("data", ""))
    return {
        name: text if value == words or name == "text_lemmatized" else value
        for name, value in pattern.items()
    }
