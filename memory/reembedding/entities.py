"""What is asked of a move to another embedding model, how far it is, and what came of it."""

from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from memory.kernel.ports import ModelIdentity

MAX_WIDTH = 16_000
"""Components that a column of vectors holds at most."""


@dataclass(frozen=True, slots=True)
class VectorColumn:
    """A column that holds vectors of a model, and how it is filled for another model."""

    table: str
    column: str
    filled: str


VECTOR_COLUMNS = (
    VectorColumn("embedding", "vector", "from the texts of the memory's versions"),
    VectorColumn("task_embedding", "vector", "from the text of the task"),
    VectorColumn("centroid", "total", "from the vectors of the situations"),
    VectorColumn("centroid", "prior", "from the descriptions of the taxonomy"),
)
"""Every column of the schema that holds vectors: what is in none of these would stay behind."""


@dataclass(frozen=True, slots=True)
class ReembedRequest:
    """Which namespaces are to move, all where none is named. `rate` is the most texts a second,
    None without a limit; `switch` leaves the namespaces on their model where it is False;
    `accept_misfit` switches although the check of the calibration refuses.
    """

    namespaces: tuple[str, ...] = ()
    rate: float | None = None
    switch: bool = True
    accept_misfit: bool = False


@dataclass(frozen=True, slots=True)
class ModelVectors:
    """How many vectors of a model a namespace holds, of texts and of tasks."""

    model_id: UUID
    model: ModelIdentity
    vectors: int
    state: str
    """`current`, `former` (kept after a switch) or `prepared` (not switched to yet)."""


@dataclass(frozen=True, slots=True)
class NamespaceVectors:
    """All vectors of a namespace, those of its own model first."""

    namespace: str
    models: tuple[ModelVectors, ...]


@dataclass(frozen=True, slots=True)
class ModelFit:
    """What was compared before a switch. Figures that need a number of memories are None where
    there are too few, and those that need the vectors before are None where there were none.

    `agreement`: the share of each memory's ten nearest that both models agree on, beyond chance.
    `reach_before`, `reach`: the share of memories that have another one above the gate.
    `unread_before`, `unread`: the share of texts in a script that the model does not know.
    """

    q99: float
    compared: int
    agreement: float | None = None
    reach_before: float | None = None
    reach: float | None = None
    unread_before: float | None = None
    unread: float | None = None
    misfits: tuple[str, ...] = ()
    """Why the model does not fit, a sentence each."""


class MoveState(StrEnum):
    """How a namespace's move ended: `switched`, `prepared` (its vectors are complete), `current`
    (it was on the model, and lacked nothing after that), or `misfit` (the check refuses it).
    """

    SWITCHED = "switched"
    PREPARED = "prepared"
    CURRENT = "current"
    MISFIT = "misfit"


@dataclass(frozen=True, slots=True)
class NamespaceMove:
    """What was done with one namespace."""

    namespace: str
    model: str
    """Its name and revision."""
    embedded: int
    """Vectors that were made now."""
    state: MoveState
    fit: ModelFit | None = None
    bank_version: int | None = None
    """The version that the switch made."""


@dataclass(slots=True)
class MoveProgress:
    """How far the texts of one namespace are embedded."""

    namespace: str
    missing: int
    done: int = 0


@dataclass(frozen=True, slots=True)
class DroppedVectors:
    """Vectors that a namespace no longer holds, by name and revision of their models."""

    namespace: str
    vectors: int
    models: tuple[str, ...] = field(default=())
