"""How often a key may ask: one token bucket a key.

Buckets live in the process: with n workers a key may ask n times as often. What protects the
database across processes is the bounded pool and the bounded queue of the embedder.
"""

from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

from memory.kernel.errors import Overloaded

# A forgotten bucket is a full one, so forgetting the longest idle key is never to its harm.
MAX_KEYS = 10_000


@dataclass(slots=True)
class Bucket:
    tokens: float
    filled_at: float


class Limits:
    """`rate` tokens a second flow into each bucket of `burst`; a request takes one."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._buckets: OrderedDict[UUID, Bucket] = OrderedDict()

    def take(self, key_id: UUID, now: float) -> None:
        """Takes a token at monotonic second `now`. Raises Overloaded when there is none."""
        bucket = self._bucket(key_id, now)
        grown = bucket.tokens + max(0.0, now - bucket.filled_at) * self._rate
        bucket.tokens = min(self._burst, grown)
        bucket.filled_at = max(bucket.filled_at, now)
        if bucket.tokens < 1.0:
            raise Overloaded(
                f"this key may ask {self._rate:g} times a second",
                code="rate_limited",
                limit=self._rate,
                retry_after=(1.0 - bucket.tokens) / self._rate,
            )
        bucket.tokens -= 1.0

    def __len__(self) -> int:
        return len(self._buckets)

    def _bucket(self, key_id: UUID, now: float) -> Bucket:
        bucket = self._buckets.get(key_id)
        if bucket is None:
            bucket = self._buckets[key_id] = Bucket(self._burst, now)
            if len(self._buckets) > MAX_KEYS:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(key_id)
        return bucket
