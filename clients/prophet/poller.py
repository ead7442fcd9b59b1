"""The outcome poller: what still waits → its result → remembered → settled.

It keeps nothing itself. What waits is what the memory server lists as pending; an event is
remembered before it is settled and only where no memory of it is there, so a poller that was
stopped anywhere begins again without loss and without doing anything twice. An event that fails is
named, and waits for the next round; the others go on.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memlift_client import (
    ExperienceFields,
    MemLift,
    Prediction,
    SettlementFields,
    Task,
)

from clients.prophet.event import Probabilities, folded
from clients.prophet.resolutions import Resolution, Resolutions, Ruling

LOG = logging.getLogger("memlift.prophet")
MAX_SITUATION = 4_000


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

    def told(self) -> str:
        return (
            f"{len(self.settled)} events settled, {len(self.open)} not resolved yet, "
            f"{len(self.failed)} failed"
        )


def poll(ledger: Ledger, resolutions: Resolutions) -> Round:
    """One round. Raises MemLiftError only where the list itself cannot be read."""
    waiting: dict[str, list[Prediction]] = {}
    for prediction in ledger.settling.each_prediction(state="pending"):
        waiting.setdefault(prediction.event, []).append(prediction)
    done = Round()
    for event, predictions in waiting.items():
        try:
            resolution = resolutions.resolution_of(event)
            if resolution is None:
                done.open.append(event)
            else:
                _close(ledger, event, predictions, resolution)
                done.settled.append(event)
        except Exception as fault:  # noqa: BLE001 - one bad event does not stop the others
            LOG.warning("%s: not settled: %s", event, fault)
            done.failed[event] = f"{type(fault).__name__}: {fault}"
    return done


def _close(
    ledger: Ledger, event: str, predictions: Sequence[Prediction], resolution: Resolution
) -> None:
    if ledger.replay and resolution.resolved_at is None:
        raise ValueError("a replay needs to know when the event was resolved")
    _remember(ledger, event, predictions[0], resolution)
    rulings = _spelled(predictions, resolution.rulings)
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


def _spelled(predictions: Sequence[Prediction], rulings: Mapping[str, Ruling]) -> dict[str, Ruling]:
    """The rulings, also under the names by which they were predicted."""
    by_folded: dict[str, Ruling] = {folded(name): ruling for name, ruling in rulings.items()}
    spelled: dict[str, Ruling] = dict(rulings)
    for name in (name for prediction in predictions for name in prediction.probabilities):
        if folded(name) in by_folded:
            spelled[name] = by_folded[folded(name)]
    return spelled


def _remember(ledger: Ledger, event: str, prediction: Prediction, resolution: Resolution) -> None:
    outcomes = {n: int(said == "yes") for n, said in resolution.rulings.items() if said != "void"}
    known = ledger.settling.list_experiences(metadata={"event": event}, limit=1)
    if not outcomes or known.items:
        return
    task = ledger.settling.get_task(prediction.task_id)
    fields = ExperienceFields(
        agent=ledger.agent,
        situation=task.text[:MAX_SITUATION],
        lesson=lesson(task, resolution),
        category=task.category,
        task_id=task.id,
        metadata={"event": event, "outcomes": outcomes},
    )
    if ledger.replay and resolution.resolved_at is not None:
        fields["learned_at"] = resolution.resolved_at
    kept = ledger.remembering.remember(**fields)
    if kept.echo:
        LOG.warning("%s: not remembered: it repeats what this key was served lately", event)


def lesson(task: Task, resolution: Resolution) -> str:
    """How the event came out, in a sentence."""
    told = ", ".join(f"{name}: {said}" for name, said in resolution.rulings.items())
    on = resolution.resolved_at
    when = "" if on is None else f" on {on.date().isoformat()}"
    return f"“{task.text[:1_000]}” resolved{when}: {told}."[:MAX_SITUATION]
