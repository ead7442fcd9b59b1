"""How lists of contrasts are filtered."""

from uuid import UUID

from memory.constraints.contrast_entities import ContrastFilter, ContrastState, PairClass
from server.schemas.base import ListQuery


class ContrastQuery(ListQuery):
    """Which contrasts to list. Differs from `ContrastFilter`: it is paged."""

    state: ContrastState | None = None
    pair_class: PairClass | None = None
    task_id: UUID | None = None

    def to_filter(self) -> ContrastFilter:
        return ContrastFilter(self.state, self.pair_class, self.task_id)
