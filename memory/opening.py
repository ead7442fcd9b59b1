"""Opens the memory: the models that an operator chose, and the engine over them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.remote import RemoteChoice, RemoteEmbedder, RemoteReranker
from memory.inference.reranker import LocalReranker, RerankerPolicy
from memory.inference.shared import SharedEmbedder, SharedReranker
from memory.inference.tokens import EmbedderTokenCounter
from memory.kernel.engine import Engine, EngineSettings, FurtherLlms, NamedLlm
from memory.kernel.ports import RoleName
from memory.kernel.postgres.database import Database
from memory.llm.provider import ProviderClient, ProviderPolicy
from memory.retrieval.resident.namespaces import ResidentNamespaces


@dataclass(frozen=True, slots=True)
class Models:
    """The models to open: an embedder always; a reranker and language models where named. One that
    runs elsewhere has its server here; its policy then says how it is batched. `owner` is the
    socket of a process that holds those of this machine; without it they are loaded here.
    `llm_roles` names the further language model that a role has.
    """

    embedder: EmbedderPolicy = field(default_factory=EmbedderPolicy)
    embedding_server: RemoteChoice | None = None
    reranker: RerankerPolicy | None = None
    reranking_server: RemoteChoice | None = None
    llm: ProviderPolicy | None = None
    further_llms: Mapping[str, ProviderPolicy] = field(default_factory=dict[str, ProviderPolicy])
    llm_roles: Mapping[RoleName, str] = field(default_factory=dict[RoleName, str])
    owner: Path | None = None


def open_engine(settings: EngineSettings, models: Models) -> Engine:
    """Open the memory; the model loads in the background."""
    embedder = _open_embedder(models)
    reranker = _open_reranker(models, embedder)
    llm = None if models.llm is None else _open_llm(models.llm)
    further = {
        name: NamedLlm(_open_llm(policy), policy.price)
        for name, policy in models.further_llms.items()
    }
    database = Database(settings.database_url, settings.pool)
    return Engine(
        settings=settings,
        database=database,
        embedder=embedder,
        counter=EmbedderTokenCounter(embedder),
        reranker=reranker,
        llm=llm,
        further_llms=FurtherLlms(further, models.llm_roles),
        resident=ResidentNamespaces(database, settings.resident_bytes, embedder.card),
    )


def _open_llm(policy: ProviderPolicy) -> ProviderClient:
    client = ProviderClient(policy)
    client.start()
    return client


def _open_embedder(models: Models) -> LocalEmbedder:
    server, owner = models.embedding_server, models.owner
    if server is not None:
        embedder = LocalEmbedder(models.embedder, lambda _: RemoteEmbedder(server))
    elif owner is not None:
        embedder = LocalEmbedder(models.embedder, lambda _: SharedEmbedder(owner))
    else:
        embedder = LocalEmbedder(models.embedder)
    embedder.start()
    return embedder


def _open_reranker(models: Models, embedder: LocalEmbedder) -> LocalReranker | None:
    if models.reranker is None:
        return None
    server, owner = models.reranking_server, models.owner
    if server is not None:
        reranker = LocalReranker(models.reranker, load=lambda _: RemoteReranker(server))
    elif owner is not None:
        reranker = LocalReranker(models.reranker, load=lambda _: SharedReranker(owner))
    else:
        reranker = LocalReranker(models.reranker, embedder.worker)
    reranker.start()
    return reranker
