"""Predictions and settlements: what agents say will happen, and what did.

An event has windows, its tasks (`group_key` is the event). A prediction is an agent's forecast for
one window, revised until the window closes or the event is settled; a settlement says which
outcomes came true and thereby scores every prediction of the windows that it resolves.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.belief.rankers import RANKERS
from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, CallerKey, Moment, Name, Nested, Share, hint
from memory.kernel.text import KEY, RATIONALE, exact, known_name, optional
from memory.outcomes.entities import OutcomeWarning, Verdicts
from memory.tasks.entities import TaskDraft

MAX_NAMES = 256
MAX_WINDOWS = 256

RESOLUTIONS = ("yes", "no", "void")

Probabilities = Annotated[dict[str, Share], Field(min_length=1, max_length=MAX_NAMES)]
"""By name of outcome."""
Rationale = Annotated[str, Field(json_schema_extra=hint(RATIONALE))]  # pyright: ignore[reportArgumentType] - JSON values
Resolution = Literal["yes", "no", "void"]


class PredictionState(StrEnum):
    """`late`: its window was settled, and no revision of it was in time."""

    PENDING = "pending"
    SETTLED = "settled"
    LATE = "late"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A probability for each outcome by name. All forecasts name the same outcomes."""

    __pydantic_config__ = INPUT

    probabilities: Probabilities
    """By name of outcome, as the agent acts on them."""
    baseline_probabilities: Probabilities | None = None
    """The same agent's without the guideline."""
    full_probabilities: Probabilities | None = None
    """The agent's had memory been followed wholly."""
    answers: Annotated[dict[str, Probabilities], Field(max_length=len(RANKERS))] | None = None
    """One forecast for each ranker, where the receipt has `all_rankers`."""
    used: Verdicts | None = None
    """Memories of the receipt that the agent acted on; empty where it acted on none, null or left
    out where nothing is known of it; the nil UUID for a private one.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", fractions(self.probabilities, "probabilities"))
        baseline, full = self.baseline_probabilities, self.full_probabilities
        for name, other in (("baseline_probabilities", baseline), ("full_probabilities", full)):
            if other is not None:
                object.__setattr__(self, name, self._alike(other, name))
        answers = {r: self._alike(one, f"answers.{r}") for r, one in (self.answers or {}).items()}
        object.__setattr__(self, "answers", answers or None)

    def _alike(self, other: Mapping[str, object], field: str) -> dict[str, float]:
        found = fractions(other, field)
        if found.keys() != self.probabilities.keys():
            raise Rejected(f"{field} names other outcomes than probabilities", field=field)
        return found

    def forecasts_as(self, other: "Forecast") -> bool:
        """Whether both forecast the same."""
        return (
            self.probabilities == other.probabilities
            and self.baseline_probabilities == other.baseline_probabilities
            and self.full_probabilities == other.full_probabilities
            and self.answers == other.answers
            and self.used == other.used
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionDraft(Forecast):
    """A forecast for a window: `task`, `task_id`, or the task of the receipt that it names."""

    __pydantic_config__ = INPUT

    agent: Name
    """Who forecasts."""
    task: Annotated[TaskDraft, Nested] | None = None
    """The window; its `group_key` is its event."""
    task_id: UUID | None = None
    """The window, where it is known."""
    retrieval_id: UUID | None = None
    """The receipt that the agent was advised by."""
    rationale: Rationale | None = None
    """Why, in the agent's words."""
    known_at: Moment | None = None
    """When it was made: required in `replay` namespaces, refused in `wall` ones."""

    def __post_init__(self) -> None:
        Forecast.__post_init__(self)
        object.__setattr__(self, "agent", known_name(self.agent, "agent"))
        rationale = optional(self.rationale, "rationale", RATIONALE)
        object.__setattr__(self, "rationale", rationale)
        named = [part for part in (self.task, self.task_id) if part is not None]
        if len(named) > 1 or not (named or self.retrieval_id):
            raise Rejected("give one of task, task_id, and the retrieval_id of one", field="task")
        if self.used is not None and self.retrieval_id is None:
            raise Rejected("used goes with retrieval_id, whose memories it names", field="used")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision(Forecast):
    """A prediction as it stood from `known_at` on."""

    __pydantic_config__ = OUTPUT

    revision: int
    """Which one it is, counted from 1."""
    retrieval_id: UUID | None
    """The receipt that the agent was advised by."""
    rationale: str | None
    """Why, in the agent's words."""
    known_at: datetime
    """From when on it stood."""
    recorded_at: datetime
    """When the server took it in."""
    key_id: Annotated[UUID | None, Field(exclude=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionScore:
    """What a settlement made of a prediction."""

    __pydantic_config__ = OUTPUT

    settlement_id: UUID
    """The settlement."""
    status: Literal["scored", "ignored"]
    """Whether there was anything to score."""
    reason: str | None
    """Why it is ignored: `void` (no outcome is left), `late` (no revision was in time) or
    `outcomes_missing` (an outcome that it names was not resolved).
    """
    revision: int | None
    """The revision that counts; null where none was in time."""
    brier: float | None
    """The mean of (p - y)² over the outcomes that are not void; smaller is better."""
    baseline_brier: float | None
    """The same of the forecast without the guideline."""
    skill: float | None
    """The crowd's Brier score less this one; positive is better than the crowd."""
    outcome_id: UUID | None
    """The outcome of the receipt that it became."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlementScore(PredictionScore):
    """The score of one prediction: whose, and for which window."""

    __pydantic_config__ = OUTPUT

    prediction_id: UUID
    """The prediction."""
    agent: str
    """Whose it is."""
    task_key: str
    """The window: its task's key, or its id where it has none."""


@dataclass(frozen=True, slots=True)
class RevisedPrediction:
    """An agent's forecast for one window, with its revisions, oldest first, and its score."""

    id: UUID
    agent_id: UUID
    agent: str
    task_id: UUID
    task_key: str | None
    event: str
    state: PredictionState
    closes_at: datetime | None
    revisions: tuple[Revision, ...]
    score: PredictionScore | None

    @property
    def newest(self) -> Revision:
        return self.revisions[-1]

    @property
    def window(self) -> str:
        return window_name(self.task_id, self.task_key)

    def find_counting(self, settled_at: datetime) -> Revision | None:
        """The last revision from before the window closed and the settlement was known."""
        end = settled_at if self.closes_at is None else min(self.closes_at, settled_at)
        return next((one for one in reversed(self.revisions) if one.known_at < end), None)


@dataclass(frozen=True, slots=True)
class Predicted:
    """The prediction as it stands; `created` where it is the agent's first for the window,
    `changed` where a revision was added. `outcomes`: status of each outcome that came of it.
    """

    prediction: RevisedPrediction
    created: bool
    changed: bool
    outcomes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PredictionFilter:
    """Which predictions a list has, the oldest first unless asked otherwise."""

    state: str | None = None
    agent: str | None = None
    event: str | None = None
    newest_first: bool = False

    def __post_init__(self) -> None:
        if self.state is not None and self.state not in set(PredictionState):
            states = tuple(state.value for state in PredictionState)
            raise Rejected(f"state must be one of {states}", field="state", limit=list(states))


@dataclass(frozen=True, slots=True)
class SettlementDraft:
    """Which outcomes of an event came true."""

    __pydantic_config__ = INPUT

    event: CallerKey
    """The event: the `group_key` of its tasks."""
    resolutions: Annotated[dict[str, Resolution], Field(min_length=1, max_length=MAX_NAMES)]
    """What each outcome came to, by its name."""
    windows: (
        Annotated[tuple[CallerKey, ...], Field(min_length=1, max_length=MAX_WINDOWS)] | None
    ) = None
    """Keys of tasks of the event; without them all that are unresolved are settled."""
    crowd: Probabilities | None = None
    """The crowd's probabilities, by name of outcome; skill is measured against it."""
    known_at: Moment | None = None
    """When it became known: required in `replay` namespaces, refused in `wall` ones."""
    corrects: UUID | None = None
    """The settlement whose place it takes, for all windows where that one is in force."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "event", exact(self.event, "event", KEY))
        object.__setattr__(self, "resolutions", _resolutions(self.resolutions))
        if self.crowd is not None:
            object.__setattr__(self, "crowd", fractions(self.crowd, "crowd"))
        if self.windows is not None:
            _within("windows", self.windows, MAX_WINDOWS)
            names = (exact(name, f"windows.{n}", KEY) for n, name in enumerate(self.windows))
            object.__setattr__(self, "windows", tuple(dict.fromkeys(names)))


@dataclass(frozen=True, slots=True)
class Settlement:
    """A settlement with the scores of all predictions of its windows."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the settlement for ever."""
    event: str
    """The event that it settles."""
    windows: tuple[str, ...]
    """The windows that it resolves: keys of their tasks."""
    resolutions: Mapping[str, str]
    """What each outcome came to, by its name."""
    crowd: Mapping[str, float] | None
    """The crowd's probabilities, by name of outcome."""
    correction: int
    """How often its windows had been settled before."""
    corrects: UUID | None
    """The settlement whose place it took."""
    superseded_by: UUID | None
    """The settlement that took its place."""
    known_at: datetime
    """When it became known."""
    recorded_at: datetime
    """When the server took it in."""
    key_id: Annotated[UUID | None, Field(exclude=True)]
    scores: tuple[SettlementScore, ...] = ()
    """The scores of the predictions of its windows."""
    warnings: tuple[OutcomeWarning, ...] = ()
    """When it is settled: why outcomes that came of it move nothing, or less than they seem to."""

    def says_same(self, draft: SettlementDraft) -> bool:
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


def fractions(values: Mapping[str, object], field: str) -> dict[str, float]:
    """Probabilities by cleaned name. Raises Rejected naming the field."""
    _within(field, values.keys(), MAX_NAMES)
    found: dict[str, float] = {}
    for name, value in values.items():
        found[_unique(name, field, found)] = _fraction(value, f"{field}.{name}")
    return found


def _fraction(value: object, field: str) -> float:
    # The range is checked before the conversion: an integer may be too large for a float.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return math.fabs(float(value))
    raise Rejected(f"{field} must be a number from 0 to 1", field=field, limit=[0, 1])


def _resolutions(values: Mapping[str, str]) -> dict[str, str]:
    _within("resolutions", values.keys(), MAX_NAMES)
    found: dict[str, str] = {}
    for name, value in values.items():
        if value not in RESOLUTIONS:
            field = f"resolutions.{name}"
            raise Rejected(f"{field} is yes, no or void", field=field, limit=list(RESOLUTIONS))
        found[_unique(name, "resolutions", found)] = value
    return found


def _unique(name: str, field: str, found: Mapping[str, object]) -> str:
    clean = known_name(name, field)
    if clean in found:
        raise Rejected(f"{field} names {clean} twice", field=field)
    return clean


def _within(field: str, values: Collection[str], most: int) -> None:
    size = len(values)
    if not 1 <= size <= most:
        raise Rejected(f"{field} takes 1…{most} names, not {size}", field=field, limit=most)
