"""What the server answers of the ledger: the bank at a moment, differences, what if, undo."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PastWeight:
    memory_id: str
    effective_weight: float


@dataclass(frozen=True, slots=True)
class WeightChange:
    """None where the memory did not exist."""

    memory_id: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True)
class StrengthChange:
    agent: str
    category: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A memory's status and text version; None where it did not exist."""

    memory_id: str
    status_before: str | None
    status_after: str | None
    version_before: int | None
    version_after: int | None


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest changes first; `total` counts all changed weights.

    `memories` came, changed status or changed text between two moments.
    """

    total: int
    weights: tuple[WeightChange, ...]
    strengths: tuple[StrengthChange, ...]
    total_memories: int = 0
    memories: tuple[MemoryChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Conjectured:
    """The bank as another policy would have made it of the same outcomes."""

    policy: str
    instead_of: str
    outcomes: int
    difference: Difference
    held_fixed: str


@dataclass(frozen=True, slots=True)
class RolledBack:
    """What was, or would be, taken back."""

    dry_run: bool
    outcomes: tuple[str, ...]
    retired: tuple[str, ...]
    difference: Difference
    bank_version: int
