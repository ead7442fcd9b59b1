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
from datetime import UTC, date, datetime, timedelta
from typing import Generic, TypeVar
from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, NotFound, Overloaded
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.ports import LlmClient, Prompt, Reply
from memory.kernel.turns import aside
from memory.llm.cost_entities import Charge, TokenPrice
from memory.llm.entities import LlmCall, LlmCallFilter, LlmSubject, TokenBudget
from memory.llm.prices import price_in_force
from memory.llm.prompts import AGAIN
from memory.llm.provider import ProviderClient
from memory.llm.redaction import redacted
from memory.llm.replies import Malformed
from memory.llm.roles import LlmRole
from memory.llm.store import LEASE, LlmCallStore
from memory.memories.service import hide_private
from memory.tenancy.entities import Act, Call
from memory.tenancy.store.namespaces import NamespaceStore

Result = TypeVar("Result")

STOPPED = "budget_exhausted"
UNPRICED = "price_unknown"
"""Nobody knows what the model costs, and the namespace has a daily cost limit."""
DAYS_SHOWN = 90
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


_stops: ContextVar[list[str] | None] = ContextVar("llm_stops", default=None)


@contextmanager
def noting_stops() -> Generator[list[str]]:
    """What was not asked in the block for want of tokens, in words: for the record of a run."""
    stops: list[str] = []
    token = _stops.set(stops)
    try:
        yield stops
    finally:
        _stops.reset(token)


@dataclass(frozen=True, slots=True)
class LlmSession:
    """Where a question is asked: the engine and its model, the namespace, whose text it carries,
    and when.
    """

    engine: Engine
    client: LlmClient
    namespace_id: UUID
    subject: LlmSubject
    now: datetime

    @property
    def day(self) -> date:
        return self.now.astimezone(UTC).date()


@dataclass(frozen=True, slots=True)
class Reserved:
    """What is set aside for an attempt: tokens, and what they cost at most."""

    tokens: int
    price: TokenPrice | None
    charge: Charge

    def pay(self, attempt: "LlmAttempt", tokens: int) -> Charge:
        """What the attempt cost."""
        if self.price is None:
            return Charge(unpriced=tokens)
        return Charge(self.price.of(tokens, attempt.reply.written))


@dataclass(frozen=True, slots=True)
class LlmAttempt:
    """One attempt: its reply, or what went wrong."""

    id: UUID
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
    """A checked result, the call that it came of, and the tokens of all its attempts."""

    value: Result
    llm_call_id: UUID
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class LlmFailure:
    """Why there is no result, and what it cost: `budget_exhausted`, `off_namespace` or the last
    attempt's fault.
    """

    reason: str
    tokens: int = 0


async def ask_in_background(
    engine: Engine, namespace_id: UUID, role: LlmRole[Result], *, subject: LlmSubject, now: datetime
) -> LlmResult[Result] | None:
    """What nobody waits for: the whole time-out is there."""
    if engine.llm is None:
        return None
    session = LlmSession(engine, engine.llm, namespace_id, subject, now)
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
        attempt = await _attempt(session, prompt, number, deadline)
        value, attempt = await asyncio.to_thread(_read_reply, role, attempt)
        tokens += await _record(session, attempt, reserved)
        if attempt.fault is None:
            assert value is not None
            return LlmResult(value, attempt.id, tokens)
        if not await _wait_for_another(attempt, deadline):
            return LlmFailure(attempt.fault.kind, tokens)
        prompt, number = _next_prompt(role, attempt.fault), number + 1


def _estimate(prompt: Prompt) -> int:
    """The tokens to set aside for an attempt."""
    size = len(prompt.system.encode()) + len(prompt.material.encode())
    return size // BYTES_A_TOKEN + OVERHEAD + prompt.max_tokens


async def _reserve(session: LlmSession, prompt: Prompt, number: int, tokens: int) -> Reserved | str:
    """Set these tokens of the day aside, and what they cost at most; else why nothing may be sent.
    That the day has too few is on record; that a namespace never asks is no event.
    """
    limits = session.engine.settings.llm
    price = await asyncio.to_thread(price_in_force, session.client.name, limits.price)
    async with session.engine.database.transaction(session.namespace_id) as connection:
        store = LlmCallStore(connection, session.namespace_id)
        namespace = await NamespaceStore(connection).get(session.namespace_id)
        limit = namespace.settings.daily_tokens(limits.daily_tokens)
        if namespace.settings.llm_daily_tokens == 0:
            return NEVER_ASKED
        most = namespace.settings.daily_cost(limits.daily_cost)
        dollars = 0.0 if price is None else price.of(tokens, prompt.max_tokens)
        charge = Charge(dollars, most)
        if price is None and most is not None:
            said = f"the price of {session.client.name} is not known, and the daily cost limit of"
            stop = Overloaded(f"{said} {_money(most)} could not be held", code=UNPRICED)
        elif await store.reserve(session.day, tokens, limit, LEASE + limits.timeout, charge):
            return Reserved(tokens, price, charge)
        else:
            said = await _say_left(store, session.day, limit, charge)
            stop = Overloaded(f"a question of up to {tokens} tokens; {said}", code=STOPPED)
        unsent = replace(prompt, system="", material="")
        attempt = LlmAttempt(new_id(), unsent, number, Reply("", 0), 0.0, stop)
        await store.add(_call_of(session, attempt, 0), session.now)
    session.engine.llm_counters.results[prompt.role, stop.kind] += 1
    if (noted := _stops.get()) is not None:
        noted.append(stop.detail)
    return stop.kind


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


def _money(dollars: float) -> str:
    return f"${dollars:.4f}"


async def _attempt(session: LlmSession, prompt: Prompt, number: int, deadline: float) -> LlmAttempt:
    """The reply, or the fault; no transaction is open here."""
    began = time.monotonic()
    reply, fault = Reply("", 0), None
    try:
        async with aside():
            reply = await session.client.complete(prompt, max(0.0, deadline - began))
    except MemoryFault as raised:
        fault = raised
    duration = round((time.monotonic() - began) * 1000, 3)
    return LlmAttempt(new_id(), prompt, number, reply, duration, fault)


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
        charges = (aside.charge, aside.pay(attempt, tokens))
        await store.settle(session.day, reserved, tokens, charges)
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
        model=session.client.name,
        attempt=attempt.number,
        prompt="\n\n".join(part for part in parts if part),
        answer=_storable(attempt.reply.text),
        tokens=tokens,
        duration_ms=attempt.duration_ms,
        status="stopped" if fault is not None and fault.kind in (STOPPED, UNPRICED) else status,
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


async def budget_of(engine: Engine, call: Call) -> TokenBudget:
    """The tokens and the money of the day that it is now."""
    call.key.require(Act.INSPECT)
    day = call.now.astimezone(UTC).date()
    limit = call.namespace.settings.daily_tokens(engine.settings.llm.daily_tokens)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = LlmCallStore(connection, call.namespace.id)
        spent, reserved, stopped = await store.used(day)
        cost, cost_reserved = await store.cost_of(day)
        days = await store.days_since(day - timedelta(days=DAYS_SHOWN - 1))
    model = None if engine.llm is None else engine.llm.name
    price = None
    if model is not None:
        price = await asyncio.to_thread(price_in_force, model, engine.settings.llm.price)
    return TokenBudget(
        model=model,
        day=day,
        limit=limit,
        spent=spent,
        reserved=reserved,
        left=max(0, limit - spent - reserved),
        stopped=stopped,
        cost_limit=call.namespace.settings.daily_cost(engine.settings.llm.daily_cost),
        cost=cost,
        cost_reserved=cost_reserved,
        price_known=price is not None,
        days=tuple(days),
        pause=engine.llm.pause if isinstance(engine.llm, ProviderClient) else None,
    )
