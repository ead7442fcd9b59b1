"""What is counted of memories and cells beside their states, and counted off when withdrawn."""

from dataclasses import dataclass, field
from uuid import UUID

from memory.learning.fold import Cell, Learn
from memory.learning.states import Evidence
from memory.storage.states import Counts


@dataclass(slots=True)
class Counted:
    """Changes of the counters by memory, and of the control outcomes by cell."""

    memories: dict[UUID, Counts] = field(default_factory=dict[UUID, Counts])
    controls: dict[Cell, int] = field(default_factory=dict[Cell, int])

    def count(self, entry: Learn, by: int = 1) -> None:
        """Count an outcome in, or (`by` = -1) off again; whoever was muted credited nobody."""
        observation = entry.observation
        for memory in set(observation.counted) - observation.author_of:
            self._of(memory).credited += by
        for memory in observation.helpful:
            self._of(memory).helpful += by
        for memory in observation.harmful:
            self._of(memory).harmful += by
        if observation.evidence is Evidence.CONTROL:
            cell = (entry.agent, entry.category)
            self.controls[cell] = self.controls.get(cell, 0) + by

    def _of(self, memory: UUID) -> Counts:
        return self.memories.setdefault(memory, Counts())
