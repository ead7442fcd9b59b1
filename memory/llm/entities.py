"""What a language model was asked and what it answered: the record of each call, the budget."""

from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Literal, get_args
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.kernel.fields import OUTPUT
from memory.kernel.ports import RoleName
from memory.memories.masking import Mask

CallStatus = Literal["done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class LlmSubject:
    """What a call belongs to, and whose text its prompt carries.

    `retrieval_id`, `memory_id` and `ticket_id` name its result; `memory_ids`, `task_id` and
    `agent` are the sources that an erasure may reach.
    """

    retrieval_id: UUID | None = None
    memory_id: UUID | None = None
    ticket_id: UUID | None = None
    task_id: UUID | None = None
    agent: str | None = None
    memory_ids: tuple[UUID, ...] = ()
    key_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One attempt to have a question answered by a language model, without secrets."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the call for ever; later calls have larger ids."""
    role: RoleName
    """What it was asked for: `search` and `compile` by a retrieval, `summarise`, `repair`,
    `revise`, `reflect`, `distil` and `judge` by jobs.
    """
    model: str
    """The model, as its provider calls it; where there is none of the chosen name, that name."""
    attempt: int
    """Which attempt at the same question this is, from 1."""
    status: CallStatus
    """`stopped`: a daily limit of tokens or money was reached, or the server does not have the
    model that was chosen, so nothing was sent.
    """
    fault: str | None
    """Why the answer was not used, or nothing was sent."""
    detail: str | None
    """The fault in words; `implausible_tokens: …` where the provider's count was not believed."""
    prompt: str
    """What was sent; empty where it was erased, not sent, or `private` and not for this key."""
    answer: str
    """What came back; empty where the prompt is."""
    tokens: int
    """What it cost, as the provider counts, but at most four times what its words suggest; else
    what was set aside.
    """
    duration_ms: float
    """How long it took, in milliseconds."""
    retrieval_id: UUID | None
    """The receipt whose guideline it was to compile."""
    memory_id: UUID | None
    """The candidate that resulted; the nil UUID for a private one."""
    ticket_id: UUID | None
    """The ticket under which the candidate is tried."""
    task_id: UUID | None
    """The task that its prompt tells of."""
    agent: str | None
    """The agent whose words its prompt carries."""
    memory_ids: tuple[UUID, ...]
    """The memories that its prompt tells of; the nil UUID for a private one."""
    recorded_at: datetime
    """When it was made."""
    erased_at: datetime | None
    """When its words were erased."""
    key_id: UUID | None
    """The key that caused it; null for what a job asked."""
    private: bool = False
    """Whether the prompt carries text that one agent alone may see."""

    def hide(self, mask: Mask) -> "LlmCall":
        """Without what was asked and said, where a memory that the mask hides may be in it."""
        told = self.memory_ids if self.memory_id is None else (*self.memory_ids, self.memory_id)
        if not mask.hides(told):
            return self
        return replace(self, prompt="", answer="", detail=None)


@dataclass(frozen=True, slots=True)
class LlmCallFilter:
    """Which calls to list, the oldest first unless asked otherwise; None does not filter. Raises
    Rejected for a role or a status that no call has.
    """

    role: str | None = None
    status: str | None = None
    retrieval_id: UUID | None = None
    memory_id: UUID | None = None
    id: UUID | None = None
    newest_first: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("role", self.role, get_args(RoleName)),
            ("status", self.status, get_args(CallStatus)),
        ):
            if value is not None and value not in known:
                raise Rejected(f"{name} must be one of {known}", field=name, limit=list(known))


@dataclass(frozen=True, slots=True)
class LlmPause:
    """That a language model is left alone for a while by one process: questions fail at once."""

    __pydantic_config__ = OUTPUT

    seconds: float
    """For how long still."""
    reason: str
    """The last fault before it."""


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """A language model of the server, as one namespace sees it."""

    __pydantic_config__ = OUTPUT

    name: str
    """What the server calls it, as `llm_models` of a namespace names it; `default` is asked for
    whatever nothing else is chosen for.
    """
    model: str
    """The model, as its provider calls it."""
    roles: tuple[RoleName, ...]
    """What it is asked for in this namespace."""
    price_known: bool
    """Whether its price is known; where it is not, a daily cost limit stops every question to it
    (`price_unknown`), for nothing could hold it.
    """
    pause: LlmPause | None
    """Where the provider asked for a pause or failed three times in a row, and the process that
    answers leaves it alone; null where it would be asked.
    """


@dataclass(frozen=True, slots=True)
class UnknownModel:
    """A choice of the namespace that the server cannot follow: nothing is asked in this role."""

    __pydantic_config__ = OUTPUT

    role: RoleName
    """What it was to be asked for."""
    name: str
    """The name that no model of the server has."""


@dataclass(frozen=True, slots=True)
class BudgetDay:
    """What the language model took on one UTC day."""

    __pydantic_config__ = OUTPUT

    day: date
    """The day, in UTC."""
    tokens: int
    """What calls have cost, in tokens."""
    cost: float
    """The same in US dollars, by the prices of that day."""
    unpriced: int
    """How many of the tokens had no known price: they are not in `cost`."""
    stopped: int
    """How many questions were not asked."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The tokens of one namespace and UTC day."""

    __pydantic_config__ = OUTPUT

    model: str | None
    """The language model that is asked wherever nothing else is chosen; null where none is
    configured.
    """
    day: date
    """The day, in UTC."""
    limit: int
    """The daily token limit in force: that of the namespace, at most the server's. 0: the model is
    never asked.
    """
    spent: int
    """What calls have cost."""
    reserved: int
    """What is set aside for calls under way, or for calls whose process died."""
    left: int
    """What another call may take."""
    stopped: int
    """How many questions were not asked, for want of tokens or money."""
    models: tuple[ModelInUse, ...]
    """All that the server has, `default` first."""
    unknown_models: tuple[UnknownModel, ...]
    """What the namespace has chosen and the server does not have (any more): `model_unknown`."""
    cost_limit: float | None
    """The daily cost limit in force, in US dollars: that of the namespace, at most the server's;
    null where there is none.
    """
    cost: float
    """What calls have cost in US dollars, as far as prices are known."""
    cost_reserved: float
    """US dollars that are set aside for calls under way, at most what they can cost."""
    price_known: bool
    """Whether the price of the model is known; where it is not, a daily cost limit stops every
    question (`price_unknown`), for nothing could hold it.
    """
    server_cost_limit: float | None
    """What calls of all namespaces together may cost in a UTC day, in US dollars; null where there
    is no such limit.
    """
    server_cost: float | None
    """What they have cost today or have set aside; null where there is no such limit, and for any
    key but an operator's.
    """
    server_cost_reached: bool
    """Whether a question of any namespace was not asked today for that limit
    (`server_budget_exhausted`).
    """
    days: tuple[BudgetDay, ...]
    """What each of the newest 90 days took, the newest first; days without a call are left out."""
    pause: LlmPause | None = None
    """Where the provider asked for a pause or failed three times in a row, and the process that
    answers leaves it alone; null where it would be asked.
    """
