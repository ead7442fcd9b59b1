"""What is remembered of a resolved event: how it came out, what was forecast, what was missed."""

from collections.abc import Mapping

from memlift_client import Prediction, Task

from clients.prophet.event import Event, Probabilities, folded
from clients.prophet.resolutions import Resolution

MAX_SITUATION = 4_000
MAX_THOUGHT = 2_000
MAX_SOURCES = 8
MAX_SOURCE = 120
NEAR = 0.1
"""A probability that was off by less has missed nothing."""


def lesson(task: Task, resolution: Resolution, prediction: Prediction | None = None) -> str:
    """How the event came out; with the forecaster's own prediction, what it thought and missed."""
    came = ", ".join(f"{name}: {said}" for name, said in resolution.rulings.items())
    on = resolution.resolved_at
    when = "" if on is None else f" on {on.date().isoformat()}"
    parts = [f"“{task.text[:1_000]}” resolved{when}: {came}."]
    if prediction is not None:
        parts += [*_forecast(prediction, resolution), *_thought(prediction)]
    return " ".join(parts)[:MAX_SITUATION]


def with_sources(rationale: str, event: Event) -> str:
    """A rationale, and what the forecaster had read: else nobody can say what it missed."""
    read = [" ".join(one.split())[:MAX_SOURCE] for one in event.sources[:MAX_SOURCES]]
    return f"{rationale} It had read: {'; '.join(read)}." if read else rationale


def _forecast(prediction: Prediction, resolution: Resolution) -> list[str]:
    forecast = prediction.probabilities
    told = [f"Forecast: {_listed(forecast)}."]
    crowd = resolution.crowds.get(prediction.task_key or "")
    if crowd:
        told.append(f"The crowd said: {_listed(crowd)}.")
    missed = _missed(forecast, resolution)
    if missed is None:
        return told
    name, off = missed
    if off < NEAR:
        return [*told, "Nothing was missed."]
    nearer = crowd and _off(crowd, resolution).get(folded(name), 1.0) < off
    beside = ", which the crowd knew better" if nearer else ""
    return [*told, f"Missed most: {name}, by {off:.2f}{beside}."]


def _thought(prediction: Prediction) -> list[str]:
    said = (prediction.rationale or "").strip()
    return [f"The forecaster's reasons: {said[:MAX_THOUGHT]}"] if said else []


def _missed(forecast: Probabilities, resolution: Resolution) -> tuple[str, float] | None:
    off = _off(forecast, resolution)
    known = [
        (name, off[folded(name)]) for name, _ in _likeliest_first(forecast) if folded(name) in off
    ]
    return max(known, key=lambda one: one[1], default=None)


def _off(forecast: Probabilities, resolution: Resolution) -> Mapping[str, float]:
    """How far each probability was from what came true, by folded name; void ones are left out."""
    came = {folded(name): said for name, said in resolution.rulings.items() if said != "void"}
    return {
        folded(name): abs(p - (came[folded(name)] == "yes"))
        for name, p in forecast.items()
        if folded(name) in came
    }


def _listed(forecast: Probabilities) -> str:
    return ", ".join(f"{name} {p:.2f}" for name, p in _likeliest_first(forecast))


def _likeliest_first(forecast: Probabilities) -> list[tuple[str, float]]:
    return sorted(forecast.items(), key=lambda one: (-one[1], one[0]))
