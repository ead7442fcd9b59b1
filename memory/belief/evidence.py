"""Decides what an outcome is evidence of, whose outcome counts, and whose word about whom."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar
from uuid import UUID

from memory.belief.states import Evidence
from memory.kernel.errors import Rejected

_PAIRABLE = frozenset({"on", "forced_on", "paired", "retest"})


_ALONE = frozenset({"on", "forced_on", "retest"})


_AT_RANDOM = frozenset({"control", "suspended"})


_VERIFIERS = ("self", "judge", "test", "human")  # from the least to the most believed


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides how an outcome may be used.

    `arm` and `purpose` are the receipt's; `without` says that the run without memory is reported
    too; `current` that every memory still has the text that was served; `erased` that none of
    them has any text left; `completes_pair` that this run without memory is half of one.
    """

    arm: str
    purpose: str = "act"
    without: bool = False
    current: bool = True
    expired: bool = False
    other_metric: bool = False
    frozen: bool = False
    erased: bool = False
    completes_pair: bool = False


def classify(circumstances: Circumstances) -> tuple[Evidence, str | None]:
    """The kind of evidence, and, where it moves nothing, the reason.

    Reasons, the first that holds: `frozen`, `expired`, `other_metric`, `preview` and `replay`
    (those retrievals ask about the bank, nobody's task hangs on them, and a replayed task has had
    its outcome), `erased`, `other_version`, `half_missing` (a promised pair of which one run is
    known: as a single it could not become a pair later), `half_of_pair` (its reward counts in the
    outcome of the run with memory), `observational` (without memory, but not at random: the
    runs differ in more than memory). A suspended cell serves at random as well: its runs without
    memory are control.
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
        "half_of_pair": circumstances.completes_pair,
        "observational": not with_memory and circumstances.arm not in _AT_RANDOM,
    }
    return next((reason for reason, holds in answers.items() if holds), None)


def verifier_rank(verifier: str) -> int:
    """How far a verifier is believed: human > test > judge > self. Raises Rejected."""
    if verifier not in _VERIFIERS:
        raise Rejected(
            f"There is no verifier {verifier!r}; there are {', '.join(_VERIFIERS)}.",
            field="verifier",
            limit=list(_VERIFIERS),
        )
    return _VERIFIERS.index(verifier)


def lower_verifier(one: str, other: str) -> str:
    """Which of two is believed less: a pair is worth what its weaker half is."""
    return min(one, other, key=verifier_rank)


class Verified(Protocol):
    """An outcome, as far as its verifier goes."""

    @property
    def verifier(self) -> str: ...


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
