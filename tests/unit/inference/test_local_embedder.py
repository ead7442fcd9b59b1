"""The embedder around a model that is a plain function: loading, refusing, counting."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st

from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.loading import ModelChoice, Tokenizer, find_model
from memory.inference.reranker import LocalReranker, RerankerPolicy
from memory.inference.vectors import unit
from memory.kernel.errors import Unavailable
from memory.kernel.ports import Embedding, ModelIdentity

TOY = ModelIdentity("toy", "", "0" * 64, 2)
PAIRS = ModelIdentity("pairs", "", "0" * 64, 1)


@dataclass
class ToyModel:
    """Looks vectors up by text; any other text is (3, 4)."""

    vectors: dict[str, list[float]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    identity: ModelIdentity = TOY
    backend: str = "a table"

    @property
    def tokenizer(self) -> Tokenizer:
        raise NotImplementedError

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        self.asked += texts
        found = [self.vectors.get(text, [3.0, 4.0]) for text in texts]
        return [Embedding(np.array(vector, dtype=np.float32), (1,)) for vector in found]


async def an_embedder(model: ToyModel) -> LocalEmbedder:
    embedder = LocalEmbedder(EmbedderPolicy(), lambda choice: model)
    embedder.start()
    await embedder.wait_until_ready()
    return embedder


async def test_it_says_so_while_the_model_loads_and_answers_after():
    go_on = threading.Event()

    def load(choice: ModelChoice) -> ToyModel:
        go_on.wait()
        return ToyModel()

    embedder = LocalEmbedder(EmbedderPolicy(), load)
    embedder.start()
    with pytest.raises(Unavailable) as refused:
        await embedder.embed(["a"])
    before = embedder.identity
    go_on.set()
    identity = await embedder.wait_until_ready()
    [embedding] = await embedder.embed(["a"])
    await embedder.close()

    assert refused.value.kind == "model_loading"
    assert refused.value.retry_after == 2.0
    assert before is None
    assert identity == embedder.identity
    assert embedding.vector.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Unavailable("Reinstall the model."), "Reinstall the model."),
        (OSError("disk on fire"), "OSError: disk on fire"),
    ],
)
async def test_a_model_that_cannot_be_loaded_leaves_its_reason(fault: Exception, said: str):
    def load(choice: ModelChoice) -> ToyModel:
        raise fault

    embedder = LocalEmbedder(EmbedderPolicy(), load)
    embedder.start()
    with pytest.raises(Unavailable):
        await embedder.wait_until_ready()
    await embedder.close()

    assert said in (embedder.failure or "")
    assert embedder.identity is None


async def test_closing_while_the_model_loads_does_not_wait_for_it():
    go_on = threading.Event()

    def load(choice: ModelChoice) -> ToyModel:
        go_on.wait()
        return ToyModel()

    embedder = LocalEmbedder(EmbedderPolicy(), load)
    embedder.start()
    await asyncio.sleep(0)
    await embedder.close()
    go_on.set()

    assert embedder.identity is None


@pytest.mark.parametrize("bad", [[0.0, 0.0], [float("nan"), 1.0], [1.0], [float("inf"), 0.0]])
async def test_a_bad_vector_is_refused_and_its_neighbours_are_not(bad: list[float]):
    embedder = await an_embedder(ToyModel({"bad": bad}))
    answers = await asyncio.gather(
        *(embedder.embed([text]) for text in ("a", "bad", "b")), return_exceptions=True
    )
    await embedder.close()

    assert isinstance(answers[1], Unavailable)
    assert answers[1].kind == "bad_vector"
    assert not isinstance(answers[0], BaseException)
    assert not isinstance(answers[2], BaseException)
    assert embedder.stats.failures == 1


async def test_a_text_asked_for_twice_is_embedded_once():
    model = ToyModel()
    embedder = await an_embedder(model)
    first = await embedder.embed(["a", "b", "a"])
    second = await embedder.embed(["b", "a"])
    await embedder.close()

    assert sorted(model.asked) == ["a", "b"]
    assert first[0] is first[2] is second[1]
    assert (embedder.cache.hits, embedder.cache.misses) == (2, 2)


@given(
    np_st.arrays(
        np.float32, 5, elements=st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=True)
    ).filter(np.any)
)
def test_any_finite_vector_but_zero_becomes_a_unit_vector(vector: np.ndarray):
    assert np.linalg.norm(unit(vector, 5).astype(np.float64)) == pytest.approx(1.0, abs=1e-6)


@dataclass
class ToyPairs:
    """Scores a pair by the length of its text, or by a fixed number."""

    score: Callable[[str], float] = lambda text: len(text) / 10
    identity: ModelIdentity = PAIRS

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [self.score(text) for _, text in pairs]


async def test_relevance_keeps_the_order_and_refuses_what_is_not_a_number():
    embedder = await an_embedder(ToyModel())
    policy = RerankerPolicy(ModelChoice("pairs"))
    plain = LocalReranker(policy, embedder.worker, lambda choice: ToyPairs())
    broken = LocalReranker(
        policy, embedder.worker, lambda choice: ToyPairs(lambda text: float("nan"))
    )
    for reranker in (plain, broken):
        reranker.start()
        await reranker.wait_until_ready()

    assert await plain.relevance("task", ["aaa", "a", "aa"]) == [0.3, 0.1, 0.2]
    with pytest.raises(Unavailable) as refused:
        await broken.relevance("task", ["a"])
    for part in (plain, broken, embedder):
        await part.close()
    assert refused.value.kind == "bad_score"


def no_fetch(name: str) -> Path:
    raise OSError("offline")


def test_a_model_that_is_nowhere_names_what_to_do():
    with pytest.raises(Unavailable, match="name a folder that holds the model") as refused:
        find_model(ModelChoice("no-such-model"), no_fetch)
    assert refused.value.kind == "model_not_found"


def test_a_folder_of_other_weights_is_refused(tmp_path: Path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"weights")

    with pytest.raises(Unavailable, match="convert the model to safetensors"):
        find_model(ModelChoice(str(tmp_path)), no_fetch)


def test_a_part_of_other_weights_is_refused_too(tmp_path: Path):
    (tmp_path / "2_Dense").mkdir()
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "2_Dense" / "pytorch_model.bin").write_bytes(b"weights")

    with pytest.raises(Unavailable, match="beside 'pytorch_model"):
        find_model(ModelChoice(str(tmp_path)), no_fetch)


def test_the_digest_is_that_of_the_weights_file(tmp_path: Path):
    (tmp_path / "model.safetensors").write_bytes(b"abc")
    folder = find_model(ModelChoice(str(tmp_path)), no_fetch)

    assert folder.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert folder.name == tmp_path.name
    assert folder.identity("float16", 384).revision == "float16"


def test_a_model_by_name_is_fetched(tmp_path: Path):
    (tmp_path / "model.safetensors").write_bytes(b"abc")

    assert find_model(ModelChoice("some/model"), lambda name: tmp_path).name == "some/model"
