"""The boundary no data crosses, and what can be set for it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

from memory.domain.text import slug as checked_slug
from memory.errors import Rejected


class Clock(StrEnum):
    """`wall`: known_at is the server's clock. `replay`: callers set it, and no job runs by
    itself.
    """

    WALL = "wall"
    REPLAY = "replay"


class Learning(StrEnum):
    """`frozen`: outcomes are stored and move nothing."""

    ON = "on"
    FROZEN = "frozen"


class Taxonomy(StrEnum):
    """`open`: an unknown category is made at first use. `closed`: it is refused."""

    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class NamespaceSettings:
    """Knobs of one namespace; None leaves the server's default.

    raw_gate, score_floor: [0, 1], 0 switches off. control_rate: [0, 1), 0 switches the control arm
    off. slot_rate: [0, 1), the chance that the last place goes to a least-credited memory.
    max_memories: the quota of living memories. daily_credits: how many outcomes of one agent's key
    count for one memory in a day. verification_trials: how often a candidate is tried, 1…16.
    verification_days: after so many days without a verdict it goes on probation, 1…365.
    meta_guidelines: whether guidelines are compiled by one.
    """

    raw_gate: float | None = None
    score_floor: float | None = None
    control_rate: float | None = None
    slot_rate: float = 0.03
    categories: Taxonomy = Taxonomy.OPEN
    max_memories: int = 1_000_000
    daily_credits: int = 50
    verification_trials: int = 3
    verification_days: int = 7
    meta_guidelines: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", Taxonomy(self.categories))
        for field in ("raw_gate", "score_floor", "control_rate", "slot_rate"):
            value: float | None = getattr(self, field)
            if value is not None and not 0.0 <= value <= 1.0:
                raise Rejected(
                    f"settings.{field} lies outside [0, 1]", field=f"settings.{field}", limit=[0, 1]
                )
        for field, most in (
            ("max_memories", 10**12),
            ("daily_credits", 10**12),
            ("verification_trials", 16),
            ("verification_days", 365),
        ):
            if not 1 <= getattr(self, field) <= most:
                path = f"settings.{field}"
                raise Rejected(f"{path} must lie in 1…{most}", field=path, limit=[1, most])

    def stored(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def read(cls, stored: Mapping[str, object]) -> "NamespaceSettings":
        known = {name: value for name, value in stored.items() if name in cls.__slots__}
        return cls(**known)  # pyright: ignore[reportArgumentType] - written by `stored`, above


@dataclass(frozen=True, slots=True)
class NamespaceDraft:
    """A namespace to be made; its slug and clock never change."""

    slug: str
    clock: Clock = Clock.WALL
    learning: Learning = Learning.ON
    policy: str = "belief"
    settings: NamespaceSettings = NamespaceSettings()

    def __post_init__(self) -> None:
        checked_slug(self.slug, "slug")


@dataclass(frozen=True, slots=True)
class NamespaceChange:
    """What to change; settings are merged over those in force."""

    learning: Learning | None = None
    settings: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Deletion:
    """The second step needs this confirmation, before it expires."""

    confirmation: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace as it stands; `version` is its ETag, `bank_version` the order of its bank.

    `signal`: residuals of one memory on different dates agree, so weights may carry something.
    """

    id: UUID
    slug: str
    clock: Clock
    learning: Learning
    policy: str
    settings: NamespaceSettings
    bank_version: int
    n_memories: int
    newest_known_at: datetime | None
    model_id: UUID | None
    signal: bool
    version: int
    created_at: datetime
    deletion_requested_at: datetime | None

    def known_at(self, given: datetime | None, now: datetime, field: str = "known_at") -> datetime:
        """When a fact could be known: the server's clock in `wall`, the caller's word in
        `replay`.
        """
        if self.clock is Clock.WALL:
            if given is not None:
                raise Rejected(
                    f"{field} is the server's in a namespace with clock wall", field=field
                )
            return now
        if given is None:
            raise Rejected(f"{field} is required in a namespace with clock replay", field=field)
        return utc(given, field)


def utc(moment: datetime, field: str) -> datetime:
    """The same moment in UTC; a time without zone is refused, for it could be any of 38 moments."""
    if moment.tzinfo is None:
        raise Rejected(f"{field} has no time zone", field=field)
    return moment.astimezone(UTC)
