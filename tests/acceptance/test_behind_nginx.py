"""Two serving processes behind nginx, by the configuration that we ship."""

import json
import shutil
import subprocess
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from memory.kernel.postgres.embedded.ports import find_free_port
from tests.acceptance.servers import PATIENCE_SECONDS, ROOT, Server

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="needs nginx: apt-get install nginx-light")
SHIPPED = ROOT / "deploy/nginx/memlift.conf"
SLUGS = [f"behind-{number}" for number in range(12)]


@dataclass(frozen=True)
class Balancer:
    """nginx, before two processes and an address at which nobody listens."""

    url: str
    log: Path
    key: str

    def client(self, timeout: float = 60) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=timeout)

    def served_by(self) -> dict[str, list[str]]:
        """By namespace, which process answered last in each of its calls."""
        found: dict[str, list[str]] = {}
        for line in self.log.read_text().splitlines():
            *_, slug, address = line.replace(", ", ",").split(" ")
            found.setdefault(slug, []).append(address.split(",")[-1])
        return found


@pytest.fixture(scope="module")
def balancer(
    shared_pair: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory
) -> Generator[Balancer]:
    assert NGINX is not None
    folder = tmp_path_factory.mktemp("nginx")
    port, nobody = find_free_port(), find_free_port()
    first, second = (one.port for one in shared_pair)
    text = SHIPPED.read_text()
    for before, after in {
        "127.0.0.1:8001": f"127.0.0.1:{first}",
        "server 127.0.0.1:8002": f"server 127.0.0.1:{nobody};\n    server 127.0.0.1:{second}",
        "listen 8080": f"listen 127.0.0.1:{port}",
        "/var/log/nginx/memlift.log": f"{folder}/access.log",
    }.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    (folder / "memlift.conf").write_text(text)
    alone = shutil.copy(SHIPPED.with_name("alone.conf"), folder)
    words = [NGINX, "-p", f"{folder}/", "-c", alone]
    tried = subprocess.run([*words, "-t"], capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stderr
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        await_listening(port)
        key = shared_pair[0].home.operator_key.read_text().strip()
        yield Balancer(f"http://127.0.0.1:{port}", folder / "access.log", key)
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def await_listening(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/health/live", timeout=30)
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return


def test_a_namespace_has_one_process_and_all_are_answered(balancer: Balancer) -> None:
    with balancer.client() as client:
        for slug in SLUGS:
            made = client.post("/v1/namespaces", json={"slug": slug})
            assert made.status_code == 201, made.text
            for _ in range(2):
                listed = client.get(f"/v1/namespaces/{slug}/memories")
                assert listed.status_code == 200, listed.text
        hidden = client.get("/metrics")

    served = balancer.served_by()
    of_each = [set(served[slug]) for slug in SLUGS]
    assert all(len(addresses) == 1 for addresses in of_each), "of an address at which nobody is too"
    assert len(set.union(*of_each)) == 2, "both have some"
    assert hidden.status_code == 404


def test_events_come_through_as_they_are_told(balancer: Balancer) -> None:
    slug = "behind-a-stream"
    with balancer.client() as client:
        client.post("/v1/namespaces", json={"slug": slug}).raise_for_status()
        asked = {"accept": "text/event-stream"}
        body = {"agent": "keeper", "situation": "a stream is read", "lesson": "read it at once"}
        with client.stream("GET", f"/v1/namespaces/{slug}/changes", headers=asked) as stream:
            lines = stream.iter_lines()
            assert "event: begin" in lines
            with balancer.client() as other:
                other.post(f"/v1/namespaces/{slug}/experiences", json=body).raise_for_status()
            events = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
            told = next(one for one in events if one.get("memory_ids"))

    assert told["part"] == "experience"
