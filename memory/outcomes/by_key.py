"""A result comes back by the key of its task, or by its trace: whoever learns it holds no receipt.

living receipts of the key → those for which it would count → one agent, one party → report each

A receipt is open to a report while it lives and nothing that stands as high has its place. The
report is then taken as though it named the receipts itself, by the rules of `service.py`: all of
them take it, or none. A key of an agent sees the receipts that it opened and no others, so that
one it guesses is as unknown as one that there is not.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, MemoryFault, NotFound, Rejected
from memory.kernel.postgres.database import Connection
from memory.outcomes.entities import KeyedOutcome, KeyedReport, ReceiptReport
from memory.outcomes.precedence import OFF_ARM, find_precedence
from memory.outcomes.rewards import compute_rewards, digest
from memory.outcomes.service import rankers_asked, take_reports
from memory.receipts.entities import Outcome
from memory.receipts.key_entities import KeyedReceipt, ReceiptsOfKey
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext, ReceiptStore
from memory.tenancy.entities import Act, Call, Role
from memory.tenancy.store.keys import KeyStore

MAX_LOOKED_AT = 256
"""Living receipts of one key that are looked at, the newest first."""

MAX_BOUND = 64
"""Receipts that one report may be bound to."""

MAX_NAMED = 20
"""Candidates that a refusal names."""


async def report_by_key(engine: Engine, call: Call, report: KeyedReport) -> list[KeyedOutcome]:
    """The outcome of each receipt that it was bound to, the oldest first. Raises NotFound where
    the caller has no receipt of this key, Conflict where none is open or it is not clear which is
    meant, and what a report of a receipt raises.
    """
    call.key.require(Act.REPORT)
    async with engine.database.effect(call.namespace.id) as connection:
        bound = _bind(report, await _load_candidates(connection, call, report))
        reports = _reports(report, bound)
        answers = await take_reports(connection, call, reports)
        outcomes: list[KeyedOutcome] = []
        for one, answer in zip(bound, answers, strict=True):
            if isinstance(answer, MemoryFault):
                raise answer
            outcomes.append(KeyedOutcome(one.receipt, answer))
    engine.database.afterwards(engine.arrived.set)
    return outcomes


@dataclass(frozen=True, slots=True)
class KeyCandidate:
    """A living receipt of the key; `party` is whose word opened it: an agent's party, or the key
    itself where it judges others.
    """

    receipt: KeyedReceipt
    context: ReceiptContext
    party: UUID | None
    is_open: bool
    replayed_at: datetime | None
    """When the same report by the same key was taken; None where it was not."""


async def _load_candidates(
    connection: Connection, call: Call, report: KeyedReport
) -> list[KeyCandidate]:
    """The newest first. Raises NotFound where there is none, Conflict where all have expired."""
    receipts = ReceiptStore(connection, call.namespace.id)
    own = call.key.id if call.key.role is Role.AGENT else None
    wanted = ReceiptsOfKey(report.task_key, report.trace_id, report.agent, own)
    now = call.namespace.known_at(report.known_at, call.now)
    living = await receipts.of_key(wanted, MAX_LOOKED_AT, living_at=now)
    if not living:
        expired = await receipts.of_key(wanted, MAX_NAMED, living_at=None)
        raise _expired(report, expired) if expired else _unknown(report)
    ids = [one.retrieval_id for one in living]
    contexts = await receipts.contexts(ids)
    known = await OutcomeStore(connection, call.namespace.id).of_retrievals(ids)
    parties = await _load_parties(connection, contexts.values())
    return [
        _candidate(
            report,
            one,
            contexts[one.retrieval_id],
            known=known.get(one.retrieval_id, ()),
            parties=parties,
            key_id=call.key.id,
        )
        for one in living
    ]


async def _load_parties(
    connection: Connection, contexts: Collection[ReceiptContext]
) -> Mapping[UUID, UUID]:
    """Whose word the key of each receipt is."""
    openers = {one.key_id for one in contexts if one.key_id is not None}
    keys = await KeyStore(connection).some(openers)
    return {key.id: key.party_id or key.id for key in keys.values()}


def _candidate(
    report: KeyedReport,
    receipt: KeyedReceipt,
    context: ReceiptContext,
    *,
    known: Sequence[Outcome],
    parties: Mapping[UUID, UUID],
    key_id: UUID,
) -> KeyCandidate:
    same = digest(_narrow(report, context))
    taken = [o.recorded_at for o in known if o.sha256 == same and o.key_id == key_id]
    return KeyCandidate(
        receipt,
        context,
        party=None if context.key_id is None else parties.get(context.key_id, context.key_id),
        is_open=_is_open(report, context, known, key_id),
        replayed_at=max(taken, default=None),
    )


def _is_open(
    report: KeyedReport, context: ReceiptContext, known: Sequence[Outcome], key_id: UUID
) -> bool:
    """Whether the report would take the place of this receipt, or correct what has it."""
    if report.supersedes is not None and all(one.id != report.supersedes for one in known):
        return False
    rewards = compute_rewards(report, rankers=rankers_asked(context))
    found = find_precedence(known, report, rewards, key_id=key_id, opener=context.key_id)
    return found.refusal is None


def _narrow(report: KeyedReport, context: ReceiptContext) -> KeyedReport:
    """What it says of memories, as far as this receipt served them."""

    def of_this(ids: tuple[UUID, ...]) -> tuple[UUID, ...]:
        return tuple(one for one in ids if one in context.cited)

    return replace(
        report,
        helpful=of_this(report.helpful),
        harmful=of_this(report.harmful),
        used=None if report.used is None else of_this(report.used),
    )


def _bind(report: KeyedReport, candidates: Sequence[KeyCandidate]) -> list[KeyCandidate]:
    """The receipts that are meant, the oldest first. Raises Conflict where that is not clear."""
    openly = [one for one in candidates if one.is_open] or _replayed(candidates)
    if not openly:
        raise _all_answered(report, candidates)
    _require_one_run(report, openly)
    if report.policy == "latest":
        return openly[:1]
    if len({one.context.arm == OFF_ARM for one in openly}) > 1:
        raise _ambiguous(
            report,
            openly,
            "of runs with memory and without it: one result is not both's",
            field="policy",
        )
    if len(openly) > MAX_BOUND:
        why = f"more than the {MAX_BOUND} that one report may be bound to"
        raise _ambiguous(report, openly, why, field="policy")
    return [*reversed(openly)]


def _replayed(candidates: Sequence[KeyCandidate]) -> list[KeyCandidate]:
    """Those that took this very report before, at the last call that brought it."""
    last = max((one.replayed_at for one in candidates if one.replayed_at), default=None)
    return [one for one in candidates if last is not None and one.replayed_at == last]


def _require_one_run(report: KeyedReport, openly: Sequence[KeyCandidate]) -> None:
    """Who retrieves under the key of a stranger's task would share in its result."""
    if len({one.context.agent_id for one in openly}) > 1:
        raise _ambiguous(report, openly, "of several agents: name one", field="agent")
    if len({one.party for one in openly}) > 1:
        why = "and keys of several parties opened them: report under the receipt itself"
        raise _ambiguous(report, openly, why, field=report.named_by)


def _reports(report: KeyedReport, bound: Sequence[KeyCandidate]) -> list[ReceiptReport]:
    """A report for each receipt, each naming the memories that it served. One run is the run of one
    receipt, the newest.
    """
    served = {memory_id for one in bound for memory_id in one.context.cited}
    for field, ids in (
        ("used", report.used or ()),
        ("helpful", report.helpful),
        ("harmful", report.harmful),
    ):
        unknown = [memory_id for memory_id in ids if memory_id not in served]
        if unknown:
            raise Rejected(f"{unknown[0]} was not served under this {report.named_by}", field=field)
    last = bound[-1].receipt.retrieval_id
    return [
        ReceiptReport(
            one.receipt.retrieval_id,
            replace(
                _narrow(report, one.context),
                run=report.run if one.receipt.retrieval_id == last else None,
            ),
        )
        for one in bound
    ]


def _about(report: KeyedReport) -> str:
    who = "" if report.agent is None else f" of agent {report.agent}"
    return f"{report.named_by} {report.task_key or report.trace_id!r}{who}"


def _unknown(report: KeyedReport) -> NotFound:
    return NotFound(
        f"no receipt that this key may report on has the {_about(report)}",
        code="retrieval_not_found",
        field=report.named_by,
    )


def _expired(report: KeyedReport, receipts: Sequence[KeyedReceipt]) -> Conflict:
    return Conflict(
        f"every receipt of the {_about(report)} has expired: a result moves nothing any more",
        code="no_open_receipt",
        field=report.named_by,
        limit=_named(receipts, "expired"),
    )


def _all_answered(report: KeyedReport, candidates: Sequence[KeyCandidate]) -> Conflict:
    if report.supersedes is not None:
        why = "no receipt of the {} has the outcome that supersedes names"
        field = "supersedes"
    else:
        why = (
            "every receipt of the {} has a result that stands as high: to correct one by the same"
            " key, name it in supersedes"
        )
        field = report.named_by
    return Conflict(
        why.format(_about(report)),
        code="no_open_receipt",
        field=field,
        limit=_named([one.receipt for one in candidates], "answered"),
    )


def _ambiguous(
    report: KeyedReport, openly: Sequence[KeyCandidate], why: str, *, field: str
) -> Conflict:
    return Conflict(
        f"{len(openly)} receipts of the {_about(report)} are open, {why}",
        code="ambiguous_key",
        field=field,
        limit=_named([one.receipt for one in openly], "open"),
    )


def _named(receipts: Sequence[KeyedReceipt], state: str) -> list[dict[str, str]]:
    """The newest of them, for who has to choose."""
    return [
        {
            "retrieval_id": str(one.retrieval_id),
            "agent": one.agent,
            "known_at": one.known_at.isoformat(),
            "state": state,
        }
        for one in receipts[:MAX_NAMED]
    ]
