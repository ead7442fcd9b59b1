"""Which keys live, by their ids alone, as found a moment ago: a guess costs no look-up.

A token whose id no key has is refused from memory, and takes nothing from those who come from the
same address. Whether a token is good, the database decides each time anew.
"""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from memory.kernel.engine import Engine
from memory.kernel.errors import Unauthenticated, Unavailable
from memory.kernel.ids import first_id_of
from memory.tenancy.service import list_living_ids

# A key may have been made beside us since we last looked: so far may clocks differ, and so long may
# a transaction take.
RECENT = timedelta(minutes=1)
# Between two looks at all keys, only what is recent is looked at.
ALL_EVERY = timedelta(minutes=1)


class LivingKeys:
    """Knows nothing, and refuses nothing, until it was renewed once."""

    def __init__(self) -> None:
        self._ids: set[UUID] = set()
        self._found_at: datetime | None = None
        self._found_all_at: datetime | None = None

    def __contains__(self, key_id: UUID) -> bool:
        return key_id in self._ids

    def add(self, key_id: UUID) -> None:
        """A key that was made here."""
        self._ids.add(key_id)

    def require_possible(self, key_id: UUID, now: datetime) -> None:
        """Raises Unauthenticated for an id that no living key has, unless it could be new."""
        if self._found_at is None or key_id in self._ids:
            return
        if first_id_of(self._found_at - RECENT) <= key_id < first_id_of(now + RECENT):
            return
        raise Unauthenticated("the key is not known, has expired or was revoked")

    async def renew(self, engine: Engine) -> None:
        """Look again. What was found stays where there is no connection to look with."""
        now = datetime.now(UTC)
        whole = self._found_all_at is None or now - self._found_all_at >= ALL_EVERY
        try:
            since = None if whole else first_id_of(now - RECENT)
            found = await list_living_ids(engine, now, since)
        except Unavailable:
            return
        if whole:
            self._ids, self._found_all_at = found, now
        else:
            self._ids |= found
        self._found_at = now
