"""What the server answers about pairs of runs, frozen. Ids are text."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Contrast:
    """A pair of runs, and what became of it.

    `reason` says why it is no support, or why nothing came of it yet; `rejected` what the distiller
    said and could not be used.
    """

    id: str
    task_id: str
    preferred_id: str
    unpreferred_id: str
    preferred_agent: str
    unpreferred_agent: str
    pair_class: str
    self_contrast: bool
    supports: bool
    reason: str | None
    state: str
    distiller: str | None
    memory_ids: tuple[str, ...]
    rejected: tuple[Mapping[str, object], ...]
    duration_ms: float | None
    tokens: int
    known_at: datetime
    recorded_at: datetime
    done_at: datetime | None


@dataclass(frozen=True, slots=True)
class Contrasts:
    """The pairs of the runs that were named; none where nothing sets them apart."""

    contrasts: tuple[Contrast, ...]
