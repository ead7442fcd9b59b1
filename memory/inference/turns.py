"""The order in which waiting work is done: namespaces by turns, and in each its callers.

Start-time fair queueing: each namespace has a clock that goes on by what it was given over its
weight, and the one whose clock is behind comes next. Who comes after a silence begins at the
present time, so nobody saves up.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from memory.kernel.turns import Turn, TurnClass

Waiting = TypeVar("Waiting")

WEIGHTS = {TurnClass.CALL: 4.0, TurnClass.JOB: 1.0}
"""A job is given a quarter of what a namespace's callers are given, while both wait."""
REMEMBERED = 1024


@dataclass(slots=True)
class _Share(Generic[Waiting]):
    """What waits of one turn: its calls, of each the items in order."""

    clock: float
    calls: deque[deque[Waiting]] = field(default_factory=deque[deque[Waiting]])


class FairQueue(Generic[Waiting]):
    """Items of calls, to be taken one by one. All of it runs on the event loop."""

    def __init__(self) -> None:
        self._shares: dict[Turn, _Share[Waiting]] = {}
        self._clocks: dict[Turn, float] = {}
        self._now = 0.0
        self.waiting: Counter[Turn] = Counter()
        """How many items of each turn wait."""

    def __bool__(self) -> bool:
        return bool(self._shares)

    @property
    def total(self) -> int:
        """How many items wait."""
        return self.waiting.total()

    def waiting_of(self, of: TurnClass) -> int:
        return sum(count for turn, count in self.waiting.items() if turn.of is of)

    def add(self, turn: Turn, items: "deque[Waiting]") -> None:
        """A call of that turn; it has at least one item."""
        share = self._shares.get(turn)
        if share is None:
            clock = max(self._now, self._clocks.pop(turn, 0.0))
            share = self._shares[turn] = _Share(clock)
        share.calls.append(items)
        self.waiting[turn] += len(items)

    def peek(self) -> Waiting:
        """The item that comes next; there must be one."""
        return self._shares[self._next()].calls[0][0]

    def take(self, cost: float) -> Waiting:
        """Take it: so much of the device it costs its turn."""
        turn = self._next()
        share = self._shares[turn]
        self._now = share.clock
        share.clock += cost / WEIGHTS[turn.of]
        call = share.calls.popleft()
        item = call.popleft()
        if call:
            share.calls.append(call)
        self._count(turn, 1)
        return item

    def remove(self, turn: Turn, items: "deque[Waiting]") -> None:
        """A call whose caller left, with what is left of it."""
        share = self._shares.get(turn)
        if share is None:
            return
        for place, call in enumerate(share.calls):
            if call is items:
                del share.calls[place]
                self._count(turn, len(items))
                return

    def _count(self, turn: Turn, gone: int) -> None:
        self.waiting[turn] -= gone
        share = self._shares[turn]
        if share.calls:
            return
        del self.waiting[turn], self._shares[turn]
        self._clocks[turn] = share.clock
        if not self._shares:
            self._clocks.clear()
            self._now = 0.0
        elif len(self._clocks) > REMEMBERED:
            # Who lies behind the present begins at the present all the same.
            self._clocks = {t: at for t, at in self._clocks.items() if at > self._now}

    def _next(self) -> Turn:
        return min(self._shares, key=lambda turn: self._shares[turn].clock)
