"""How often somebody may ask, and how many are served at once.

Both live in the process: with n workers a key may ask n times as often, while what is allowed to
those who guess is divided among the workers (`Shared.of`). What protects the database across
processes is the bounded pool and the bounded queue of the embedder.
"""

from collections import OrderedDict
from collections.abc import Generator, Hashable
from contextlib import contextmanager
from dataclasses import dataclass

from memory.kernel.errors import Overloaded, Unavailable

# A forgotten bucket is a full one, so forgetting the longest idle caller is never to its harm.
MAX_CALLERS = 10_000
# Callers whom nobody knows yet may hold one place in so many; the rest is kept for the others.
STRANGERS_SHARE = 4


@dataclass(slots=True)
class Bucket:
    tokens: float
    filled_at: float


class Limits:
    """`rate` tokens a second flow into each bucket of `burst`; a request takes one."""

    def __init__(self, rate: float, burst: int, refusal: str = "this key may ask") -> None:
        self._rate = rate
        self._burst = float(burst)
        self._refusal = refusal
        self._buckets: OrderedDict[Hashable, Bucket] = OrderedDict()

    def take(self, caller: Hashable, now: float) -> None:
        """Takes a token at monotonic second `now`. Raises Overloaded when there is none."""
        bucket = self._bucket(caller, now)
        grown = bucket.tokens + max(0.0, now - bucket.filled_at) * self._rate
        bucket.tokens = min(self._burst, grown)
        bucket.filled_at = max(bucket.filled_at, now)
        if bucket.tokens < 1.0:
            raise Overloaded(
                f"{self._refusal} {self._rate:g} times a second",
                code="rate_limited",
                limit=self._rate,
                retry_after=(1.0 - bucket.tokens) / self._rate,
            )
        bucket.tokens -= 1.0

    def give_back(self, caller: Hashable) -> None:
        """What was taken is not counted after all."""
        if (bucket := self._buckets.get(caller)) is not None:
            bucket.tokens = min(self._burst, bucket.tokens + 1.0)

    def __len__(self) -> int:
        return len(self._buckets)

    def _bucket(self, caller: Hashable, now: float) -> Bucket:
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = Bucket(self._burst, now)
            if len(self._buckets) > MAX_CALLERS:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(caller)
        return bucket


@dataclass(slots=True)
class HeldPlace:
    """A place among the requests that are served just now."""

    is_stranger: bool


class Places:
    """How many requests are served at once; strangers may hold only a share of the places, so that
    they never keep out a caller who is known.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._strangers_limit = max(1, total // STRANGERS_SHARE)
        self.taken = 0
        self.strangers = 0

    @contextmanager
    def hold(self, *, known: bool) -> Generator[HeldPlace]:
        """A place for the block. Raises Unavailable where none is free."""
        if self.taken >= self._total:
            raise _full(self._total)
        if not known and self.strangers >= self._strangers_limit:
            raise _full(self._strangers_limit)
        place = HeldPlace(is_stranger=not known)
        self.taken += 1
        self.strangers += place.is_stranger
        try:
            yield place
        finally:
            self.taken -= 1
            self.strangers -= place.is_stranger

    def recognise(self, place: HeldPlace) -> None:
        """The caller at this place has shown a key that is known."""
        if place.is_stranger:
            place.is_stranger = False
            self.strangers -= 1


def _full(limit: int) -> Unavailable:
    return Unavailable(
        f"{limit} requests are being served; come back soon",
        code="server_busy",
        limit=limit,
        retry_after=1,
    )
