"""Row ids: UUIDv7, so that ids sort by the time they were made, even within a millisecond of one
process.
"""

import secrets
import time
from datetime import datetime
from threading import Lock
from uuid import UUID

_SUB_BITS = 12


class _Clockwork:
    """Milliseconds and a 12-bit counter that together only grow (RFC 9562, section 6.2, method
    1).
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = 0

    def tick(self) -> int:
        """Milliseconds since 1970 shifted by 12 bits, plus the counter; strictly increasing."""
        with self._lock:
            self._last = max((time.time_ns() // 1_000_000) << _SUB_BITS, self._last + 1)
            return self._last


_clockwork = _Clockwork()


def first_id_of(moment: datetime) -> UUID:
    """What every id of this moment or later is no smaller than."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)


def new_id() -> UUID:
    """A UUIDv7 larger than every one made before it in this process."""
    ticks = _clockwork.tick()
    millis, counter = ticks >> _SUB_BITS, ticks & ((1 << _SUB_BITS) - 1)
    value = (millis << 80) | (7 << 76) | (counter << 64) | (0b10 << 62) | secrets.randbits(62)
    return UUID(int=value)
