"""A question to a language model.

For each attempt: reserve tokens of the day → ask → read the reply → record the call and what it
cost → wait, where another attempt may help. No transaction is open while the model answers.
"""

import asyncio
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Generic, TypeVar
from uuid import UUID

from memory.kernel.engine import Engine, NamedLlm
from memory.kernel.errors import MemoryFault, NotFound, Overloaded
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.ports import Prompt, Reply
from memory.kernel.postgres.database import Connection
from memory.kernel.turns import aside
from memory.llm.cost_entities import Charge, TokenPrice
from memory.llm.entities import LlmCall, LlmCallFilter, LlmSubject
from memory.llm.models import model_for, name_for
from memory.llm.prices import price_in_force, read_prices
from memory.llm.prompts import AGAIN
from memory.llm.redaction import redacted
from memory.llm.replies import Malformed
from memory.llm.roles import LlmRole
from memory.llm.store import LEASE, LlmCallStore, ServerBudgetStore
from memory.memories.service import hide_private
from memory.tenancy.entities import Act, Call, Namespace
from memory.tenancy.store.namespaces import NamespaceStore

Result = TypeVar("Result")

STOPPED = "budget_exhausted"
UNPRICED = "price_unknown"
"""Nobody knows what the model costs, and there is a daily cost limit."""
SERVER_STOPPED = "server_budget_exhausted"
"""All namespaces together have no money left for it today."""
MODEL_UNKNOWN = "model_unknown"
"""The server has no model of the name that is chosen for the role."""
STOPS = frozenset({STOPPED, UNPRICED, SERVER_STOPPED, MODEL_UNKNOWN})
"""Why nothing was sent: no fault of the question, which may be asked another time."""
NEVER_ASKED = "off_namespace"
"""The daily token limit of the namespace is 0."""
UNRECORDED = "unrecorded"
# What a provider turned away or lost cost nothing; an answer that came too late may have.
UNSPENT = frozenset(
    {"llm_busy", "llm_loading", "llm_failed", "llm_refused", "llm_denied", "llm_missing"}
)
PASSING = frozenset(
    {
        *("llm_busy", "llm_loading", "llm_failed"),
        *("malformed", "truncated", "echoed", "empty", "uncited"),
    }
)
"""Faults after which the same question may well be answered."""
ATTEMPTS = 3
PAUSE = 0.25
"""Before an attempt after a fault that named no time of its own, doubled each time; seconds."""
# No provider's count is believed beyond so many times our own of what was sent and came back: one
# answer must not end the day for everybody. Tokens of one byte, as of rare scripts, stay below it.
PLAUSIBLE_TIMES = 4
IMPLAUSIBLE = "implausible_tokens"
MOST_SHOWN = 10**18
MAX_KEPT = 100_000
# Many bytes a token where text is English, fewer elsewhere: three reserves enough for most.
BYTES_A_TOKEN = 3
# What a provider's form of a chat adds around the words.
OVERHEAD = 64


_stops: ContextVar[list[MemoryFault] | None] = ContextVar("llm_stops", default=None)


@contextmanager
def noting_stops() -> Generator[list[MemoryFault]]:
    """Why questions in the block were not asked, one of STOPS each: for the record of a run."""
    stops: list[MemoryFault] = []
    token = _stops.set(stops)
    try:
        yield stops
    finally:
        _stops.reset(token)


@dataclass(frozen=True, slots=True)
class LlmSession:
    """Where a question is asked: the engine, the namespace, whose text it carries, and when."""

    engine: Engine
    namespace_id: UUID
    subject: LlmSubject
    now: datetime

    @property
    def day(self) -> date:
        return self.now.astimezone(UTC).date()


@dataclass(frozen=True, slots=True)
class Reserved:
    """What is set aside for an attempt at a model: tokens, and what they cost at most; where all
    namespaces together have a limit, of its `server_day` as well.
    """

    model: NamedLlm
    tokens: int
    price: TokenPrice | None
    charge: Charge
    server_day: date | None

    def pay(self, attempt: "LlmAttempt", tokens: int) -> Charge:
        """What the attempt cost."""
        if self.price is None:
            return Charge(unpriced=tokens)
        return Charge(self.price.of(tokens, attempt.reply.written))


@dataclass(frozen=True, slots=True)
class LlmAttempt:
    """One attempt at a model: its reply, or what went wrong."""

    id: UUID
    model: str
    prompt: Prompt
    number: int
    reply: Reply
    duration_ms: float
    fault: MemoryFault | None

    def cost(self, reserved: int) -> int:
        """As the provider counts, as far as that is plausible; where it does not say, all that was
        set aside, unless the provider turned the question away.
        """
        if self.reply.tokens:
            return min(self.reply.tokens, self.most_tokens(reserved))
        return 0 if self.fault is not None and self.fault.kind in UNSPENT else reserved

    def most_tokens(self, reserved: int) -> int:
        """The largest count that is believed. What was set aside has room for the longest answer;
        a longer one came all the same where it is here.
        """
        came = len(self.reply.text.encode("utf-8", "replace")) // BYTES_A_TOKEN
        return PLAUSIBLE_TIMES * max(reserved, reserved - self.prompt.max_tokens + came)

    def oddity(self, reserved: int) -> str | None:
        """What is not believed of the provider's count, in words; None where it is believed."""
        if self.reply.tokens <= self.most_tokens(reserved):
            return None
        return (
            f"{IMPLAUSIBLE}: the provider counts {min(self.reply.tokens, MOST_SHOWN)} tokens; at"
            f" most {self.most_tokens(reserved)} are plausible for what was sent and came back, and"
            " these are counted"
        )


@dataclass(frozen=True, slots=True)
class LlmResult(Generic[Result]):
    """A checked result, the call that it came of, its model, and the tokens of all attempts."""

    value: Result
    llm_call_id: UUID
    model: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class LlmFailure:
    """Why there is no result, and what it cost: one of STOPS, `off_namespace` or the last attempt's
    fault.
    """

    reason: str
    tokens: int = 0
    model: str | None = None
    """Which one failed; None where none was asked."""


async def ask_in_background(
    engine: Engine, namespace_id: UUID, role: LlmRole[Result], *, subject: LlmSubject, now: datetime
) -> LlmResult[Result] | None:
    """What nobody waits for: the whole time-out is there."""
    if engine.llm is None:
        return None
    session = LlmSession(engine, namespace_id, subject, now)
    return await ask(session, role, engine.settings.llm.timeout.total_seconds())


async def ask(
    session: LlmSession, role: LlmRole[Result], seconds: float
) -> LlmResult[Result] | None:
    """The role's result within `seconds`, or None; raises nothing that the memory can raise."""
    result = await ask_or_explain(session, role, seconds)
    return result if isinstance(result, LlmResult) else None


async def ask_or_explain(
    session: LlmSession, role: LlmRole[Result], seconds: float
) -> LlmResult[Result] | LlmFailure:
    """As `ask`, and why not."""
    try:
        return await _ask_until(session, role, time.monotonic() + seconds)
    except MemoryFault:
        # The database would not take the record: what is not on record is not used.
        session.engine.llm_counters.results[role.name, UNRECORDED] += 1
        return LlmFailure(UNRECORDED)


async def _ask_until(
    session: LlmSession, role: LlmRole[Result], deadline: float
) -> LlmResult[Result] | LlmFailure:
    material = await asyncio.to_thread(redacted, role.prompt.material)
    prompt = replace(role.prompt, material=material)
    tokens, number = 0, 1
    while True:
        reserved = await _reserve(session, prompt, number, _estimate(prompt))
        if not isinstance(reserved, Reserved):
            return LlmFailure(reserved, tokens)
        attempt = await _attempt(reserved.model, prompt, number, deadline)
        value, attempt = await asyncio.to_thread(_read_reply, role, attempt)
        tokens += await _record(session, attempt, reserved)
        if attempt.fault is None:
            assert value is not None
            return LlmResult(value, attempt.id, attempt.model, tokens)
        if not await _wait_for_another(attempt, deadline):
            return LlmFailure(attempt.fault.kind, tokens, attempt.model)
        prompt, number = _next_prompt(role, attempt.fault), number + 1


def _estimate(prompt: Prompt) -> int:
    """The tokens to set aside for an attempt."""
    size = len(prompt.system.encode()) + len(prompt.material.encode())
    return size // BYTES_A_TOKEN + OVERHEAD + prompt.max_tokens


async def _reserve(session: LlmSession, prompt: Prompt, number: int, tokens: int) -> Reserved | str:
    """Set these tokens of the day aside, and what they cost at most; else why nothing may be sent.
    That the day has too few is on record; that a namespace never asks is no event.
    """
    await asyncio.to_thread(read_prices)
    async with session.engine.database.transaction(session.namespace_id) as connection:
        namespace = await NamespaceStore(connection).get(session.namespace_id)
        if namespace.settings.llm_daily_tokens == 0:
            return NEVER_ASKED
        model = model_for(session.engine, namespace.settings, prompt.role)
        if model is None:
            named = name_for(session.engine, namespace.settings, prompt.role)
            found = _unknown(session.engine, named, prompt.role)
        else:
            named = model.client.name
            desk = _SettingAside(session, connection, namespace, model)
            found = await desk.set_aside(prompt, tokens)
        if isinstance(found, Reserved):
            return found
        unsent = replace(prompt, system="", material="")
        attempt = LlmAttempt(new_id(), named, unsent, number, Reply("", 0), 0.0, found)
        store = LlmCallStore(connection, session.namespace_id)
        await store.add(_call_of(session, attempt, 0), session.now)
    session.engine.llm_counters.results[prompt.role, found.kind] += 1
    if (noted := _stops.get()) is not None:
        noted.append(found)
    return found.kind


def _unknown(engine: Engine, name: str, role: str) -> MemoryFault:
    there = ", ".join(engine.llms)
    said = f"for {role} the namespace has chosen the model {name}, which this server does not have"
    return MemoryFault(f"{said}; it has: {there}", code=MODEL_UNKNOWN)


@dataclass(frozen=True, slots=True)
class _SettingAside:
    """What may be set aside for a question to a model, in one transaction: of the namespace's day
    and then, where the server has a limit, of the day of all namespaces.
    """

    session: LlmSession
    connection: Connection
    namespace: Namespace
    model: NamedLlm

    async def set_aside(self, prompt: Prompt, tokens: int) -> Reserved | MemoryFault:
        limits, settings = self.session.engine.settings.llm, self.namespace.settings
        name, day = self.model.client.name, self.session.day
        limit, together = settings.daily_tokens(limits.daily_tokens), limits.server_daily_cost
        most = settings.daily_cost(limits.daily_cost)
        price = price_in_force(name, self.model.price)
        if price is None and (most is not None or together is not None):
            whose = "server's " if most is None else ""
            held = together if most is None else most
            said = f"the price of {name} is not known, and the {whose}daily cost limit of"
            return Overloaded(f"{said} {_money(held)} could not be held", code=UNPRICED)
        charge = Charge(0.0 if price is None else price.of(tokens, prompt.max_tokens), most)
        store = LlmCallStore(self.connection, self.namespace.id)
        lease = LEASE + limits.timeout
        if not await store.reserve(day, tokens, limit, lease, charge):
            said = await _say_left(store, day, limit, charge)
            return Overloaded(f"a question of up to {tokens} tokens; {said}", code=STOPPED)
        server_day = None
        if together is not None and charge.dollars:
            server = ServerBudgetStore(self.connection)
            server_day = await server.reserve(charge.dollars, together, lease)
            if server_day is None:
                await store.give_back(day, tokens, charge)
                return Overloaded(_beyond(charge.dollars, together), code=SERVER_STOPPED)
        return Reserved(self.model, tokens, price, charge, server_day)


def _beyond(dollars: float, limit: float) -> str:
    return (
        f"a question that costs up to {_money(dollars)}; less is left of the {_money(limit)} that"
        " language models may cost this server today, all namespaces together"
    )


async def _say_left(store: LlmCallStore, day: date, limit: int, charge: Charge) -> str:
    """Of tokens, and of money where that is limited."""
    spent, set_aside, _ = await store.used(day)
    said = f"{max(0, limit - spent - set_aside)} of the daily token limit of {limit} are left"
    if charge.limit is None:
        return said
    cost, cost_aside = await store.cost_of(day)
    left = max(0.0, charge.limit - cost - cost_aside)
    return (
        f"{said}, and {_money(left)} of the daily cost limit of {_money(charge.limit)}; it costs"
        f" up to {_money(charge.dollars)}"
    )


def _money(dollars: float | None) -> str:
    return f"${dollars or 0.0:.4f}"


async def _attempt(model: NamedLlm, prompt: Prompt, number: int, deadline: float) -> LlmAttempt:
    """The reply, or the fault; no transaction is open here."""
    began = time.monotonic()
    reply, fault = Reply("", 0), None
    try:
        async with aside():
            reply = await model.client.complete(prompt, max(0.0, deadline - began))
    except MemoryFault as raised:
        fault = raised
    duration = round((time.monotonic() - began) * 1000, 3)
    return LlmAttempt(new_id(), model.client.name, prompt, number, reply, duration, fault)


def _read_reply(role: LlmRole[Result], attempt: LlmAttempt) -> tuple[Result | None, LlmAttempt]:
    """The result that the reply holds, or the attempt with what is wrong with it."""
    if attempt.fault is not None:
        return None, attempt
    if attempt.reply.finish == "refused":
        refusal = MemoryFault("the model would not answer", code="llm_refused")
        return None, replace(attempt, fault=refusal)
    try:
        return role.read(attempt.reply.text), attempt
    except Malformed as fault:
        cut = attempt.reply.finish == "length" and fault.kind == "malformed"
        broken = Malformed(fault.detail, code="truncated") if cut else fault
        return None, replace(attempt, fault=broken)


async def _record(session: LlmSession, attempt: LlmAttempt, aside: Reserved) -> int:
    """The call is kept and its tokens are counted, in one step; returns them."""
    reserved = aside.tokens
    tokens = attempt.cost(reserved)
    async with session.engine.database.transaction(session.namespace_id) as connection:
        store = LlmCallStore(connection, session.namespace_id)
        record = _call_of(session, attempt, tokens)
        oddity = attempt.oddity(reserved)
        if oddity is not None:
            record = replace(record, detail=_joined(oddity, record.detail))
        await store.add(record, session.now)
        # Last, for every attempt of the namespace takes this row.
        paid = aside.pay(attempt, tokens)
        await store.settle(session.day, reserved, tokens, (aside.charge, paid))
        if aside.server_day is not None:
            server = ServerBudgetStore(connection)
            await server.settle(aside.server_day, aside.charge.dollars, paid.dollars)
    counters = session.engine.llm_counters
    counters.results[attempt.prompt.role, attempt.fault.kind if attempt.fault else "done"] += 1
    counters.tokens[attempt.prompt.role] += tokens
    counters.implausible[attempt.prompt.role] += oddity is not None
    return tokens


def _joined(*parts: str | None) -> str:
    return "; ".join(part for part in parts if part)


def _call_of(session: LlmSession, attempt: LlmAttempt, tokens: int) -> LlmCall:
    fault, subject = attempt.fault, session.subject
    parts = (attempt.prompt.system, attempt.prompt.material)
    status = "done" if fault is None else "failed"
    return LlmCall(
        id=attempt.id,
        role=attempt.prompt.role,
        model=attempt.model,
        attempt=attempt.number,
        prompt="\n\n".join(part for part in parts if part),
        answer=_storable(attempt.reply.text),
        tokens=tokens,
        duration_ms=attempt.duration_ms,
        status="stopped" if fault is not None and fault.kind in STOPS else status,
        fault=None if fault is None else fault.kind,
        detail=None if fault is None else _storable(fault.detail),
        retrieval_id=subject.retrieval_id,
        memory_id=subject.memory_id,
        ticket_id=subject.ticket_id,
        task_id=subject.task_id,
        agent=subject.agent,
        memory_ids=subject.memory_ids,
        recorded_at=session.now,
        erased_at=None,
        key_id=subject.key_id,
    )


def _storable(text: str) -> str:
    """What a model answered, as far as a database takes it, without secrets."""
    bare = text[:MAX_KEPT].replace("\x00", "")
    return redacted(bare.encode("utf-8", "replace").decode())


async def _wait_for_another(attempt: LlmAttempt, deadline: float) -> bool:
    """Waits as long as the provider asks, where another attempt may help and the time allows."""
    assert attempt.fault is not None
    if attempt.fault.kind not in PASSING or attempt.number == ATTEMPTS:
        return False
    named = attempt.fault.retry_after
    pause = 0.0 if isinstance(attempt.fault, Malformed) else PAUSE * 2 ** (attempt.number - 1)
    wait = named if named is not None else pause
    if time.monotonic() + wait >= deadline:
        return False
    await asyncio.sleep(wait)
    return True


def _next_prompt(role: LlmRole[Result], fault: MemoryFault) -> Prompt:
    """The same question; after a bad answer it says what was wrong, and leaves more room."""
    prompt = replace(role.prompt, material=redacted(role.prompt.material))
    if not isinstance(fault, Malformed):
        return prompt
    room = prompt.max_tokens * (2 if fault.kind == "truncated" else 1)
    return replace(prompt, system=prompt.system + AGAIN.format(fault=fault.kind), max_tokens=room)


async def list_llm_calls(
    engine: Engine, call: Call, wanted: LlmCallFilter, page: Page
) -> Listed[LlmCall]:
    """What carries one agent's private text is shown without words to other keys."""
    call.key.require(Act.INSPECT)
    async with engine.database.transaction(call.namespace.id) as connection:
        found, total = await LlmCallStore(connection, call.namespace.id).browse(wanted, page)
        found = await hide_private(connection, call, found)
    return listed(found, page, total, lambda one: (str(one.id),))


async def get_llm_call(engine: Engine, call: Call, llm_call_id: UUID) -> LlmCall:
    """One call as the list has it. Raises NotFound."""
    found = await list_llm_calls(engine, call, LlmCallFilter(id=llm_call_id), Page(1))
    if not found.items:
        raise NotFound("no such call of the language model", field="id")
    return found.items[0]
