"""Engine: everything a service needs, opened once and handed in whole."""

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, runtime_checkable
from uuid import UUID

from memory.kernel.errors import Unavailable
from memory.kernel.ports import Embedder, LlmClient, ModelIdentity, Reranker, TokenCounter
from memory.kernel.postgres.database import Database, PoolSettings


@dataclass(slots=True)
class LlmCounters:
    """What this process counted: attempts by role and result, tokens by role."""

    results: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    tokens: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True, slots=True)
class LlmLimits:
    """How long a language model may take, all attempts at one question together, and how many
    tokens a namespace has a UTC day. `compile` zero leaves guidelines to the compiler
    that needs no model.
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
    llm: LlmLimits = field(default_factory=LlmLimits)
    receipt_expiry: timedelta = timedelta(days=180)
    applier_interval: timedelta = timedelta(seconds=1)
    leader_beat: timedelta = timedelta(seconds=5)

    @property
    def session_url(self) -> str:
        """Where session locks are taken: never through a pooler."""
        return self.direct_url or self.database_url


@dataclass(frozen=True, slots=True)
class RegisteredModel:
    """A model as registered: its id in the store and its calibration."""

    id: UUID
    identity: ModelIdentity
    calibration: Mapping[str, float]


@runtime_checkable
class Closable(Protocol):
    """A part of the engine that holds threads or connections."""

    async def close(self) -> None: ...


@dataclass(slots=True)
class Engine:
    """The opened memory: database, ports and settings.

    `registered` is the model this process embeds with, once it is loaded and registered;
    `llm_counters` counts what a language model did; `arrived` wakes the applier when an
    outcome was accepted here; `health_gauges` is the health of learning over all namespaces, in
    the process that leads.
    """

    settings: EngineSettings
    database: Database
    embedder: Embedder
    counter: TokenCounter
    reranker: Reranker | None = None
    llm: LlmClient | None = None
    llm_counters: LlmCounters = field(default_factory=LlmCounters)
    chance: random.Random = field(default_factory=random.SystemRandom)
    registered: RegisteredModel | None = None
    failure: str | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    health_gauges: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def model(self) -> RegisteredModel:
        """The registered model. Raises Unavailable while it is loading or when it failed."""
        if self.registered is None:
            why = self.failure or "the embedding model is loading"
            raise Unavailable(why, code="embedder_not_ready", retry_after=2)
        return self.registered

    async def close(self) -> None:
        """Answer every waiter, then let go of the model and the database."""
        for part in (self.embedder, self.reranker, self.llm):
            if isinstance(part, Closable):
                await part.close()
        await self.database.close()
