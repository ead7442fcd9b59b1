"""The embedder: a local model behind a cache and a batcher."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from memory.inference.background import BackgroundModel
from memory.inference.batcher import Batcher, BatchLimits, InferenceStats, text_cost
from memory.inference.cache import EmbeddingCache
from memory.inference.card import Card, HoldsCard
from memory.inference.loading import LoadedEmbedder, ModelChoice, Tokenizer, open_embedder
from memory.inference.shared import SharedEmbedder
from memory.inference.vectors import unit
from memory.kernel.ports import Embedding, ModelIdentity


@dataclass(frozen=True, slots=True)
class EmbedderPolicy:
    """What an operator can turn about the embedder."""

    model: ModelChoice = field(default_factory=ModelChoice)
    limits: BatchLimits = field(default_factory=BatchLimits)
    cache_bytes: int = 64 * 1024 * 1024


class LocalEmbedder:
    """Embeds in one worker thread, which owns the device and may be shared with a reranker.

    Vectors are float32 of unit length. A text longer than the model's window (254 pieces besides
    the two special ones for the bundled model) is the unit mean of its windows.
    """

    def __init__(
        self,
        policy: EmbedderPolicy,
        load: Callable[[ModelChoice], LoadedEmbedder] = open_embedder,
    ) -> None:
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="inference")
        self.cache = EmbeddingCache(policy.cache_bytes)
        self._model = BackgroundModel(lambda: load(policy.model), self.worker)
        self._batcher = Batcher(
            self._compute, cost=text_cost, limits=policy.limits, worker=self.worker
        )

    def start(self) -> None:
        """Begin to load the model and return at once."""
        self._model.start()

    async def wait_until_ready(self) -> ModelIdentity:
        """The identity once the model is loaded. Raises Unavailable when it could not be."""
        return (await self._model.wait()).identity

    @property
    def identity(self) -> ModelIdentity | None:
        """The loaded model, or None while it is loading or when it could not be loaded."""
        loaded = self._model.loaded
        return None if loaded is None else loaded.identity

    @property
    def failure(self) -> str | None:
        """Why the model could not be loaded and what to change, if so."""
        return self._model.failure

    @property
    def may_recover(self) -> bool:
        """Whether a model that could not be loaded may be there later, such as one behind a URL."""
        return self._model.may_recover

    @property
    def absence(self) -> str | None:
        """Why a model that another process holds cannot be asked just now, if so."""
        loaded = self._model.loaded
        return loaded.absence if isinstance(loaded, SharedEmbedder) else None

    @property
    def backend(self) -> str | None:
        """How the loaded model computes, in words, such as `packed, 1.7 times as fast as the
        library`; chosen by measuring when it was loaded.
        """
        loaded = self._model.loaded
        return None if loaded is None else loaded.backend

    def card(self) -> Card | None:
        """The card that it computes on, for rows that are compared with its vectors; None without
        one, or while the model loads.
        """
        loaded = self._model.loaded
        return loaded.card(self.worker) if isinstance(loaded, HoldsCard) else None

    @property
    def stats(self) -> InferenceStats:
        """What was embedded, besides what the cache answered."""
        return self._batcher.stats

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer. Raises Unavailable until the model is loaded."""
        return self._model.use().tokenizer

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One embedding a text, order preserved.

        The call fails as a whole when one of its texts does; texts that may fail apart are asked
        for in calls of their own, which the batcher joins again.
        """
        model = self._model.use().identity
        known = {text: self.cache.get(model, text) for text in dict.fromkeys(texts)}
        missing = [text for text, embedding in known.items() if embedding is None]
        made = dict(zip(missing, await self._batcher.submit(missing), strict=True))
        for text, embedding in made.items():
            self.cache.put(model, text, embedding)
        return [known[text] or made[text] for text in texts]

    async def close(self) -> None:
        """Answer whoever still waits and let the device go."""
        await self._batcher.close()
        await self._model.close()
        self.worker.shutdown(wait=False, cancel_futures=True)

    def _compute(self, texts: Sequence[str]) -> list[Embedding]:
        model = self._model.use()
        width = model.identity.width
        return [replace(raw, vector=unit(raw.vector, width)) for raw in model.embed(texts)]
