"""The models on two nodes of Ray: what a server's HTTP adapter gets from them, and what the end of
a replica costs its callers. Run by `make test-ray`, in an environment that has Ray.
"""

import importlib.util
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from memory.inference.loading import BUNDLED_SHA256, ModelChoice, open_embedder
from memory.inference.remote import RemoteChoice, RemoteEmbedder
from memory.inference.vectors import unit
from memory.kernel.errors import Unavailable

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs Ray: make install-ray test-ray"
)
ROOT = Path(__file__).parents[2]
MODEL = "all-MiniLM-L6-v2"
CALLERS = 4


@pytest.fixture(scope="module")
def url() -> Generator[str]:
    import ray  # noqa: PLC0415 - in the environment of its own alone
    from ray import serve  # noqa: PLC0415 - as above
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - as above

    sys.path.insert(0, str(ROOT / "deploy/ray"))
    import models  # noqa: PLC0415 - as above

    variables = {"PYTHONPATH": f"{ROOT}:{ROOT / 'deploy/ray'}", "OMP_NUM_THREADS": "1"}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    cluster.add_node(num_cpus=2)
    ray.init(address=cluster.address, runtime_env={"env_vars": variables}, log_to_driver=False)
    port = free_port()
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        layout = models.Replicas(gpus=0, cpus=1, min_replicas=2, max_replicas=2)
        serve.run(models.build(layout), route_prefix="/")
        base = f"http://127.0.0.1:{port}"
        warm(base)
        yield base
    finally:
        serve.shutdown()
        ray.shutdown()
        cluster.shutdown()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def warm(base: str) -> None:
    """Both replicas have loaded the model when enough calls in a row were quick."""
    with ThreadPoolExecutor(8) as callers:
        for answer in callers.map(lambda _: httpx.get(f"{base}/health", timeout=300), range(16)):
            answer.raise_for_status()


def remote(url: str, revision: str = BUNDLED_SHA256, timeout: float = 60) -> RemoteEmbedder:
    return RemoteEmbedder(RemoteChoice(f"{url}/v1", MODEL, revision, timeout=timeout))


def test_the_adapter_gets_the_vectors_that_the_model_makes(url: str) -> None:
    texts = ["rain in a dry month", "the parcel has left the warehouse", "x" * 3000]
    here = open_embedder(ModelChoice(MODEL))

    there = remote(url)

    for mine, theirs in zip(here.embed(texts), there.embed(texts), strict=True):
        assert unit(mine.vector, 384) @ unit(theirs.vector, 384) == pytest.approx(1, abs=1e-4)
        assert list(theirs.token_ids) == list(mine.token_ids)
    with pytest.raises(Unavailable, match="serves revision"):
        remote(url, revision="another")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/embeddings", {"model": "other", "input": ["a"]}, 404),
        ("/v1/embeddings", {"model": MODEL, "input": []}, 422),
        ("/v1/embeddings", {"model": MODEL, "input": ["a"] * 257}, 422),
        ("/v1/embeddings", {"model": MODEL}, 422),
        ("/rerank", {"query": "a", "texts": ["b"]}, 404),
        ("/elsewhere", {}, 404),
    ],
)
def test_what_is_not_of_the_protocol_is_refused(
    url: str, path: str, body: dict[str, object], status: int
) -> None:
    answer = httpx.post(f"{url}{path}", json=body, timeout=60)

    assert answer.status_code == status
    assert answer.json()["error"]["message"]


def test_a_replica_that_is_killed_costs_a_retry_at_most(url: str) -> None:
    over, made, faults = threading.Event(), [0] * CALLERS, list[str]()
    wanted = np.asarray(remote(url).embed(["the same text"])[0].vector)

    def call(number: int) -> None:
        own = remote(url)
        while not over.is_set():
            try:
                (found,) = own.embed(["the same text"])
            except Unavailable as fault:
                faults.append(str(fault))
            else:
                assert np.allclose(found.vector, wanted, atol=1e-5)
                made[number] += 1

    with ThreadPoolExecutor(CALLERS) as callers:
        calling = [callers.submit(call, number) for number in range(CALLERS)]
        until(lambda: min(made) > 3)
        os.kill(a_replica(), signal.SIGKILL)
        after = [one + 5 for one in made]
        until(lambda: all(one > least for one, least in zip(made, after, strict=True)))
        over.set()
        for one in calling:
            one.result()

    assert not faults, "each call came to its vectors within the adapter's own tries"


def until(holds: "object") -> None:
    deadline = time.monotonic() + 300
    while not holds():  # pyright: ignore[reportCallIssue] - a function
        assert time.monotonic() < deadline
        time.sleep(0.05)


def a_replica() -> int:
    """The process of one replica on this machine."""
    from ray.util.state import list_actors  # noqa: PLC0415 - in the environment of its own alone

    actors = list_actors(filters=[("state", "=", "ALIVE")])
    return next(one.pid for one in actors if one.class_name.startswith("ServeReplica"))
