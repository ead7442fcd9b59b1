"""What a new report is beside those that came before, and what it is evidence of."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.belief.evidence import Circumstances, classify, verifier_rank
from memory.belief.states import Evidence
from memory.kernel.errors import Conflict, NotFound
from memory.outcomes.entities import Report
from memory.outcomes.pairing import IN_EFFECT
from memory.outcomes.rewards import Rewards
from memory.receipts.entities import SETTLEMENT, Outcome
from memory.receipts.store.outcomes import StoredOutcome
from memory.receipts.store.receipts import ReceiptContext
from memory.tenancy.entities import Learning, Namespace


@dataclass(frozen=True, slots=True)
class Told:
    """What of an outcome the ruling asks about."""

    metric: str
    reward_kind: str
    known_at: datetime
    without: bool
    has_partner: bool


def rule(namespace: Namespace, binding: ReceiptContext, told: Told) -> tuple[Evidence, str | None]:
    """The kind of evidence, and why it moves nothing where it does not."""
    return classify(
        Circumstances(
            arm=binding.arm,
            purpose=binding.purpose,
            without=told.without,
            current=binding.current,
            expired=told.known_at > binding.expires_at,
            other_metric=_other_metric(binding, told),
            frozen=namespace.learning is Learning.FROZEN,
            erased=bool(binding.cited) and binding.erased >= set(binding.cited),
            completes_pair=binding.arm == "forced_off" and told.has_partner,
        )
    )


def _other_metric(binding: ReceiptContext, told: Told) -> bool:
    """Whether the category's first outcome fixed another metric or reward kind."""
    fixed = (binding.metric, binding.reward_kind)
    return binding.metric is not None and fixed != (told.metric, told.reward_kind)


HOLDING = ("half_missing", "observational", "half_of_pair")
"""Reasons of outcomes that move nothing by themselves and still hold the place of their run."""


@dataclass(frozen=True, slots=True)
class Standing:
    """In whose place a report stands, or why it has no effect."""

    replaces: Outcome | None = None
    refusal: str | None = None


def standing_of(
    known: Sequence[StoredOutcome], one: Report, rewards: Rewards, key_id: UUID
) -> Standing:
    """Raises NotFound or Conflict where it supersedes what is not in effect."""
    named = next((s for s in known if s.outcome.id == one.supersedes), None)
    if one.supersedes is not None and named is None:
        raise NotFound("no such outcome", code="outcome_not_found", field="supersedes")
    current = next((s for s in known if holds(s.outcome)), None)
    if current is None:
        return Standing()
    if named is not None and named is not current:
        raise Conflict("that outcome is out of effect", code="stale", field="supersedes")
    return _beside(current, one, rewards, corrects=_corrects(current, one, key_id))


def holds(outcome: Outcome) -> bool:
    """Whether the outcome is the one of its run that counts, as far as any does."""
    if outcome.status in IN_EFFECT:
        return True
    return outcome.status == "ignored" and outcome.reason in HOLDING


def _corrects(current: StoredOutcome, one: Report, key_id: UUID) -> bool:
    """Whether the same hand takes its own word back, by name; settlements are one hand, whichever
    key brings them.
    """
    one_hand = one.evaluator == SETTLEMENT or current.key_id == key_id
    same = current.outcome.evaluator == one.evaluator and one_hand
    return one.supersedes is not None and same


def _beside(current: StoredOutcome, one: Report, rewards: Rewards, *, corrects: bool) -> Standing:
    """What a report is beside the one in effect."""
    known = current.outcome
    rank = verifier_rank(one.verifier) - verifier_rank(known.verifier)
    if rank > 0 or (rank == 0 and corrects) or _completes(known, one, rewards):
        return Standing(replaces=known)
    return Standing(refusal="outranked" if rank < 0 else "disagrees")


def _completes(known: Outcome, one: Report, rewards: Rewards) -> bool:
    """Whether it says the same and adds the run without memory."""
    same = (known.verifier, known.evaluator, known.reward, known.reward_full) == (
        one.verifier,
        one.evaluator,
        rewards.reward,
        rewards.full,
    )
    return same and known.reward_without is None and rewards.without is not None
