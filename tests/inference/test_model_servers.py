"""Models behind a URL, over real HTTP to a server that speaks the same protocols."""

import contextlib
from collections.abc import Callable, Generator

import numpy as np
import pytest

from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.loading import ModelChoice
from memory.inference.remote import RemoteChoice, RemoteEmbedder, RemoteReranker
from memory.inference.reranker import LocalReranker, RerankerPolicy
from memory.kernel.errors import Unavailable
from tests.fixtures.model_server import ModelServerScript, a_model_server

KEY = "sk-elsewhere-0123456789"
TEXTS = ["fog at the airport", "pay the invoice", "the airport is closed"]


@pytest.fixture
def server() -> Generator[ModelServerScript]:
    with a_model_server(ModelServerScript()) as script:
        yield script


def elsewhere(server: ModelServerScript, base: str = "/v1", **changes: object) -> RemoteChoice:
    given: dict[str, object] = {"model": server.model, "revision": "r1", "key": KEY}
    return RemoteChoice(url=server.url + base, **(given | changes))  # pyright: ignore[reportArgumentType] - fields by name


async def an_embedder(choice: RemoteChoice) -> LocalEmbedder:
    embedder = LocalEmbedder(EmbedderPolicy(), lambda _: RemoteEmbedder(choice))
    embedder.start()
    await embedder.wait_until_ready()
    return embedder


async def test_vectors_come_in_the_order_of_the_texts_and_the_model_is_pinned(server):
    embedder = await an_embedder(elsewhere(server))
    fog, invoice, airport = await embedder.embed(TEXTS)
    await embedder.close()

    assert embedder.identity is not None
    assert (embedder.identity.name, embedder.identity.revision) == ("acme/words", "r1")
    assert embedder.identity.width == 384
    assert float(fog.vector @ airport.vector) > 0.4 > float(fog.vector @ invoice.vector)
    assert np.linalg.norm(fog.vector) == pytest.approx(1)
    assert len(fog.token_ids) == 4
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert server.asked[-1][0] == "/v1/embeddings"


async def test_many_texts_go_in_bounded_calls_and_long_ones_in_windows(server):
    embedder = await an_embedder(elsewhere(server, window=20))
    server.asked.clear()

    made = await embedder.embed([*(f"text {number}" for number in range(70)), "harbour " * 50])
    await embedder.close()

    assert len(made) == 71
    sent = [body["input"] for _, body in server.asked]
    assert max(len(texts) for texts in sent) <= 32
    assert sum(len(texts) for texts in sent) == 70 + 3


@pytest.mark.parametrize(
    ("changes", "choice", "said"),
    [
        ({"model": "acme/other"}, {"model": "acme/words"}, "answers with model 'acme/other'"),
        ({"revision": "r2"}, {}, "serves revision r2, not r1"),
    ],
)
async def test_another_model_is_refused_by_name(changes, choice, said):
    with (
        a_model_server(ModelServerScript(**changes)) as server,
        pytest.raises(Unavailable, match=said) as refused,
    ):
        RemoteEmbedder(elsewhere(server, **choice))

    assert refused.value.kind == "model_server_mismatch"


async def test_a_server_whose_vectors_change_their_width_is_refused(server):
    embedder = await an_embedder(elsewhere(server))
    server.width = 128

    with pytest.raises(Unavailable, match="width 128, not 384") as refused:
        await embedder.embed(["again"])
    await embedder.close()

    assert refused.value.kind == "model_server_mismatch"


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_passing_fault_is_tried_again(server, status):
    embedder = await an_embedder(elsewhere(server))
    server.statuses = [status, status]

    [made] = await embedder.embed(["again"])
    await embedder.close()

    assert made.token_ids
    assert embedder.stats.failures == 0


async def test_a_server_that_stays_down_fails_all_at_once_and_is_counted(server):
    embedder = await an_embedder(elsewhere(server))
    server.asked.clear()
    server.statuses = [503] * 99

    with pytest.raises(Unavailable, match="The embedding server answered 503") as failed:
        await embedder.embed(["a", "b", "c"])
    await embedder.close()

    assert (failed.value.kind, failed.value.retry_after) == ("model_server_failed", 2.0)
    assert len(server.asked) == 3
    assert embedder.stats.failures == 3


async def test_a_slow_server_is_given_up_on_in_time(server):
    embedder = await an_embedder(elsewhere(server, timeout=0.3))
    server.seconds = 1.0

    with pytest.raises(Unavailable, match=r"did not answer within 0\.3 s"):
        await embedder.embed(["again"])
    await embedder.close()


async def test_a_refusal_names_the_status_and_keeps_the_key(server):
    embedder = await an_embedder(elsewhere(server))
    server.statuses = [401, 401]

    with pytest.raises(Unavailable, match="refused with 401") as refused:
        await embedder.embed(["again"])
    await embedder.close()

    assert KEY not in refused.value.detail
    assert KEY not in repr(elsewhere(server))


async def test_a_server_that_is_not_there_yet_may_recover(server):
    choice = elsewhere(server)
    server.statuses = [503] * 3
    embedder = LocalEmbedder(EmbedderPolicy(), lambda _: RemoteEmbedder(choice))
    embedder.start()
    with pytest.raises(Unavailable):
        await embedder.wait_until_ready()
    recovers = embedder.may_recover

    embedder.start()
    identity = await embedder.wait_until_ready()
    await embedder.close()

    assert recovers
    assert identity.name == "acme/words"


@pytest.mark.parametrize(("api", "base"), [("texts", ""), ("documents", "/v1")])
async def test_a_reranker_speaks_either_protocol(server, api, base):
    choice = elsewhere(server, base, api=api)
    policy = RerankerPolicy(ModelChoice("acme/words"))
    reranker = LocalReranker(policy, load=lambda _: RemoteReranker(choice))
    reranker.start()
    await reranker.wait_until_ready()

    scores = await reranker.relevance("airport fog", TEXTS)
    await reranker.close()

    assert scores == [1.0, 0.0, 0.5]
    assert server.asked[-1][0] == base + "/rerank"
    assert set(server.asked[-1][1][api]) == set(TEXTS)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda server: setattr(server, "scale", 9.0), r"scores outside \[0, 1\]"),
        (lambda server: setattr(server, "model", "acme/other"), "answers with model 'acme/other'"),
    ],
)
def test_a_reranker_that_is_another_or_gives_raw_scores_is_refused(
    server: ModelServerScript, spoil: Callable[[ModelServerScript], None], said: str
):
    reranker = RemoteReranker(elsewhere(server, api="documents"))
    spoil(server)

    with contextlib.closing(reranker), pytest.raises(Unavailable, match=said):
        reranker.relevance([("airport fog", text) for text in TEXTS])
