"""The reranker: a cross-encoder behind a batcher. Where there is none, the port is None."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field

from memory.inference.background import BackgroundModel
from memory.inference.batcher import Batcher, BatchLimits, InferenceStats
from memory.inference.loading import LoadedReranker, ModelChoice, open_reranker
from memory.kernel.errors import Unavailable
from memory.kernel.ports import ModelIdentity

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RerankerPolicy:
    """What an operator can turn about the reranker; the model has no default."""

    model: ModelChoice
    limits: BatchLimits = field(default_factory=BatchLimits)


class LocalReranker:
    """Reads task and text together, in the worker thread that owns the device; in one of its own
    where none is given, as for a model elsewhere, whose answers nobody else is to wait for.
    """

    def __init__(
        self,
        policy: RerankerPolicy,
        worker: Executor | None = None,
        load: Callable[[ModelChoice], LoadedReranker] = open_reranker,
    ) -> None:
        self._own_worker = None if worker is not None else ThreadPoolExecutor(max_workers=1)
        worker = worker or self._own_worker
        assert worker is not None
        self._model = BackgroundModel(lambda: load(policy.model), worker)
        self._batcher = Batcher(self._compute, cost=characters, limits=policy.limits, worker=worker)

    def start(self) -> None:
        """Begin to load the model and return at once."""
        self._model.start()

    async def wait_until_ready(self) -> ModelIdentity:
        """The identity once the model is loaded. Raises Unavailable when it could not be."""
        return (await self._model.wait()).identity

    @property
    def identity(self) -> ModelIdentity | None:
        """The loaded model, of width 1, or None."""
        loaded = self._model.loaded
        return None if loaded is None else loaded.identity

    @property
    def failure(self) -> str | None:
        """Why the model could not be loaded and what to change, if so."""
        return self._model.failure

    @property
    def stats(self) -> InferenceStats:
        """Pairs, batches and failures so far."""
        return self._batcher.stats

    async def relevance(self, task: str, texts: Sequence[str]) -> list[float]:
        """Relevance in [0, 1] of each text to the task, order preserved."""
        self._model.use()
        return await self._batcher.submit([(task, text) for text in texts])

    async def close(self) -> None:
        """Answer whoever still waits. A shared worker stays with its owner, who closes it last."""
        await self._batcher.close()
        await self._model.close()
        if self._own_worker is not None:
            self._own_worker.shutdown(wait=False, cancel_futures=True)

    def _compute(self, pairs: Sequence[Pair]) -> list[float]:
        relevance = self._model.use().relevance(pairs)
        if not all(math.isfinite(value) for value in relevance):
            raise Unavailable("The reranker gave a score that is not finite.", code="bad_score")
        return relevance


def characters(pair: Pair) -> int:
    """What a pair costs in a batch."""
    task, text = pair
    return len(task) + len(text)
