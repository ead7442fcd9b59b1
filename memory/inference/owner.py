"""The process that owns the device: it holds the models and answers the serving processes.

What several of them ask at once goes to the device as one batch (`batcher`). Whoever asks while
the model loads is told so at once, but for a first question (`hello`), which waits.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from memory.inference.background import BackgroundModel
from memory.inference.batcher import Batcher, BatchLimits, text_cost
from memory.inference.card import Card, HoldsCard
from memory.inference.loading import (
    LoadedEmbedder,
    LoadedReranker,
    ModelChoice,
    open_embedder,
    open_reranker,
)
from memory.inference.reranker import Pair, characters
from memory.inference.shared import (
    EMBED,
    EMBEDDER,
    HEAD,
    HELLO,
    RERANK,
    RERANKER,
    STATS,
    STAY,
    STILL_HERE,
    packed,
    written_embeddings,
)
from memory.inference.shared_card import NEAREST, WRITE, HeldSegments
from memory.kernel.errors import MemoryFault, Overloaded, Unavailable
from memory.kernel.ports import Embedding

BEAT = 1.0
"""Seconds between two signs of life while something is computed."""

Model = TypeVar("Model")
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class OwnedModels:
    """What the owner loads: one of the two at least."""

    embedder: ModelChoice | None = field(default_factory=ModelChoice)
    reranker: ModelChoice | None = None
    limits: BatchLimits = field(default_factory=BatchLimits)


class Owned(Generic[Model, Item, Result]):
    """A model that loads in the thread of the device, and the batcher before it."""

    def __init__(
        self,
        load: Callable[[], Model],
        compute: Callable[[Model, Sequence[Item]], Sequence[Result]],
        cost: Callable[[Item], int],
        *,
        limits: BatchLimits,
        device: Executor,
    ) -> None:
        self.model = BackgroundModel(load, device)
        self.batcher: Batcher[Item, Result] = Batcher(
            lambda items: compute(self.model.use(), items), cost=cost, limits=limits, worker=device
        )

    async def compute(self, items: Sequence[Item]) -> tuple[Model, list[Result]]:
        """Raises Unavailable while the model loads or when it could not be."""
        return self.model.use(), await self.batcher.submit(items)

    async def close(self) -> None:
        await self.batcher.close()
        await self.model.close()


def _embed(model: LoadedEmbedder, texts: Sequence[str]) -> list[Embedding]:
    return model.embed(texts)


def _rank(model: LoadedReranker, pairs: Sequence[Pair]) -> list[float]:
    return model.relevance(pairs)


class ModelOwner:
    """Answers on a socket that only its own user may open."""

    def __init__(
        self,
        models: OwnedModels,
        embedder: Callable[[ModelChoice], LoadedEmbedder] = open_embedder,
        reranker: Callable[[ModelChoice], LoadedReranker] = open_reranker,
    ) -> None:
        self._device = ThreadPoolExecutor(max_workers=1, thread_name_prefix="inference")
        self._closed = False
        self._lines: set[asyncio.Task[None]] = set()
        self._embedder: Owned[LoadedEmbedder, str, Embedding] | None = None
        self._reranker: Owned[LoadedReranker, Pair, float] | None = None
        if (choice := models.embedder) is not None:
            self._embedder = Owned(
                lambda: embedder(choice),
                _embed,
                text_cost,
                limits=models.limits,
                device=self._device,
            )
        if (other := models.reranker) is not None:
            self._reranker = Owned(
                lambda: reranker(other),
                _rank,
                characters,
                limits=models.limits,
                device=self._device,
            )

    @contextlib.asynccontextmanager
    async def answering(self, place: Path) -> AsyncGenerator[None]:
        """While it stands: models load, and the socket `place` is answered."""
        for one in self._owned().values():
            one.model.start()
        place.unlink(missing_ok=True)  # noqa: ASYNC240 - nobody waits yet
        before = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self._serve, str(place), limit=1 << 26)
        finally:
            os.umask(before)
        try:
            yield
        finally:
            self._closed = True
            server.close()
            lines = list(self._lines)
            for line in lines:
                line.cancel()
            await asyncio.gather(*lines, return_exceptions=True)
            for one in self._owned().values():
                await one.close()
            self._device.shutdown(wait=False, cancel_futures=True)

    def _owned(self) -> dict[str, Owned[Any, Any, Any]]:
        both = {EMBEDDER: self._embedder, RERANKER: self._reranker}
        return {name: one for name, one in both.items() if one is not None}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Questions of one line, one after another, until either side hangs up."""
        line = cast("asyncio.Task[None]", asyncio.current_task())
        self._lines.add(line)
        held = HeldSegments()
        try:
            while not self._closed:
                length, more = HEAD.unpack(await reader.readexactly(HEAD.size))
                words = _parsed(await reader.readexactly(length))
                numbers = await reader.readexactly(more)
                await self._reply(self._answer(words, numbers, held), writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._lines.discard(line)
            writer.close()

    async def _reply(
        self, answer: Coroutine[Any, Any, bytes], writer: asyncio.StreamWriter
    ) -> None:
        answering = asyncio.create_task(answer)
        try:
            while not (await asyncio.wait({answering}, timeout=BEAT))[0]:
                writer.write(STILL_HERE)
                await writer.drain()
            writer.write(answering.result())
            await writer.drain()
        finally:
            answering.cancel()

    async def _answer(self, words: Mapping[str, Any], numbers: bytes, held: HeldSegments) -> bytes:
        try:
            if words["ask"] in (WRITE, NEAREST):
                return packed(*await held.answer(self._card(), words, numbers))
            return await self._answers(words)
        except (Overloaded, Unavailable) as fault:
            return packed({"fault": _told(fault)})

    async def _answers(self, words: Mapping[str, Any]) -> bytes:
        if words["ask"] == EMBED and self._embedder is not None:
            model, made = await self._embedder.compute(words["items"])
            said, numbers = written_embeddings(made)
            return packed({**said, "identity": astuple(model.identity)}, numbers)
        if words["ask"] == RERANK and self._reranker is not None:
            pairs = [(task, text) for task, text in words["items"]]
            ranker, scores = await self._reranker.compute(pairs)
            return packed({"relevance": scores, "identity": astuple(ranker.identity)})
        if words["ask"] == HELLO:
            return await self._hello()
        if words["ask"] == STATS:
            return packed({name: asdict(one.batcher.stats) for name, one in self._owned().items()})
        if words["ask"] == STAY:
            await asyncio.Event().wait()
        raise Unavailable("The owner has no such model.", code="model_failed")

    def _card(self) -> Card | None:
        """That of the embedder, whose thread is the only one that computes."""
        model = None if self._embedder is None else self._embedder.model.loaded
        return model.card(self._device) if isinstance(model, HoldsCard) else None

    async def _hello(self) -> bytes:
        """What is loaded, as soon as it is; the bytes are the embedder's tokenizer."""
        said: dict[str, Any] = {}
        tokenizer = b""
        if self._embedder is not None:
            model = await self._embedder.model.wait()
            said[EMBEDDER] = {
                "identity": astuple(model.identity),
                "backend": model.backend,
                "card": self._card() is not None,
            }
            tokenizer = model.tokenizer.written().encode()
        if self._reranker is not None:
            ranker = await self._reranker.model.wait()
            said[RERANKER] = {"identity": astuple(ranker.identity)}
        return packed(said, tokenizer)


def _parsed(text: bytes) -> Mapping[str, Any]:
    return json.loads(text)


def _told(fault: MemoryFault) -> Mapping[str, Any]:
    return {
        "class": type(fault).code,
        "kind": fault.kind,
        "detail": fault.detail,
        "limit": fault.limit,
        "retry_after": fault.retry_after,
    }
