"""The outcome poller: what still waits → its result → remembered → settled.

It keeps nothing itself. What waits is what the memory server lists as pending; an event is
remembered before it is settled and only where no memory of it is there, so a poller that was
stopped anywhere begins again without loss and without doing anything twice. An event that fails is
named, and waits for the next round; the others go on.
"""

import logging
from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from memlift_client import (
    ExperienceFields,
    MemLift,
    Prediction,
    Settlement,
    SettlementFields,
)

from clients.prophet.event import Probabilities, folded
from clients.prophet.resolutions import Resolution, Resolutions, Ruling
from clients.prophet.telling import MAX_SITUATION, lesson

LOG = logging.getLogger("memlift.prophet")
RECHECKED = timedelta(days=30)
"""For so long after a settlement the arena is asked whether it came to something else."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The server as the poller uses it.

    settling: a client whose key may settle (evaluator, admin). remembering: one whose key may
    remember as `agent`. replay: the namespace has a replay clock, and is told when things were
    known.
    """

    settling: MemLift
    remembering: MemLift
    agent: str
    replay: bool = False


@dataclass(slots=True)
class Round:
    """What one look at everything that waits came to: events by their result."""

    settled: list[str] = field(default_factory=list[str])
    open: list[str] = field(default_factory=list[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    corrected: list[str] = field(default_factory=list[str])

    def told(self) -> str:
        corrected = f", {len(self.corrected)} corrected" if self.corrected else ""
        return (
            f"{len(self.settled)} events settled, {len(self.open)} not resolved yet, "
            f"{len(self.failed)} failed{corrected}"
        )

    @contextmanager
    def naming(self, event: str) -> Generator[None]:
        """One bad event does not stop the others: it is named."""
        try:
            yield
        except Exception as fault:  # noqa: BLE001 - as this method says
            LOG.warning("%s: not settled: %s", event, fault)
            self.failed[event] = f"{type(fault).__name__}: {fault}"


def poll(ledger: Ledger, resolutions: Resolutions) -> Round:
    """One round. Raises MemLiftError only where the list itself cannot be read."""
    waiting: dict[str, list[Prediction]] = {}
    for prediction in ledger.settling.each_prediction(state="pending"):
        waiting.setdefault(prediction.event, []).append(prediction)
    done = Round()
    for event, settlements in _settled(ledger, waiting).items():
        with done.naming(event):
            resolution = resolutions.resolution_of(event)
            if resolution is not None and _correct(ledger, settlements, resolution):
                done.corrected.append(event)
    for event, predictions in waiting.items():
        with done.naming(event):
            resolution = resolutions.resolution_of(event)
            if resolution is None:
                done.open.append(event)
            else:
                _close(ledger, event, predictions, resolution)
                done.settled.append(event)
    return done


def _settled(ledger: Ledger, waiting: Container[str]) -> dict[str, list[Settlement]]:
    """The settlements in force that may be corrected still, by event. An event that waits in
    another window is settled first.
    """
    since = datetime.now(UTC) - RECHECKED
    found: dict[str, list[Settlement]] = {}
    for one in ledger.settling.each_settlement():
        recent = ledger.replay or one.known_at >= since
        if one.superseded_by is None and recent and one.event not in waiting:
            found.setdefault(one.event, []).append(one)
    return found


def _correct(ledger: Ledger, settlements: Sequence[Settlement], resolution: Resolution) -> bool:
    """Settle anew what came to something else, and edit what is remembered of it."""
    corrected = False
    for old in settlements:
        rulings = _spelled(old.resolutions, resolution.rulings)
        if {name: rulings.get(name) for name in old.resolutions} == dict(old.resolutions):
            continue
        fields = SettlementFields(event=old.event, resolutions=rulings, corrects=old.id)
        if old.crowd:
            fields["crowd"] = old.crowd
        if ledger.replay and resolution.resolved_at is not None:
            fields["known_at"] = max(resolution.resolved_at, old.known_at)
        ledger.settling.settle(**fields)
        corrected = True
    if corrected:
        _remember_otherwise(ledger, settlements[0].event, resolution)
    return corrected


def _remember_otherwise(ledger: Ledger, event: str, resolution: Resolution) -> None:
    predictions = ledger.settling.list_predictions(event=event).items
    known = ledger.settling.list_experiences(metadata={"event": event}, limit=1).items
    if not known or not predictions:
        return
    own = _own(ledger, predictions)
    task = ledger.settling.get_task((own or predictions[0]).task_id)
    ledger.remembering.edit_experience(
        known[0].id,
        known[0].version,
        lesson=lesson(task, resolution, own),
        metadata={"event": event, "outcomes": _outcomes(resolution)},
        known_at=max(resolution.resolved_at or known[0].learned_at, known[0].learned_at)
        if ledger.replay
        else None,
    )


def _own(ledger: Ledger, predictions: Sequence[Prediction]) -> Prediction | None:
    """The last forecast of who remembers: the reasons of others are not its to tell."""
    own = [one for one in predictions if one.agent == ledger.agent]
    return max(own, key=lambda one: one.known_at, default=None)


def _outcomes(resolution: Resolution) -> dict[str, int]:
    return {n: int(said == "yes") for n, said in resolution.rulings.items() if said != "void"}


def _close(
    ledger: Ledger, event: str, predictions: Sequence[Prediction], resolution: Resolution
) -> None:
    if ledger.replay and resolution.resolved_at is None:
        raise ValueError("a replay needs to know when the event was resolved")
    _remember(ledger, event, predictions, resolution)
    names = [name for prediction in predictions for name in prediction.probabilities]
    rulings = _spelled(names, resolution.rulings)
    for windows, crowd in _shares(predictions, resolution):
        fields = SettlementFields(event=event, resolutions=rulings)
        if windows:
            fields["windows"] = windows
        if crowd:
            fields["crowd"] = crowd
        if ledger.replay and resolution.resolved_at is not None:
            fields["known_at"] = resolution.resolved_at
        ledger.settling.settle(**fields)


def _shares(
    predictions: Sequence[Prediction], resolution: Resolution
) -> list[tuple[list[str], Probabilities | None]]:
    """The windows that wait, each with its crowd; all at once where no crowd is known."""
    keys = sorted({p.task_key for p in predictions if p.task_key is not None})
    if not any(key in resolution.crowds for key in keys):
        return [([], None)]
    return [([key], resolution.crowds.get(key)) for key in keys]


def _spelled(names: Iterable[str], rulings: Mapping[str, Ruling]) -> dict[str, Ruling]:
    """The rulings, also under the names by which they were predicted."""
    by_folded: dict[str, Ruling] = {folded(name): ruling for name, ruling in rulings.items()}
    spelled: dict[str, Ruling] = dict(rulings)
    for name in names:
        if folded(name) in by_folded:
            spelled[name] = by_folded[folded(name)]
    return spelled


def _remember(
    ledger: Ledger, event: str, predictions: Sequence[Prediction], resolution: Resolution
) -> None:
    outcomes = _outcomes(resolution)
    known = ledger.settling.list_experiences(metadata={"event": event}, limit=1)
    if not outcomes or known.items:
        return
    own = _own(ledger, predictions)
    task = ledger.settling.get_task((own or predictions[0]).task_id)
    fields = ExperienceFields(
        agent=ledger.agent,
        situation=task.text[:MAX_SITUATION],
        lesson=lesson(task, resolution, own),
        category=task.category,
        task_id=task.id,
        metadata={"event": event, "outcomes": outcomes},
    )
    if ledger.replay and resolution.resolved_at is not None:
        fields["learned_at"] = resolution.resolved_at
    kept = ledger.remembering.remember(**fields)
    if kept.echo:
        LOG.warning("%s: not remembered: it repeats what this key was served lately", event)
