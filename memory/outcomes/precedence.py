"""Which report of a receipt counts, and what it is evidence of.

Precedence: the best verified report is in effect, the first at equal rank; one that disagrees with
it is refused, a correction by the same hand takes its place. Evidence: decided by how the receipt
was served, so that nobody can choose it after the fact.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, get_args
from uuid import UUID

from memory.belief.states import Evidence
from memory.kernel.errors import Conflict, NotFound, Rejected
from memory.outcomes.entities import Report
from memory.outcomes.rewards import Rewards
from memory.receipts.entities import SETTLEMENT, Outcome, Verifier
from memory.receipts.store.receipts import ReceiptContext
from memory.tenancy.entities import Learning, Namespace

ON_ARMS = ("paired", "forced_on")
OFF_ARM = "forced_off"
"""Of runs that make a pair, though they are reported apart: with memory, and without it."""


@dataclass(frozen=True, slots=True)
class Precedence:
    """In whose place a report stands, or why it has no effect."""

    replaces: Outcome | None = None
    refusal: str | None = None


def find_precedence(
    known: Sequence[Outcome], report: Report, rewards: Rewards, key_id: UUID
) -> Precedence:
    """Raises NotFound or Conflict where it supersedes what is not in effect."""
    named = next((one for one in known if one.id == report.supersedes), None)
    if report.supersedes is not None and named is None:
        raise NotFound("no such outcome", code="outcome_not_found", field="supersedes")
    current = find_current(known)
    if current is None:
        return Precedence()
    if named is not None and named is not current:
        raise Conflict("that outcome is out of effect", code="stale", field="supersedes")
    rank = verifier_rank(report.verifier) - verifier_rank(current.verifier)
    corrects = rank == 0 and _corrects(current, report, key_id)
    if rank > 0 or corrects or _completes(current, report, rewards):
        return Precedence(replaces=current)
    return Precedence(refusal="outranked" if rank < 0 else "disagrees")


def find_current(known: Sequence[Outcome]) -> Outcome | None:
    """The outcome that holds the receipt's place."""
    return next((one for one in known if one.holds_place), None)


def _corrects(current: Outcome, report: Report, key_id: UUID) -> bool:
    """Whether the same hand takes its own word back, by name; settlements are one hand, whichever
    key brings them.
    """
    one_hand = report.evaluator == SETTLEMENT or current.key_id == key_id
    return report.supersedes is not None and current.evaluator == report.evaluator and one_hand


def _completes(current: Outcome, report: Report, rewards: Rewards) -> bool:
    """Whether it says the same and adds the run without memory."""
    same = (current.verifier, current.evaluator, current.reward, current.reward_full) == (
        report.verifier,
        report.evaluator,
        rewards.reward,
        rewards.full,
    )
    return same and current.reward_without is None and rewards.without is not None


def can_pair_later(receipt: ReceiptContext, outcome: Outcome) -> bool:
    """Whether a run that is reported apart can make a pair with this one."""
    if receipt.arm in ON_ARMS:
        return outcome.reward_without is None
    return receipt.arm == OFF_ARM


def classify_outcome(
    namespace: Namespace, receipt: ReceiptContext, outcome: Outcome
) -> tuple[Evidence, str | None]:
    """The kind of evidence, and why it moves nothing where it does not."""
    measured = (outcome.metric, outcome.reward_kind)
    return classify(
        Circumstances(
            arm=receipt.arm,
            purpose=receipt.purpose,
            without=outcome.reward_without is not None,
            current=receipt.current,
            expired=outcome.known_at > receipt.expires_at,
            # The category's first outcome fixed the metric and the reward kind.
            other_metric=receipt.metric is not None
            and (receipt.metric, receipt.reward_kind) != measured,
            frozen=namespace.learning is Learning.FROZEN,
            erased=bool(receipt.cited) and receipt.erased >= set(receipt.cited),
            half=receipt.arm == OFF_ARM and outcome.partner_id is not None,
        )
    )


_PAIRABLE = frozenset({"on", "forced_on", "paired", "retest"})


_ALONE = frozenset({"on", "forced_on", "retest"})


_AT_RANDOM = frozenset({"control", "suspended"})


_VERIFIERS: tuple[Verifier, ...] = tuple(reversed(get_args(Verifier)))
"""From the least to the most believed."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides how an outcome may be used.

    `arm` and `purpose` are the receipt's; `without` says that the run without memory is reported
    too; `current` that every memory still has the text that was served; `erased` that none of
    them has any text left; `half` that this run without memory completes a pair.
    """

    arm: str
    purpose: str = "act"
    without: bool = False
    current: bool = True
    expired: bool = False
    other_metric: bool = False
    frozen: bool = False
    erased: bool = False
    half: bool = False


def classify(circumstances: Circumstances) -> tuple[Evidence, str | None]:
    """The kind of evidence, and, where it moves nothing, the reason.

    Reasons, the first that holds: `frozen`, `expired`, `other_metric`, `preview` and `replay`
    (those retrievals ask about the bank, nobody's task hangs on them, and a replayed task has had
    its outcome), `erased`, `other_version`, `half_missing` (a promised pair of which one run is
    known: as a single it could not become a pair later), `half_of_pair` (its reward counts in the
    outcome of the run with memory), `observational` (without memory, but not at random: the runs
    differ in more than memory). A suspended cell serves at random as well: its runs without memory
    are control.
    """
    reason = _refusal(circumstances)
    if reason is not None:
        return Evidence.NONE, reason
    if circumstances.arm in _AT_RANDOM:
        return Evidence.CONTROL, None
    if circumstances.without and circumstances.arm in _PAIRABLE:
        return Evidence.PAIRED, None
    return Evidence.SINGLE, None


def _refusal(circumstances: Circumstances) -> str | None:
    with_memory = circumstances.arm in _PAIRABLE
    answers = {
        "frozen": circumstances.frozen,
        "expired": circumstances.expired,
        "other_metric": circumstances.other_metric,
        "preview": circumstances.purpose == "preview",
        "replay": circumstances.purpose == "replay",
        "erased": with_memory and circumstances.erased,
        "other_version": with_memory and not circumstances.current,
        "half_missing": with_memory
        and circumstances.arm not in _ALONE
        and not circumstances.without,
        "half_of_pair": circumstances.half,
        "observational": not with_memory and circumstances.arm not in _AT_RANDOM,
    }
    return next((reason for reason, holds in answers.items() if holds), None)


def verifier_rank(verifier: Verifier) -> int:
    """How far a verifier is believed: human > test > judge > self. Raises Rejected."""
    if verifier not in _VERIFIERS:
        raise Rejected(
            f"There is no verifier {verifier!r}; there are {', '.join(_VERIFIERS)}.",
            field="verifier",
            limit=list(_VERIFIERS),
        )
    return _VERIFIERS.index(verifier)


def lower_verifier(one: Verifier, other: Verifier) -> Verifier:
    """Which of two is believed less: a pair is worth what its weaker half is."""
    return min(one, other, key=verifier_rank)


class Verified(Protocol):
    """An outcome, as far as its verifier goes."""

    @property
    def verifier(self) -> Verifier: ...


_Outcome = TypeVar("_Outcome", bound=Verified)


def effective_outcome(outcomes: Sequence[_Outcome]) -> _Outcome:
    """Which of one retrieval's outcomes, in order of arrival, counts.

    The highest verifier, and the first at equal rank; at least one outcome is expected.
    """
    return max(outcomes, key=lambda outcome: verifier_rank(outcome.verifier))


@dataclass(frozen=True, slots=True)
class Authorship:
    """Who wrote a served memory, and whether agents other than the author may see it."""

    memory: UUID
    author: UUID | None
    shared: bool


def author_of(
    reporters: frozenset[UUID], served: Iterable[Authorship], *, agents: int
) -> frozenset[UUID]:
    """The served memories about which the reporter's word does not count, being its own.

    `reporters` are the agents for which the reporting key speaks: none for an evaluator's key and
    for a settlement, which are never authors. `agents` is how many the namespace has: where no
    second one sees the memory, nobody is harmed by self-praise.
    """
    if agents < 2:  # noqa: PLR2004 - a second agent is what the rule is about
        return frozenset()
    return frozenset(
        one.memory
        for one in served
        if one.shared and one.author is not None and one.author in reporters
    )
