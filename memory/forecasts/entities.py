"""Predictions and settlements: what agents say will happen, and what did.

An event has windows, its tasks (`group_key` is the event). A prediction is an agent's forecast for
one window, revised until the window closes or the event is settled; a settlement says which
outcomes came true and thereby scores every prediction of the windows that it resolves.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.kernel.text import KEY, NAME, RATIONALE, cleaned, optional
from memory.tasks.entities import TaskDraft

MAX_NAMES = 256


MAX_WINDOWS = 256


RESOLUTIONS = ("yes", "no", "void")


STATES = ("pending", "settled", "late")


Probabilities = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Forecast:
    """A probability for each outcome by name, 1…256 of them, each in [0, 1].

    probabilities: as the agent acts on them. baseline: the same agent without the guideline.
    full: had memory been followed wholly. answers: one forecast a ranker. All name the same
    outcomes.
    """

    probabilities: Probabilities
    baseline: Probabilities | None = None
    full: Probabilities | None = None
    answers: Mapping[str, Probabilities] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", fractions(self.probabilities, "probabilities"))
        for name in ("baseline", "full"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, self._alike(given, f"{name}_probabilities"))
        if self.answers:
            alike = {r: self._alike(one, f"answers.{r}") for r, one in self.answers.items()}
            object.__setattr__(self, "answers", alike)
        else:
            object.__setattr__(self, "answers", None)

    def _alike(self, given: Probabilities, field: str) -> dict[str, float]:
        found = fractions(given, field)
        if found.keys() != self.probabilities.keys():
            raise Rejected(f"{field} names other outcomes than probabilities", field=field)
        return found


@dataclass(frozen=True, slots=True)
class PredictionDraft:
    """A forecast as its agent hands it in, for a task, or for that of the receipt."""

    agent: str
    forecast: Forecast
    task: TaskDraft | None = None
    task_id: UUID | None = None
    retrieval_id: UUID | None = None
    rationale: str | None = None
    known_at: datetime | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "agent", cleaned(self.agent, "agent", NAME))
        rationale = optional(self.rationale, "rationale", RATIONALE)
        object.__setattr__(self, "rationale", rationale)
        named = [part for part in (self.task, self.task_id) if part is not None]
        if len(named) > 1 or not (named or self.retrieval_id):
            raise Rejected("give one of task, task_id, and the retrieval_id of one", field="task")


@dataclass(frozen=True, slots=True)
class Revision:
    """A prediction as it stood from `known_at` on; numbered from 1."""

    number: int
    forecast: Forecast
    retrieval_id: UUID | None
    rationale: str | None
    known_at: datetime
    recorded_at: datetime
    key_id: UUID | None


@dataclass(frozen=True, slots=True)
class Score:
    """What a settlement made of a prediction: `revision` is the one that counts, `brier` the mean
    of (p - y)² over the outcomes that are not void, `skill` the crowd's less that.

    `reason`, where it is ignored: void (no outcome is left), late (no revision was in time),
    outcomes_missing (an outcome that it names was not resolved).
    """

    settlement_id: UUID
    prediction_id: UUID
    agent: str
    window: str
    revision: int | None
    status: str
    reason: str | None
    brier: float | None
    baseline_brier: float | None
    skill: float | None
    outcome_id: UUID | None


@dataclass(frozen=True, slots=True)
class Prediction:
    """An agent's forecast for one window, with its revisions, oldest first, and its score."""

    id: UUID
    agent_id: UUID
    agent: str
    task_id: UUID
    task_key: str | None
    event: str
    state: str
    closes_at: datetime | None
    revisions: tuple[Revision, ...]
    score: Score | None

    @property
    def newest(self) -> Revision:
        return self.revisions[-1]

    @property
    def window(self) -> str:
        return window_name(self.task_id, self.task_key)

    def counting(self, settled_at: datetime) -> Revision | None:
        """The last revision from before the window closed and the settlement was known."""
        end = settled_at if self.closes_at is None else min(self.closes_at, settled_at)
        return next((one for one in reversed(self.revisions) if one.known_at < end), None)


@dataclass(frozen=True, slots=True)
class Predicted:
    """The prediction as it stands; `created` where it is the agent's first for the window,
    `changed` where a revision was added. `outcomes`: status of each outcome that came of it.
    """

    prediction: Prediction
    created: bool
    changed: bool
    outcomes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PredictionFilter:
    state: str | None = None
    agent: str | None = None
    event: str | None = None


@dataclass(frozen=True, slots=True)
class SettlementDraft:
    """Which outcomes of an event came true; without `windows`, for all that are unresolved."""

    event: str
    resolutions: Mapping[str, str]
    windows: tuple[str, ...] | None = None
    crowd: Probabilities | None = None
    known_at: datetime | None = None
    corrects: UUID | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "event", cleaned(self.event, "event", KEY))
        object.__setattr__(self, "resolutions", _resolutions(self.resolutions))
        if self.crowd is not None:
            object.__setattr__(self, "crowd", fractions(self.crowd, "crowd"))
        if self.windows is not None:
            _within("windows", self.windows, MAX_WINDOWS)
            names = dict.fromkeys(cleaned(name, "windows", KEY) for name in self.windows)
            object.__setattr__(self, "windows", tuple(names))


@dataclass(frozen=True, slots=True)
class Settlement:
    """A settlement as stored. `correction` is how often its windows had been settled before."""

    id: UUID
    event: str
    windows: tuple[str, ...]
    resolutions: Mapping[str, str]
    crowd: Probabilities | None
    correction: int
    corrects: UUID | None
    superseded_by: UUID | None
    known_at: datetime
    recorded_at: datetime
    key_id: UUID | None
    scores: tuple[Score, ...] = ()

    def says(self, draft: SettlementDraft) -> bool:
        """Whether the draft says the same; a crowd left out contradicts none."""
        same_crowd = draft.crowd is None or draft.crowd == self.crowd
        return same_crowd and draft.resolutions == self.resolutions


@dataclass(frozen=True, slots=True)
class Settled:
    """The settlement; `created` unless it had come before. `outcomes`: the status of each outcome
    that came of it.
    """

    settlement: Settlement
    created: bool
    outcomes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """A task of an event: the settlement in force, if any, and since when a settlement of it was
    known.
    """

    task_id: UUID
    key: str | None
    event: str
    settlement_id: UUID | None
    settled_at: datetime | None

    @property
    def name(self) -> str:
        return window_name(self.task_id, self.key)


def window_name(task_id: UUID, key: str | None) -> str:
    """What a window is called: its caller's key, or its id where it has none."""
    return str(task_id) if key is None else key


def fractions(given: Mapping[str, object], field: str) -> dict[str, float]:
    """Probabilities by cleaned name. Raises Rejected naming the field."""
    _within(field, given.keys(), MAX_NAMES)
    found: dict[str, float] = {}
    for name, value in given.items():
        found[_unique(name, field, found)] = _fraction(value, f"{field}.{name}")
    return found


def _fraction(value: object, field: str) -> float:
    # The range is checked before the conversion: an integer may be too large for a float.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return math.fabs(float(value))
    raise Rejected(f"{field} must be a number from 0 to 1", field=field, limit=[0, 1])


def _resolutions(given: Mapping[str, str]) -> dict[str, str]:
    _within("resolutions", given.keys(), MAX_NAMES)
    found: dict[str, str] = {}
    for name, value in given.items():
        if value not in RESOLUTIONS:
            field = f"resolutions.{name}"
            raise Rejected(f"{field} is yes, no or void", field=field, limit=list(RESOLUTIONS))
        found[_unique(name, "resolutions", found)] = value
    return found


def _unique(name: str, field: str, found: Mapping[str, object]) -> str:
    clean = cleaned(name, field, NAME)
    if clean in found:
        raise Rejected(f"{field} names {clean} twice", field=field)
    return clean


def _within(field: str, given: Collection[str], most: int) -> None:
    size = len(given)
    if not 1 <= size <= most:
        raise Rejected(f"{field} takes 1…{most} names, not {size}", field=field, limit=most)
