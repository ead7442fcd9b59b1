"""A constraint on its way into the bank: what is brought, and the rows that come of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory.domain.bank import Draft, Kind, Trust, Visibility
from memory.domain.constraint import Contrast, PairClass, Wording, detail_of
from memory.domain.ids import new_id
from memory.domain.trajectory import VERIFIERS, Trajectory
from memory.ports import Embedding
from memory.storage.memories import NewMemory

BOTH_RIGHT = 0.5
"""Where a constraint starts that two right runs gave: it says how to be quick, not how to be right
(the source's weight of a contrast of efficiency).
"""


@dataclass(frozen=True, slots=True)
class NewConstraint:
    """A constraint with where it comes from: the contrast and its two runs, or its author's word.

    `lint` names what its wording fails. `counts`: whether this is support by others' word than the
    author's. Two wrong runs say only what to avoid, and never count.
    """

    wording: Wording
    category_ids: tuple[UUID, UUID | None]
    task_id: UUID
    lint: tuple[str, ...]
    contrast: Contrast | None
    pair: tuple[Trajectory, Trajectory] | None
    origin: str
    agent: str
    counts: bool
    learned_at: datetime
    weight: float = 1.0
    trust: Trust = Trust.UNVERIFIED
    visibility: Visibility = Visibility.NAMESPACE
    key_id: UUID | None = None
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        pair_class = self.contrast.pair_class if self.contrast else None
        if pair_class is PairClass.BOTH_RIGHT:
            object.__setattr__(self, "weight", BOTH_RIGHT)
        if pair_class is PairClass.BOTH_WRONG:
            object.__setattr__(self, "trust", Trust.QUARANTINED)
            object.__setattr__(self, "counts", False)
            self._only_avoid()

    def _only_avoid(self) -> None:
        if self.wording.avoid is None:
            object.__setattr__(self, "lint", (*self.lint, "enforces_what_failed"))
        else:
            avoiding = Wording(self.wording.trigger, None, self.wording.avoid)
            object.__setattr__(self, "wording", avoiding)


@dataclass(frozen=True, slots=True)
class EmbeddedConstraint:
    """A new constraint with the vectors of its texts, and of its task where that has none yet."""

    new: NewConstraint
    vectors: Mapping[str, Embedding]
    task: Embedding | None


def texts_of(new: NewConstraint) -> dict[str, str]:
    """The texts of a constraint that have vectors, by field. The trigger is the situation in a
    field that experiences have not.
    """
    wording = new.wording
    texts = {"situation": wording.situation, "lesson": wording.lesson}
    texts["trigger"] = wording.situation
    halves = {"enforce": wording.enforce, "avoid": wording.avoid}
    return texts | {name: said for name, said in halves.items() if said is not None}


def row_of(one: EmbeddedConstraint, agent_id: UUID) -> NewMemory:
    new, memory_id = one.new, new_id()
    draft = Draft(
        agent=new.agent,
        situation=new.wording.situation,
        lesson=new.wording.lesson,
        visibility=new.visibility,
        weight=new.weight,
        metadata=new.metadata,
    )
    return NewMemory(
        id=memory_id,
        draft=draft,
        agent_id=agent_id,
        category_ids=new.category_ids,
        task_id=new.task_id,
        source_group=f"memory:{memory_id}",
        learned_at=new.learned_at,
        vectors=one.vectors,
        kind=Kind.CONSTRAINT,
        trust=new.trust,
        detail=detail_of(new.wording, new.origin, new.lint),
    )


def support_of(new: NewConstraint, author_id: UUID) -> dict[str, object]:
    """What the constraint rests on: its contrast, or its author's word."""
    values: dict[str, object] = {
        "id": new_id(),
        "contrast_id": new.contrast.id if new.contrast else None,
        "task_id": new.task_id,
        "pair_class": new.contrast.pair_class if new.contrast else None,
        "counts": new.counts and not new.lint,
        "known_at": new.contrast.known_at if new.contrast else new.learned_at,
    }
    if new.pair is None:
        word = "human" if new.counts else "none"
        return values | {
            "preferred_agent_id": author_id,
            "preferred_key_id": new.key_id,
            "verifier": word,
        }
    preferred, unpreferred = new.pair
    weaker = max(preferred.verifier, unpreferred.verifier, key=VERIFIERS.index)
    sides = _side("preferred", preferred) | _side("unpreferred", unpreferred)
    return values | sides | {"verifier": weaker}


def _side(name: str, run: Trajectory) -> dict[str, object]:
    return {
        f"{name}_agent_id": run.agent_id,
        f"{name}_family": run.family,
        f"{name}_size": run.size_class,
        f"{name}_key_id": run.key_id,
    }
