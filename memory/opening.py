"""Opens the memory: the models that an operator chose, and the engine over them."""

from dataclasses import dataclass, field

from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.reranker import LocalReranker, RerankerPolicy
from memory.inference.tokens import EmbedderTokenCounter
from memory.kernel.engine import Engine, EngineSettings
from memory.kernel.postgres.database import Database
from memory.llm.provider import ProviderClient, ProviderPolicy


@dataclass(frozen=True, slots=True)
class Models:
    """The models to open: an embedder always; a reranker and a language model where named."""

    embedder: EmbedderPolicy = field(default_factory=EmbedderPolicy)
    reranker: RerankerPolicy | None = None
    llm: ProviderPolicy | None = None


def open_engine(settings: EngineSettings, models: Models) -> Engine:
    """Open the memory; the model loads in the background."""
    embedder = LocalEmbedder(models.embedder)
    embedder.start()
    reranker = None
    if models.reranker is not None:
        reranker = LocalReranker(models.reranker, embedder.worker)
        reranker.start()
    llm = None
    if models.llm is not None:
        llm = ProviderClient(models.llm)
        llm.start()
    return Engine(
        settings=settings,
        database=Database(settings.database_url, settings.pool),
        embedder=embedder,
        counter=EmbedderTokenCounter(embedder),
        reranker=reranker,
        llm=llm,
    )
