"""Which receipts and outcomes a list has."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.receipts.entities import OutcomeStatus


@dataclass(frozen=True, slots=True)
class ReceiptFilter:
    """pending: nothing was reported, and it has not expired; expired: nothing was, and it has;
    answered: with an outcome in effect, or in that of its pair; noted: what was reported moves
    nothing; all.
    """

    state: str = "all"
    agent: str | None = None
    category: str | None = None
    arm: str | None = None
    task_key: str | None = None
    trace_id: str | None = None
    newest_first: bool = False
    words: str | None = None
    """All of these words stand in the text of the task, in any order and case."""
    since: datetime | None = None
    """Known then or later."""
    before: datetime | None = None
    """Known before then."""
    min_reward: float | None = None
    """Of an outcome that was not replaced by another."""
    max_reward: float | None = None

    def __post_init__(self) -> None:
        for name in ("min_reward", "max_reward"):
            reward = getattr(self, name)
            if reward is not None and not 0.0 <= reward <= 1.0:
                raise Rejected(f"{name} lies from 0 to 1", field=name, limit=[0, 1])
        if self.words is not None and len(self.words.split()) > MAX_WORDS:
            raise Rejected(f"search for {MAX_WORDS} words at most", field="words", limit=MAX_WORDS)


MAX_WORDS = 16
"""A search of receipts looks for no more."""


Claims = Literal["too_high"]
"""Of outcomes that count though they claim more than the key that reported them verifies today."""


@dataclass(frozen=True, slots=True)
class OutcomeFilter:
    """Which outcomes a list has; the oldest first unless asked otherwise."""

    state: str | None = None
    retrieval_id: UUID | None = None
    claims: Claims | None = None
    newest_first: bool = False

    def __post_init__(self) -> None:
        if self.state is not None and self.state not in set(OutcomeStatus):
            states = tuple(status.value for status in OutcomeStatus)
            raise Rejected(f"state must be one of {states}", field="state", limit=list(states))
