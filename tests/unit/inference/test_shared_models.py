"""Models of another process: what is asked over a socket is what the model says, or a fault."""

import asyncio
import contextlib
import stat
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer as FastTokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from memory.inference import shared
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.loading import ModelChoice, Tokenizer
from memory.inference.owner import ModelOwner, OwnedModels
from memory.inference.reranker import LocalReranker, RerankerPolicy
from memory.inference.shared import SharedEmbedder, SharedReranker
from memory.inference.tokenizing import plain_tokenizer
from memory.kernel.errors import Unavailable
from memory.kernel.ports import Embedding, ModelIdentity

NOISY = ModelIdentity("noisy", "", "0" * 64, 5)
LENGTHS = ModelIdentity("lengths", "", "1" * 64, 1)
WORDS = {"the": 0, "fourth": 1, "[UNK]": 2}


@dataclass
class NoisyModel:
    """Vectors of any length, other for every text, whose bits would show any rounding."""

    identity: ModelIdentity = NOISY
    backend: str = "packed by hand"
    batches: list[list[str]] = field(default_factory=list[list[str]])
    go_on: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.go_on.set()

    @property
    def tokenizer(self) -> Tokenizer:
        made = FastTokenizer(WordLevel(WORDS, unk_token="[UNK]"))
        made.pre_tokenizer = Whitespace()
        return plain_tokenizer(made)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        self.go_on.wait()
        self.batches.append(list(texts))
        return [self._embedding(text) for text in texts]

    def _embedding(self, text: str) -> Embedding:
        if text == "bad":
            raise Unavailable("The text is bad.", code="bad_text")
        values = np.random.default_rng(sum(text.encode("utf-8", "surrogatepass"))).normal(size=5)
        ids = tuple(self.tokenizer.pieces(text).ids)
        return Embedding((values * 7).astype(np.float32), ids, 1 / 3 if "un" in text else 0.0)


@dataclass
class LengthRanker:
    identity: ModelIdentity = LENGTHS

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [1 / (1 + abs(len(task) - len(text))) for task, text in pairs]


@pytest.fixture
def place() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="ml-") as folder:
        yield Path(folder) / "model.sock"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "TRIED_EVERY", 0.01)


@contextlib.asynccontextmanager
async def owning(place: Path, model: NoisyModel) -> AsyncGenerator[None]:
    owner = ModelOwner(
        OwnedModels(ModelChoice("noisy"), ModelChoice("lengths")),
        lambda _: model,
        lambda _: LengthRanker(),
    )
    async with owner.answering(place):
        yield


@contextlib.asynccontextmanager
async def embedding(load: Callable[[], object]) -> AsyncGenerator[LocalEmbedder]:
    embedder = LocalEmbedder(EmbedderPolicy(cache_bytes=0), lambda _: load())  # pyright: ignore[reportArgumentType] - one of several models
    embedder.start()
    await embedder.wait_until_ready()
    try:
        yield embedder
    finally:
        await embedder.close()


async def test_vectors_ids_and_shares_are_those_of_the_model_itself_bit_by_bit(place: Path):
    texts = ["the fourth", "unknown", "", "Größe 測定"]
    model = NoisyModel()

    async with (
        owning(place, model),
        embedding(lambda: SharedEmbedder(place)) as there,
        embedding(NoisyModel) as here,
    ):
        far, near = await there.embed(texts), await here.embed(texts)
        same = (there.identity, there.backend) == (here.identity, here.backend)
        pieces = [there.tokenizer.pieces("the fourth thing").ids, there.tokenizer.kind]

    assert [one.vector.tobytes() for one in far] == [one.vector.tobytes() for one in near]
    assert [one.token_ids for one in far] == [one.token_ids for one in near]
    assert [one.unknown_share for one in far] == [one.unknown_share for one in near]
    assert same
    assert pieces == [[0, 1, 2], "wordlevel"]


async def test_what_several_ask_while_the_device_is_busy_is_one_batch(place: Path):
    model = NoisyModel()

    async with (
        owning(place, model),
        embedding(lambda: SharedEmbedder(place)) as one,
        embedding(lambda: SharedEmbedder(place)) as other,
        embedding(lambda: SharedEmbedder(place)) as third,
    ):
        model.go_on.clear()
        asked = [asyncio.create_task(third.embed(["first"]))]
        await asyncio.sleep(0.2)
        asked += [asyncio.create_task(it.embed([name])) for it, name in ((one, "a"), (other, "b"))]
        await asyncio.sleep(0.2)
        model.go_on.set()
        await asyncio.gather(*asked)

    assert model.batches[0] == ["first"]
    assert sorted(model.batches[1]) == ["a", "b"]


async def test_a_fault_of_one_text_reaches_its_own_caller_alone(place: Path):
    async with owning(place, NoisyModel()), embedding(lambda: SharedEmbedder(place)) as embedder:
        good, bad = await asyncio.gather(
            embedder.embed(["good"]), embedder.embed(["bad"]), return_exceptions=True
        )

    assert not isinstance(good, BaseException)
    assert isinstance(bad, Unavailable)
    assert (bad.kind, bad.detail, bad.retry_after) == ("bad_text", "The text is bad.", None)


async def test_relevance_is_that_of_the_model_itself(place: Path):
    async with owning(place, NoisyModel()):
        reranker = LocalReranker(
            RerankerPolicy(ModelChoice("lengths")), load=lambda _: SharedReranker(place)
        )
        reranker.start()
        identity = await reranker.wait_until_ready()
        found = await reranker.relevance("task", ["text", "a text"])
        await reranker.close()

    assert identity == LengthRanker().identity
    assert found == [1.0, 1 / 3]


async def test_without_its_owner_it_says_when_to_come_back_and_then_finds_the_next(place: Path):
    async with contextlib.AsyncExitStack() as stack:
        async with owning(place, NoisyModel()):
            embedder = await stack.enter_async_context(embedding(lambda: SharedEmbedder(place)))
            await until(lambda: embedder.absence is None)
        await until(lambda: embedder.absence is not None)
        with pytest.raises(Unavailable) as away:
            await embedder.embed(["a"])

        async with owning(place, NoisyModel()):
            await until(lambda: embedder.absence is None)
            [back] = await embedder.embed(["a"])

    assert (away.value.kind, away.value.retry_after) == ("model_away", 2.0)
    assert "started again" in away.value.detail
    assert np.linalg.norm(back.vector) == pytest.approx(1)


async def test_an_owner_that_holds_another_model_now_is_refused(place: Path):
    async with contextlib.AsyncExitStack() as stack:
        async with owning(place, NoisyModel()):
            embedder = await stack.enter_async_context(embedding(lambda: SharedEmbedder(place)))
        changed = ModelIdentity("noisy", "", "2" * 64, 5)
        async with owning(place, NoisyModel(identity=changed)):
            fault = await lasting_fault(embedder)

    assert fault.kind == "model_changed"


async def lasting_fault(embedder: LocalEmbedder) -> Unavailable:
    """What it says once the next owner has loaded its model."""
    async with asyncio.timeout(30):
        while True:
            try:
                await embedder.embed(["a"])
            except Unavailable as fault:
                if fault.retry_after is None:
                    return fault
            await asyncio.sleep(0.05)


async def test_an_owner_that_falls_silent_is_not_waited_for(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(shared, "SILENCE", 0.2)

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(say_nothing, str(place)):
        with pytest.raises(Unavailable) as silent:
            await asyncio.to_thread(SharedEmbedder, place)

    assert (silent.value.kind, silent.value.retry_after) == ("model_silent", 2.0)


async def test_its_socket_is_for_its_own_user_alone(place: Path):
    async with owning(place, NoisyModel()):
        mode = stat.S_IMODE(place.stat().st_mode)  # noqa: ASYNC240 - a test

    assert mode == 0o600


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - what is waited for is told by a thread
            await asyncio.sleep(0.01)
