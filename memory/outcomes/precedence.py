"""Which report of a receipt counts, and what it is evidence of.

Precedence: the best verified report is in effect; at equal rank the word of who is not judged by
it, and then the first. One that disagrees with it is refused, a correction by the same hand takes
its place. Evidence: decided by how the receipt was served, so that nobody can choose it after the
fact.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol, TypeVar
from uuid import UUID

from memory.belief.states import Evidence
from memory.kernel.errors import Conflict, NotFound
from memory.outcomes.entities import Report
from memory.outcomes.rewards import Rewards
from memory.receipts.entities import HOLDING, SETTLEMENT, Outcome
from memory.receipts.store.receipts import ReceiptContext
from memory.tenancy.claims import Verifier, verifier_rank
from memory.tenancy.entities import Learning, Namespace

ON_ARMS = ("paired", "forced_on")
OFF_ARM = "forced_off"
"""Of runs that make a pair, though they are reported apart: with memory, and without it."""


@dataclass(frozen=True, slots=True)
class Precedence:
    """In whose place a report stands, or why it has no effect."""

    replaces: Outcome | None = None
    refusal: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Standing:
    """How far a word on a run is believed; the larger stands above, whichever came first.

    `independent`: it is not the word of the party that is judged by it. Of equal rank, an
    evaluator's or a settlement's stands above the runner's own.
    """

    rank: int
    independent: bool


def find_standing(said: Report | Outcome, key_id: UUID | None, opener: UUID | None) -> Standing:
    """Of what a key says on a receipt that `opener` opened. Of the opener's party no other key may
    report, and a settlement is nobody's word, whichever key brings it.
    """
    independent = said.evaluator == SETTLEMENT or key_id != opener
    return Standing(verifier_rank(said.verifier), independent)


def find_precedence(
    known: Sequence[Outcome],
    report: Report,
    rewards: Rewards,
    *,
    key_id: UUID,
    opener: UUID | None,
) -> Precedence:
    """Raises NotFound or Conflict where it supersedes what is not in effect."""
    named = next((one for one in known if one.id == report.supersedes), None)
    if report.supersedes is not None and named is None:
        raise NotFound(
            f"no such outcome: {report.supersedes}", code="outcome_not_found", field="supersedes"
        )
    current = find_current(known)
    if current is None:
        return Precedence()
    if named is not None and named is not current:
        raise Conflict("that outcome is out of effect", code="stale", field="supersedes")
    new = find_standing(report, key_id, opener)
    old = find_standing(current, current.key_id, opener)
    if new < old:
        return Precedence(refusal="outranked")
    amends = _corrects(current, report, key_id) or _completes(current, report, rewards)
    return Precedence(replaces=current) if new > old or amends else Precedence(refusal="disagrees")


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


class Teaching(IntEnum):
    """What an outcome teaches: nothing; something once another run is known; by itself."""

    NOTHING = 0
    WITH_ANOTHER_RUN = 1
    BY_ITSELF = 2


def teaching_of(outcome: Outcome) -> Teaching:
    """What teaches less never takes the place of what teaches more, whatever its verifier."""
    if outcome.evidence is not Evidence.NONE:
        return Teaching.BY_ITSELF
    return Teaching.WITH_ANOTHER_RUN if outcome.reason in HOLDING else Teaching.NOTHING


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
    """The key that wrote a served memory, and whether agents other than the author may see it."""

    memory: UUID
    author: UUID | None
    shared: bool


def author_of(reporters: Collection[UUID], served: Iterable[Authorship]) -> frozenset[UUID]:
    """The served memories about which the reporter's word does not count, being its own.

    `reporters` are the keys whose word is the reporter's: none where an evaluator reports, an
    admin, or a settlement, which are never authors, and none where no second party writes or
    reports: there nobody is harmed by self-praise.
    """
    return frozenset(
        one.memory
        for one in served
        if one.shared and one.author is not None and one.author in reporters
    )
