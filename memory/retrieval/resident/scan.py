"""How the head of a probe is found in a copy: on a card where the copy lies there, else here.

The card gives slots, and all the rest is done with the rows here: whoever is seen there by a mask
is looked at again by the mask of the moment in which the answer is put together.
"""

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from memory.inference.card import MOST_PROBES, NoCard
from memory.retrieval.head import Double
from memory.retrieval.resident.card_rows import CardRows
from memory.retrieval.resident.namespaces import ResidentNamespace
from memory.retrieval.resident.rows import Flags, Slots
from memory.retrieval.store.search import Head, Probe, Scope

AT_ONCE = 4_000_000
"""So many cosines are held at a time: of a batch, so many probes at once as make them up."""


BRIEF = 100_000
"""Fewer cosines are computed at once without letting go of the loop: well below a millisecond."""


TRIES = 3
"""So often a card is asked where rows that it found went meanwhile."""


MOST_NEW = 1_000
"""So many rows that came since are compared here; where more did, the card is asked again."""


@dataclass(frozen=True, slots=True)
class FoundSlots:
    """What a card found for a probe: the `size` best of who was seen, and who is as near."""

    slots: Slots
    seen: Flags
    size: int

    def now(self, seen: Flags, size: int) -> Slots | None:
        """The slots among which the `size` best of those are that are seen now. None where that is
        not known: one of them is seen no longer, or many more are.
        """
        if size > self.size or not seen[self.slots].all():
            return None
        if seen is self.seen:
            return self.slots
        known = len(self.seen)
        back = np.flatnonzero(seen[:known] & ~self.seen)
        came = np.concatenate([back, known + np.flatnonzero(seen[known:])])
        return None if len(came) > MOST_NEW else np.concatenate([self.slots, came])


class Scan:
    """Of the probes of one call: each is compared once, in few products."""

    def __init__(self, copy: ResidentNamespace, probes: Sequence[Probe]) -> None:
        self._copy = copy
        self._rows = copy.rows
        self._waiting = {_key(probe): probe for probe in probes}
        self._cosines: dict[Hashable, Double] = {}
        self._asked: set[Hashable] = set()
        """Whose cosines are kept though they were used: a larger head may be asked for next."""
        self._found: dict[Hashable, FoundSlots] = {}

    async def head(self, probes: Sequence[Probe], scope: Scope, size: int, margin: float) -> Head:
        """What may be seen of the `size` most similar, with all within `margin` of the last."""
        slots = await self._on_card(probes, scope, size, margin)
        if slots is not None:
            version = self._copy.snapshot.bank_version
            return self._rows.head_among(probes, slots, scope, size, margin, version)
        asked = {_key(probe) for probe in probes}
        for key in self._asked - asked:
            self._cosines.pop(key, None)
        self._asked = asked
        cosines = [await self._compared(probe) for probe in probes]
        version = self._copy.snapshot.bank_version
        return self._rows.head(probes, cosines, scope, size, margin, version)

    async def _on_card(
        self, probes: Sequence[Probe], scope: Scope, size: int, margin: float
    ) -> Slots | None:
        """The slots among which the head is; None where the processor is to look."""
        card = self._copy.on_card
        if card is None or not card.is_worth_it:
            return None
        for _ in range(TRIES):
            try:
                for probe in probes:
                    if self._known(probe, scope, size) is None:
                        await self._search(card, probe, scope, size, margin)
            except NoCard:
                return None
            known = [self._known(probe, scope, size) for probe in probes]
            if all(slots is not None for slots in known):
                return np.unique(np.concatenate([slots for slots in known if slots is not None]))
        return None

    def _known(self, probe: Probe, scope: Scope, size: int) -> Slots | None:
        found = self._found.get(_key(probe))
        return None if found is None else found.now(self._rows.mask(probe.field, scope), size)

    async def _search(
        self, card: CardRows, probe: Probe, scope: Scope, size: int, margin: float
    ) -> None:
        """On the card, with the next ones of its field: most calls have one agent."""
        group = self._with_next(probe, MOST_PROBES)
        seen = self._rows.mask(probe.field, scope)
        found = await card.nearest(group, seen, size, margin)
        for one, slots in zip(group, found, strict=True):
            self._found[_key(one)] = FoundSlots(slots, seen, size)

    async def _compared(self, probe: Probe) -> Double:
        """Its cosines, taken here with those of the next ones of its field."""
        if _key(probe) not in self._cosines:
            view = self._rows.view(probe.field)
            group = self._with_next(probe, max(1, AT_ONCE // max(1, len(view.vectors))))
            if len(group) * len(view.vectors) < BRIEF:
                found = view.cosines(group)
            else:
                found = await asyncio.to_thread(view.cosines, group)
            self._cosines |= {_key(one): some for one, some in zip(group, found, strict=True)}
        return self._cosines[_key(probe)]

    def _with_next(self, probe: Probe, most: int) -> list[Probe]:
        """It and others of its field that wait, which wait no longer."""
        self._waiting.pop(_key(probe), None)
        others = [one for one in self._waiting.values() if one.field == probe.field]
        group = [probe, *others[: most - 1]]
        for one in group:
            self._waiting.pop(_key(one), None)
        return group


def _key(probe: Probe) -> Hashable:
    return probe.field, probe.vector.tobytes()
