"""From settings to an opened engine, and the numbers that are read off it."""

from dataclasses import asdict

from memory.inference.batcher import BatchLimits
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.loading import ModelChoice
from memory.inference.reranker import LocalReranker, RerankerPolicy
from memory.kernel.engine import Engine, EngineSettings, LlmLimits
from memory.kernel.postgres.database import PoolSettings
from memory.llm.provider import ProviderPolicy
from memory.opening import Models, open_engine
from server.settings import Settings


async def open_from(settings: Settings) -> Engine:
    """The engine these settings describe; its model loads beside the first requests."""
    limits = BatchLimits(queue=settings.embedding_queue)
    # Other dtypes make other vectors, hence another store: `auto` is the one that is always there.
    dtype = "float32" if settings.embedding_dtype == "auto" else settings.embedding_dtype
    embedder = EmbedderPolicy(
        model=ModelChoice(settings.embedding_model, dtype),
        limits=limits,
        cache_bytes=settings.embedding_cache_bytes,
    )
    reranker = None
    if settings.reranker_model is not None:
        reranker = RerankerPolicy(ModelChoice(settings.reranker_model), limits)
    return open_engine(
        EngineSettings(
            database_url=settings.database(),
            direct_url=settings.database_direct(),
            pool=PoolSettings(size=settings.pool_size, timeout=settings.pool_timeout),
            llm=LlmLimits(
                timeout=settings.llm_timeout,
                compile=settings.llm_compile_timeout,
                daily_tokens=settings.llm_daily_tokens,
            ),
            receipt_expiry=settings.receipt_expiry,
            applier_interval=settings.applier_interval,
            leader_beat=settings.leader_beat,
        ),
        Models(embedder, reranker, _llm(settings)),
    )


def _llm(settings: Settings) -> ProviderPolicy | None:
    """The language model, where one is named: nobody but the operator says which, or where."""
    if settings.llm_model is None:
        return None
    key = None if settings.llm_api_key is None else settings.llm_api_key.get_secret_value()
    return ProviderPolicy(settings.llm_model, settings.llm_api_base, key)


def gauges(engine: Engine) -> dict[str, float]:
    """Queues, batches and connections as they are now; where this process leads, the health of
    learning as last sampled.
    """
    numbers: dict[str, float] = {
        f"pool_{name}": float(value) for name, value in engine.database.gauges().items()
    }
    for part, model in (("embedder", engine.embedder), ("reranker", engine.reranker)):
        if isinstance(model, (LocalEmbedder, LocalReranker)):
            stats = asdict(model.stats)
            numbers |= {f"{part}_{name}": float(value) for name, value in stats.items()}
    return numbers | {f"health_{name}": value for name, value in engine.health_gauges.items()}
