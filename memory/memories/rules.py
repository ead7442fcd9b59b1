"""When probation ends, when a memory retires, what may be done to its status, which texts are one,
and how far from its category a memory is looked for. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.belief.weights import NEUTRAL
from memory.kernel.errors import Conflict, Rejected
from memory.kernel.likeness import content_words
from memory.kernel.normal_form import normal_form
from memory.memories.entities import Status
from memory.tenancy.entities import Key, Role

MOST_CLAIMED = 1.0
"""Where a memory of an agent's key may start at most: what it is worth beyond is earned here."""


def require_start_weight(key: Key, weight: float, *, literal: bool = False) -> None:
    """A start weight is its writer's claim. Raises Rejected where an agent's is too high, and for
    any but 1 where the rule of learning is `literal`: it starts every memory there.
    """
    if literal and weight != NEUTRAL:
        raise Rejected("every memory starts at 1 under this policy", field="weight", limit=NEUTRAL)
    if key.role is Role.AGENT and weight > MOST_CLAIMED:
        raise Rejected(
            f"a key of role agent lets a memory start at {MOST_CLAIMED:g} at most",
            field="weight",
            limit=MOST_CLAIMED,
        )


SAYS_NOTHING = "says_nothing"
"""Why a memory is proposed that nobody asked to try."""


LEAST_WORDS = 3
"""A situation and a lesson have at least so many different words together, articles and auxiliaries
not counted.
"""


UNSPACED = 0x0900
"""Scripts from here on are not counted: many write words without a space between."""


# What stands where nothing was filled in, and what is said without saying anything. A lesson of
# these words alone is none, whatever it is about.
_FILLERS = frozenset(
    {
        *("test", "testing", "tests", "todo", "tbd", "fixme", "wip", "na", "n/a", "none", "null"),
        *("nil", "undefined", "nan", "nothing", "empty", "placeholder", "dummy", "sample", "temp"),
        *("foo", "bar", "baz", "qux", "lorem", "ipsum", "dolor", "sit", "amet", "asdf", "qwer"),
        *("qwerty", "zxcv", "hjkl", "blah", "bla", "abc", "xyz", "lesson", "memory", "experience"),
        *("ok", "okay", "yes", "no", "yep", "nope", "hi", "hello", "hey", "world", "thanks"),
        *("thank", "you", "please", "lol", "hmm", "cool", "nice", "great", "good", "fine", "done"),
        *("this", "that", "it", "my", "some", "just", "only", "and", "or", "again"),
        *("first", "there"),
    }
)


def says_nothing(situation: str, lesson: str) -> bool:
    """Whether a memory is junk: a lesson without a letter or of fillers alone, or two different
    words in all. Scripts that write words without a space between say much in one piece.
    """
    if not any(map(str.isalpha, lesson)):
        return True
    if max(map(ord, lesson)) >= UNSPACED:
        return False
    told = [word for word in _words_of(lesson) if word not in _FILLERS]
    return not told or len({*_words_of(situation), *_words_of(lesson)}) < LEAST_WORDS


def _words_of(text: str) -> list[str]:
    """The words that could say something: with letters, and more than one of them."""
    words = content_words(normal_form(text))
    return [word for word in words if any(map(str.isalpha, word)) and len(set(word)) > 1]


CREDITS_TO_RISE, CREDITS_TO_FALL = 3, 5


WEIGHT_TO_RISE, WEIGHT_TO_FALL = 1.0, 0.8


def after_probation(effective_weight: float, credited: int) -> Status | None:
    """Active, rejected, or None where the outcomes do not say yet. The weight is the whole one,
    not halved.
    """
    if credited >= CREDITS_TO_RISE and effective_weight > WEIGHT_TO_RISE:
        return Status.ACTIVE
    if credited >= CREDITS_TO_FALL and effective_weight <= WEIGHT_TO_FALL:
        return Status.REJECTED
    return None


# A memory retires when its effective weight has fallen this low on this much evidence, or when it
# was neither served nor credited for this long and has nothing to show (source: the archive rule
# of weight <= .2 with at least 5 uses, or 180 days without use).
LOW_WEIGHT = 0.2


ENOUGH_CREDITS = 5


DISUSE = timedelta(days=180)


_RESTORABLE = frozenset({Status.SUSPENDED, Status.RETIRED})


_STOPPABLE = frozenset({Status.ACTIVE, Status.PROBATION, Status.SUSPENDED})


@dataclass(frozen=True, slots=True)
class RetirementCase:
    """What retirement looks at. `last_used` is when it was learned, last served or last
    credited.
    """

    effective_weight: float
    credited: int
    last_used: datetime
    pinned: bool


def find_retirement_reason(case: RetirementCase, now: datetime) -> str | None:
    """Why the memory should retire now; None where it should stay. A pinned one always stays."""
    if case.pinned:
        return None
    if case.effective_weight <= LOW_WEIGHT and case.credited >= ENOUGH_CREDITS:
        return "low_weight"
    if case.credited == 0 and now - case.last_used >= DISUSE:
        return "disuse"
    return None


def next_status(current: Status, action: str) -> Status:
    """The status after suspend, retire or restore. Raises Conflict where that cannot be done."""
    allowed = _RESTORABLE if action == "restore" else _STOPPABLE
    target = {
        "suspend": Status.SUSPENDED,
        "retire": Status.RETIRED,
        "restore": Status.ACTIVE,
    }[action]
    if current not in allowed or current is target:
        done = {"suspend": "suspended", "retire": "retired", "restore": "restored"}[action]
        raise Conflict(f"a memory that is {current} cannot be {done}", code="status_conflict")
    return target


ENOUGH = 3
"""A bucket with fewer than this many borrows."""


MULTIPLIERS = (1.0, 0.9, 0.8, 0.7)
"""What a memory counts in the category asked for, in its parent, in those that the taxonomy calls
related, and anywhere else.
"""


def back_off(sizes: Mapping[int, int]) -> dict[int, float]:
    """The buckets to look in, 0 being the exact one, and what a memory counts in each.

    `sizes` says how many memories are in each bucket and not in a nearer one.
    """
    opened: dict[int, float] = {}
    held = 0
    for bucket, multiplier in enumerate(MULTIPLIERS):
        opened[bucket] = multiplier
        held += sizes.get(bucket, 0)
        if held >= ENOUGH:
            break
    return opened
