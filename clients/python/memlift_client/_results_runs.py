"""What the server answers about runs, competence and taxonomies, frozen. Ids are text."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run that was kept; `right` is None where nobody vouches for it."""

    id: str
    task_id: str
    category: str
    subcategory: str | None
    right: bool | None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run."""

    text: str
    kind: str | None


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A run. A list leaves out `steps` and `result`; both are gone where it was erased."""

    id: str
    task_id: str
    task_key: str | None
    agent: str
    family: str | None
    size_class: str | None
    category: str
    subcategory: str | None
    n_steps: int
    reward: float | None
    verifier: str
    right: bool | None
    cost: float | None
    known_at: datetime
    recorded_at: datetime
    erased_at: datetime | None
    steps: tuple[Step, ...] = ()
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Competence:
    """How an agent fares in a category, by `n` verified runs; few of them leave it near the
    category's mean.
    """

    agent: str
    category: str
    n: int
    mean: float
    competence: float


@dataclass(frozen=True, slots=True)
class Subcategory:
    """A kind of task on the second level."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A category of a taxonomy, with its subcategories."""

    name: str
    description: str
    related: tuple[str, ...]
    subcategories: tuple[Subcategory, ...]


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """A version of the taxonomy; 0 is the shipped one, before any was brought."""

    version: int
    allow_new: bool
    recorded_at: datetime | None
    categories: tuple[Branch, ...]
