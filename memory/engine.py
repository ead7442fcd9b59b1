"""Engine: everything a flow needs, opened once and handed in whole."""

import asyncio
import random
from dataclasses import dataclass, field
from datetime import timedelta

from memory.domain.writing import Tally
from memory.errors import Unavailable
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.provider import ProviderWriter, WriterPolicy
from memory.inference.reranker import LocalReranker, RerankerPolicy
from memory.inference.tokens import EmbedderTokenCounter
from memory.ports import Embedder, Reranker, TokenCounter, Writer
from memory.storage.database import Database, PoolSettings
from memory.storage.models import RegisteredModel


@dataclass(frozen=True, slots=True)
class WritingLimits:
    """How long a language model may take, all tries of one question together, and how many tokens
    a namespace has a UTC day. `compile` zero leaves guidelines to the deterministic compiler.
    """

    timeout: timedelta = timedelta(seconds=60)
    compile: timedelta = timedelta(seconds=5)
    daily_tokens: int = 1_000_000


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an operator can turn about the memory."""

    database_url: str
    direct_url: str | None = None
    pool: PoolSettings = field(default_factory=PoolSettings)
    embedder: EmbedderPolicy = field(default_factory=EmbedderPolicy)
    reranker: RerankerPolicy | None = None
    writer: WriterPolicy | None = None
    writing: WritingLimits = field(default_factory=WritingLimits)
    receipt_expiry: timedelta = timedelta(days=180)
    applier_interval: timedelta = timedelta(seconds=1)
    leader_beat: timedelta = timedelta(seconds=5)

    @property
    def session_url(self) -> str:
        """Where session locks are taken: never through a pooler."""
        return self.direct_url or self.database_url


@dataclass(slots=True)
class Engine:
    """The opened memory: database, ports and settings.

    `registered` is the model this process embeds with, once it is loaded and registered;
    `tally` counts what a language model did; `arrived` wakes the applier when an outcome was
    accepted here; `vitals` is the health of learning over all namespaces, in the process that
    leads.
    """

    settings: EngineSettings
    database: Database
    embedder: Embedder
    counter: TokenCounter
    reranker: Reranker | None = None
    writer: Writer | None = None
    tally: Tally = field(default_factory=Tally)
    chance: random.Random = field(default_factory=random.SystemRandom)
    registered: RegisteredModel | None = None
    failure: str | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    vitals: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def model(self) -> RegisteredModel:
        """The registered model. Raises Unavailable while it is loading or when it failed."""
        if self.registered is None:
            why = self.failure or "the embedding model is loading"
            raise Unavailable(why, code="embedder_not_ready", retry_after=2)
        return self.registered

    async def close(self) -> None:
        """Answer every waiter, then let go of the model and the database."""
        for part in (self.embedder, self.reranker, self.writer):
            if isinstance(part, (LocalEmbedder, LocalReranker, ProviderWriter)):
                await part.close()
        await self.database.close()


def open_engine(settings: EngineSettings) -> Engine:
    """Open the memory; the model loads in the background."""
    embedder = LocalEmbedder(settings.embedder)
    embedder.start()
    reranker = None
    if settings.reranker is not None:
        reranker = LocalReranker(settings.reranker, embedder.worker)
        reranker.start()
    writer = None
    if settings.writer is not None:
        writer = ProviderWriter(settings.writer)
        writer.start()
    return Engine(
        settings=settings,
        database=Database(settings.database_url, settings.pool),
        embedder=embedder,
        counter=EmbedderTokenCounter(embedder),
        reranker=reranker,
        writer=writer,
    )
