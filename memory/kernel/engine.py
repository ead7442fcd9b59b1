"""Engine: everything a service needs, opened once and handed in whole."""

import asyncio
import random
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Protocol, runtime_checkable
from uuid import UUID

from memory.kernel.errors import Unavailable
from memory.kernel.ports import (
    Embedder,
    LlmClient,
    ModelIdentity,
    Reranker,
    RoleName,
    TokenCounter,
)
from memory.kernel.postgres.database import Database, PoolSettings


@dataclass(slots=True)
class LlmCounters:
    """What this process counted: attempts by role and result, tokens by role, counts of
    tokens by a provider that were not believed, and retrievals by what became of queries.
    """

    results: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    tokens: Counter[str] = field(default_factory=Counter[str])
    implausible: Counter[str] = field(default_factory=Counter[str])
    queries: Counter[str] = field(default_factory=Counter[str])


@dataclass(slots=True)
class JobCounters:
    """What this process counted: runs of jobs by job and `done`, `failed` or `paused`, and rows
    that retention removed, by table. Where it leads, also in how many namespaces each job fails, in
    how many of those it is no longer tried, and when it last ran well in the namespace that has
    waited longest for it.
    """

    runs: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    removed: Counter[str] = field(default_factory=Counter[str])
    failing: Counter[str] = field(default_factory=Counter[str])
    quarantined: Counter[str] = field(default_factory=Counter[str])
    last_good: dict[str, datetime] = field(default_factory=dict[str, datetime])
    on_other_models: set[UUID] = field(default_factory=set[UUID])
    """Namespaces whose jobs were said to wait, as they are on another embedding model."""

    def forget(self) -> None:
        """What is only known to who leads."""
        self.failing, self.quarantined, self.last_good = Counter(), Counter(), {}


@dataclass(slots=True)
class RecentAnswers:
    """What a language model answered lately, in this process, by namespace and what it was asked;
    the least recently used leave first. Nothing of it is written down.
    """

    limit: int = 2_048
    kept: OrderedDict[tuple[UUID, bytes], str] = field(
        default_factory=OrderedDict[tuple[UUID, bytes], str]
    )

    def find(self, namespace_id: UUID, asked: str) -> str | None:
        answer = self.kept.get(_address(namespace_id, asked))
        if answer is not None:
            self.kept.move_to_end(_address(namespace_id, asked))
        return answer

    def keep(self, namespace_id: UUID, asked: str, answer: str) -> None:
        self.kept[_address(namespace_id, asked)] = answer
        while len(self.kept) > self.limit:
            self.kept.popitem(last=False)

    def forget(self, namespace_id: UUID) -> None:
        """Whose words went, what was made of them goes as well; nobody knows whose each is."""
        for address in [one for one in self.kept if one[0] == namespace_id]:
            del self.kept[address]


def _address(namespace_id: UUID, asked: str) -> tuple[UUID, bytes]:
    return namespace_id, sha256(asked.encode("utf-8", "surrogatepass")).digest()


@dataclass(slots=True)
class Pause:
    """Leaves a model alone that was too slow several times in a row, so that it does not cost every
    caller its deadline. By the monotonic clock of this process.
    """

    slow: int = 0
    until: float = 0.0

    def note(self, *, slow: bool, now: float) -> None:
        """One more answer, or none in time."""
        self.slow = self.slow + 1 if slow else 0
        if self.slow >= SLOW_IN_A_ROW:
            self.slow, self.until = 0, now + PAUSE


DEFAULT_LLM = "default"
"""What the engine's own language model is called where others are named beside it."""
SLOW_IN_A_ROW = 3
PAUSE = 60.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class LlmLimits:
    """How long a language model may take, all attempts at one question together, and how many
    tokens and US dollars (None: as many as the tokens cost) a namespace has a UTC day. `price`:
    dollars for a token read and one written, where they are not by the list. `compile` zero leaves
    guidelines to the compiler that needs no model, `queries` zero searches for the task's text
    alone. `server_daily_cost`: US dollars that all namespaces together have a UTC day.
    """

    timeout: timedelta = timedelta(seconds=60)
    compile: timedelta = timedelta(seconds=5)
    queries: timedelta = timedelta(seconds=1)
    daily_tokens: int = 1_000_000
    daily_cost: float | None = None
    price: tuple[float, float] | None = None
    server_daily_cost: float | None = None


@dataclass(frozen=True, slots=True)
class NamedLlm:
    """A language model that the operator has named; `price` as in `LlmLimits`."""

    client: LlmClient
    price: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class FurtherLlms:
    """Language models beside the engine's own, by name, and the name that a role has where its
    namespace chooses none.
    """

    models: Mapping[str, NamedLlm] = field(default_factory=dict[str, NamedLlm])
    roles: Mapping[RoleName, str] = field(default_factory=dict[RoleName, str])


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an operator can turn about the memory."""

    database_url: str
    pool: PoolSettings = field(default_factory=PoolSettings)
    llm: LlmLimits = field(default_factory=LlmLimits)
    receipt_expiry: timedelta = timedelta(days=180)
    applier_interval: timedelta = timedelta(seconds=1)
    leader_beat: timedelta = timedelta(seconds=5)
    resident_bytes: int = 0
    webhook_hosts: frozenset[str] = frozenset()


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


@runtime_checkable
class Copies(Closable, Protocol):
    """Copies of what the database holds, in this process."""

    def gauges(self) -> Mapping[str, float]: ...

    async def renew(self) -> None:
        """Take in what other processes have written."""
        ...


@dataclass(slots=True)
class Engine:
    """The opened memory: database, ports and settings.

    `registered` is the model this process embeds with, once it is loaded and registered;
    `llm_counters` counts what a language model did and `jobs` runs of jobs, `recent_answers` are
    some answers of the language model, and `query_pauses` is when each is asked for no queries;
    `llm` is asked wherever none of `further_llms` is chosen;
    `arrived` wakes the applier when an outcome was accepted here; `to_learn_from` are the
    namespaces in which this process applied outcomes that no lesson was drawn from yet; `resident`
    are the copies of namespaces that this process serves from, None where it holds none;
    `webhook_results` counts tries to deliver to webhooks by result;
    `health_gauges` is the health of learning over all namespaces, in the process that leads.
    `on_stage` is told how many seconds a stage of a retrieval took.
    """

    settings: EngineSettings
    database: Database
    embedder: Embedder
    counter: TokenCounter
    reranker: Reranker | None = None
    llm: LlmClient | None = None
    further_llms: FurtherLlms = field(default_factory=FurtherLlms)
    llm_counters: LlmCounters = field(default_factory=LlmCounters)
    jobs: JobCounters = field(default_factory=JobCounters)
    recent_answers: RecentAnswers = field(default_factory=RecentAnswers)
    query_pauses: defaultdict[str, Pause] = field(default_factory=lambda: defaultdict(Pause))
    chance: random.Random = field(default_factory=random.SystemRandom)
    registered: RegisteredModel | None = None
    failure: str | None = None
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    to_learn_from: set[UUID] = field(default_factory=set[UUID])
    webhook_results: Counter[str] = field(default_factory=Counter[str])
    health_gauges: dict[str, float] = field(default_factory=dict[str, float])
    resident: Copies | None = None
    on_stage: Callable[[str, float], None] = lambda _stage, _seconds: None

    @property
    def model(self) -> RegisteredModel:
        """The registered model. Raises Unavailable while it is loading or when it failed."""
        if self.registered is None:
            why = self.failure or "the embedding model is loading"
            raise Unavailable(why, code="embedder_not_ready", retry_after=2)
        return self.registered

    @property
    def llms(self) -> dict[str, NamedLlm]:
        """The language models by name, `default` first; none where none is configured."""
        if self.llm is None:
            return {}
        own = NamedLlm(self.llm, self.settings.llm.price)
        return {DEFAULT_LLM: own, **self.further_llms.models}

    async def close(self) -> None:
        """Answer every waiter, then let go of the model and the database."""
        further = (one.client for one in self.further_llms.models.values())
        for part in (self.resident, self.embedder, self.reranker, self.llm, *further):
            if isinstance(part, Closable):
                await part.close()
        await self.database.close()
