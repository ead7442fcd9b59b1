"""From settings to an opened engine, and the numbers that are read off it."""

from dataclasses import asdict
from pathlib import Path

from pydantic import SecretStr

from memory.inference.batcher import BatchLimits
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.loading import Dtype, ModelChoice
from memory.inference.owner import OwnedModels
from memory.inference.remote import RemoteChoice
from memory.inference.reranker import LocalReranker, RerankerPolicy
from memory.kernel.engine import Engine, EngineSettings, LlmLimits
from memory.kernel.errors import Rejected
from memory.kernel.postgres.database import PoolSettings
from memory.llm.provider import ProviderClient
from memory.opening import Models, open_engine
from server.language_models import language_models
from server.settings import Settings


def needs_owner(settings: Settings) -> bool:
    """Whether a process of its own is to hold what several workers compute with."""
    reranks = settings.reranker_model is not None and settings.reranker_url is None
    return settings.workers > 1 and (settings.embedding_url is None or reranks)


def owners_of(settings: Settings) -> int:
    """How many such processes there are: one for each card that workers share."""
    return min(settings.cards, settings.workers) if needs_owner(settings) else 0


def owned_models(settings: Settings, number: int = 1) -> OwnedModels:
    """What the process of that number loads: the models that run on this machine, on its card."""
    device = "auto" if settings.cards == 1 else f"cuda:{number - 1}"
    embedder = ModelChoice(settings.embedding_model, dtype(settings), device)
    reranker = None
    if settings.reranker_model is not None:
        reranker = ModelChoice(settings.reranker_model, device=device)
    return OwnedModels(
        embedder if settings.embedding_url is None else None,
        reranker if settings.reranker_url is None else None,
        BatchLimits(queue=settings.embedding_queue * settings.workers),
    )


async def open_from(settings: Settings, owner: Path | None = None) -> Engine:
    """The engine these settings describe; its model loads beside the first requests, or is asked of
    the process behind the socket `owner`.
    """
    limits = BatchLimits(queue=settings.embedding_queue)
    embedder = EmbedderPolicy(
        model=ModelChoice(settings.embedding_model, dtype(settings)),
        limits=limits,
        cache_bytes=settings.embedding_cache_bytes,
    )
    llms = language_models(settings)
    reranker = None
    if settings.reranker_model is not None:
        reranker = RerankerPolicy(ModelChoice(settings.reranker_model), limits)
    return open_engine(
        EngineSettings(
            database_url=settings.database(),
            pool=PoolSettings(size=settings.pool_size, timeout=settings.pool_timeout),
            llm=LlmLimits(
                timeout=settings.llm_timeout,
                compile=settings.llm_compile_timeout,
                queries=settings.llm_query_timeout,
                daily_tokens=settings.llm_daily_tokens,
                daily_cost=settings.llm_daily_cost,
                price=settings.named_price(),
                server_daily_cost=settings.llm_server_daily_cost,
            ),
            receipt_expiry=settings.receipt_expiry,
            applier_interval=settings.applier_interval,
            leader_beat=settings.leader_beat,
            resident_bytes=settings.resident_bytes,
            webhook_hosts=settings.named_webhook_hosts(),
        ),
        Models(
            embedder,
            embedding_server(settings),
            reranker,
            reranking_server(settings),
            llms.own,
            llms.further,
            llms.roles,
            owner,
        ),
    )


def dtype(settings: Settings) -> Dtype:
    """Other dtypes make other vectors, hence another store: `auto` is the one that is always
    there.
    """
    return "float32" if settings.embedding_dtype == "auto" else settings.embedding_dtype


def embedding_server(settings: Settings) -> RemoteChoice | None:
    """Where embeddings come from, if not from here. Raises Rejected where it is not pinned."""
    if settings.embedding_url is None:
        return None
    return RemoteChoice(
        url=settings.embedding_url,
        model=settings.embedding_model,
        revision=_pinned(settings.embedding_revision, "MEMLIFT_EMBEDDING_REVISION"),
        key=_secret(settings.embedding_key),
        timeout=settings.embedding_timeout.total_seconds(),
        window=settings.embedding_window,
    )


def reranking_server(settings: Settings) -> RemoteChoice | None:
    """Where relevance comes from, if not from here. Raises Rejected where it is not pinned."""
    if settings.reranker_url is None:
        return None
    if settings.reranker_model is None:
        name = "MEMLIFT_RERANKER_MODEL"
        raise Rejected(f"{name}: name the model behind MEMLIFT_RERANKER_URL", field=name)
    return RemoteChoice(
        url=settings.reranker_url,
        model=settings.reranker_model,
        revision=_pinned(settings.reranker_revision, "MEMLIFT_RERANKER_REVISION"),
        key=_secret(settings.reranker_key),
        timeout=settings.reranker_timeout.total_seconds(),
        api=settings.reranker_api,
    )


def _pinned(revision: str | None, name: str) -> str:
    if revision is None:
        raise Rejected(
            f"{name}: a model behind a URL is pinned by its revision, such as the commit on the"
            " model hub: vectors of another revision would not compare",
            field=name,
        )
    return revision


def _secret(key: SecretStr | None) -> str | None:
    return None if key is None else key.get_secret_value()


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
    if engine.resident is not None:
        numbers |= engine.resident.gauges()
    if isinstance(engine.embedder, LocalEmbedder) and engine.embedder.backend is not None:
        numbers["embedder_packed"] = float(engine.embedder.backend.startswith("packed"))
    clients = [one.client for one in engine.llms.values()]
    asked = [one for one in clients if isinstance(one, ProviderClient)]
    if asked:
        pauses = [one.pause for one in asked]
        numbers["llm_paused_seconds"] = max(0.0 if one is None else one.seconds for one in pauses)
        numbers["llm_failures_in_a_row"] = float(max(one.failures for one in asked))
    return numbers | {f"health_{name}": value for name, value in engine.health_gauges.items()}
