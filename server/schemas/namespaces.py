"""Shapes of namespaces and their settings."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.text import SLUG
from memory.tenancy.entities import (
    Clock,
    Deletion,
    Learning,
    Namespace,
    NamespaceChange,
    NamespaceDraft,
    NamespaceSettings,
    Taxonomy,
)
from server.schemas.base import Flag, In, Out, Share, UtcTime, changed

MAX_QUOTA = 10**12
Quota = Annotated[int, Field(strict=True, ge=1, le=MAX_QUOTA)]


class SettingsIn(In):
    """Knobs of one namespace; a null returns the first three to the server's default."""

    raw_gate: Share | None = None
    score_floor: Share | None = None
    control_rate: Share | None = None
    slot_rate: Share = 0.03
    categories: Taxonomy = Taxonomy.OPEN
    max_memories: Quota = 1_000_000
    daily_credits: Quota = 50
    verification_trials: Annotated[int, Field(strict=True, ge=1, le=16)] = 3
    verification_days: Annotated[int, Field(strict=True, ge=1, le=365)] = 7
    meta_guidelines: Flag = True

    def given(self) -> dict[str, object]:
        """What the caller named, as it is stored."""
        return self.model_dump(mode="json", exclude_unset=True)


class SettingsOut(Out):
    """The settings in force; null where the server's default holds."""

    raw_gate: float | None
    score_floor: float | None
    control_rate: float | None
    slot_rate: float
    categories: Taxonomy
    max_memories: int
    daily_credits: int
    verification_trials: int
    verification_days: int
    meta_guidelines: bool


class NamespaceIn(In):
    """A namespace to be made; slug, clock and policy never change."""

    slug: str = Field(json_schema_extra={"pattern": f"^{SLUG.pattern}$"})
    clock: Clock = Clock.WALL
    learning: Learning = Learning.ON
    policy: Literal["belief", "paper", "steps", "delta"] = "belief"
    settings: SettingsIn = SettingsIn()

    def to_draft(self) -> NamespaceDraft:
        return NamespaceDraft(
            slug=self.slug,
            clock=self.clock,
            learning=self.learning,
            policy=self.policy,
            settings=NamespaceSettings(**self.settings.model_dump()),
        )


class NamespacePatch(In):
    """What to change; settings are merged over those in force."""

    learning: Learning | None = None
    settings: SettingsIn | None = None

    def to_change(self) -> NamespaceChange:
        changed(self)
        settings = None if self.settings is None else self.settings.given()
        return NamespaceChange(learning=self.learning, settings=settings)


class NamespaceOut(Out):
    """A namespace as it stands."""

    id: UUID
    slug: str
    clock: Clock
    learning: Learning
    policy: str
    settings: SettingsOut
    bank_version: int
    newest_known_at: UtcTime | None
    version: int
    created_at: UtcTime
    deletion_requested_at: UtcTime | None

    @classmethod
    def of(cls, namespace: Namespace) -> "NamespaceOut":
        return cls.model_validate(namespace)


class DeletionOut(Out):
    """What the second step of a deletion needs."""

    confirmation: str
    expires_at: UtcTime

    @classmethod
    def of(cls, deletion: Deletion) -> "DeletionOut":
        return cls.model_validate(deletion)
