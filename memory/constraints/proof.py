"""When a constraint holds for others than those it was learned from. Pure.

A contrast proves nothing for others on one task, on one party's word, or where less than a test
stands behind either run. So a constraint is proven, and served, by the word of who manages the
bank, or by contrasts that count and together

* come from two tasks;
* compare runs of two parties (`memory.tenancy.parties`);
* rest on more than one party's word, the success as well as the failure: each is vouched for by two
  parties, or by a key that judges others. One key that lies stands on one side of any number of
  tasks, so it proves nothing, whoever ran on the other side.

A verdict is worth what the key that gave it may claim, whatever it says.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from uuid import UUID

from memory.tenancy.claims import Verifier, verifier_rank
from memory.tenancy.entities import Role
from memory.tenancy.parties import speak_as_one

TASKS = 2
"""From so many tasks a constraint has to come; those of one group stand or fall together."""


PROOF: Verifier = "test"
"""The least that must stand behind both runs of a contrast."""


JUDGES = frozenset({Role.EVALUATOR, Role.ADMIN, Role.OPERATOR})
"""Their keys judge others, and belong to no party."""


NO_VERDICT, SELF_VERIFIED, BELOW_TEST = "no_verdict", "self_verified", "below_test"


SAME_KEY, SAME_PARTY = "same_key", "same_party"
"""Why a pair of runs does not count."""


NO_SUPPORT, ONE_TASK, ONE_PARTY, ONE_WORD = "no_support", "one_task", "one_party", "one_word"
"""Why a constraint waits: nothing counts for it; all that does comes from one task, or from runs of
one party; or the success, or the failure, rests on one party's word.
"""


@dataclass(frozen=True, slots=True)
class Voice:
    """The key that brought a run, and vouches for what it says of it."""

    id: UUID
    role: Role
    agents: tuple[str, ...] | None
    party_id: UUID | None
    verifies: Verifier

    @property
    def judges(self) -> bool:
        return self.role in JUDGES


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of a run, whose run it is, and by which key; None where that is not known."""

    agent: str
    verifier: str
    voice: Voice | None

    @property
    def rank(self) -> int:
        """How far it is believed; below all verifiers where nobody vouches."""
        if self.voice is None or self.verifier == "none":
            return -1
        return min(verifier_rank(self.verifier), verifier_rank(self.voice.verifies))

    @property
    def is_judged(self) -> bool:
        """Whether one vouches for it who judges others."""
        return self.voice is not None and self.voice.judges


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of support: a contrast with what is said of its better and its worse run, or (None)
    the word of who manages the bank. `task` is the same for tasks of one group.
    """

    task: str
    verdicts: tuple[Verdict, Verdict] | None


def reason_against(one: Verdict, other: Verdict) -> str | None:
    """Why two runs are no support for anything, if so: less than a test stands behind one, or one
    party alone behind both.
    """
    lowest = min(one.rank, other.rank)
    if lowest < verifier_rank(PROOF):
        return BELOW_TEST if lowest > verifier_rank("self") else SELF_VERIFIED
    if one.is_judged and other.is_judged:
        return None
    if one.voice is not None and other.voice is not None and one.voice.id == other.voice.id:
        return SAME_KEY
    judged = one.is_judged or other.is_judged
    return None if judged or not is_one_party(one, other) else SAME_PARTY


def reason_to_wait(pieces: Iterable[Piece]) -> str | None:
    """Why a constraint with this support is not in use; None where it is proven."""
    pieces = tuple(pieces)
    if any(piece.verdicts is None for piece in pieces):
        return None
    counting = [
        (piece.task, piece.verdicts)
        for piece in pieces
        if piece.verdicts is not None and reason_against(*piece.verdicts) is None
    ]
    if not counting:
        return NO_SUPPORT
    if len({task for task, _ in counting}) < TASKS:
        return ONE_TASK
    better, worse = zip(*(verdicts for _, verdicts in counting), strict=True)
    if not _of_two_parties([*better, *worse]):
        return ONE_PARTY
    return None if _vouched_for(better) and _vouched_for(worse) else ONE_WORD


def _vouched_for(verdicts: Sequence[Verdict]) -> bool:
    """Whether this rests on more than one party's word."""
    return any(one.is_judged for one in verdicts) or _of_two_parties(verdicts)


def _of_two_parties(verdicts: Sequence[Verdict]) -> bool:
    return any(not is_one_party(one, other) for one, other in combinations(set(verdicts), 2))


def is_one_party(one: Verdict, other: Verdict) -> bool:
    """Whether both runs are of one party. Whose run it is, a key that judges says by the agent's
    name; an agent's key proves no more than for whom it may speak.
    """
    ours, theirs = one.voice, other.voice
    if ours is None or theirs is None:
        return True
    if ours.judges or theirs.judges:
        named = ((one.agent, ours, theirs), (other.agent, theirs, ours))
        return one.agent == other.agent or any(
            judge.judges and agent in (other_voice.agents or ())
            for agent, judge, other_voice in named
        )
    return ours.party_id == theirs.party_id or speak_as_one(ours, theirs)
