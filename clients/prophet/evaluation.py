"""A local dataset, forecast by the agent and scored by the arena's own evaluator."""

from collections.abc import Callable
from pathlib import Path

import arena

from clients.prophet.agent import MemoryAgent
from clients.prophet.figures import calibration, called, market_return, middle
from clients.prophet.made import Made
from clients.prophet.report import Report
from clients.prophet.resolutions import read_records
from clients.prophet.sdk import Moments, ProphetAgent, event_of, moments_of, now


class EvaluatedAgent(ProphetAgent):
    """Keeps what it answered, and asks for no window twice."""

    def __init__(self, agent: MemoryAgent, asked_at: Moments, made: Made) -> None:
        super().__init__(agent.recall.agent, agent, asked_at)
        self._made = made

    def forecast(self, event: arena.Event) -> arena.Forecast:
        asked = event_of(event, self._asked_at(event))
        answer = self._made.answers.get(asked.key)
        if answer is None:
            answer = self._agent.forecast(asked)
            self._made.add(asked, answer)
        return arena.Forecast(
            probabilities=dict(answer.probabilities), rationale=answer.rationale or None
        )


def evaluate(
    path: Path,
    agent: MemoryAgent,
    *,
    replay: bool,
    say: Callable[[str], None],
    out: Path | None = None,
) -> int:
    """The exit status: 1 where a forecast failed, or where memory was never heard. With `out` the
    forecasts and the report are kept there, and a run that was stopped goes on.
    """
    records = read_records(path)
    dataset = arena.datasets.Dataset.from_records(
        path.stem, "local", [dict(record) for record in records]
    )
    asked_at = moments_of(records) if replay else now
    made = Made.begin(out)
    if made.resumed:
        say(f"{made.resumed} forecasts were made before")
    scored = arena.evaluate(EvaluatedAgent(agent, asked_at, made), dataset)
    report = Report(
        dataset=path.name,
        n_events=scored.n_events,
        failures=[f"{one.event}#{one.window}: {one.error}" for one in scored.failures],
        brier=scored.brier,
        skill=scored.skill,
        ece=scored.ece,
        market_return=market_return(middle(records, made.answers)),
        calibration=calibration(called(records, made.answers)),
        usage=made.usage,
    )
    for line in report.lines():
        say(line)
    if out is not None:
        report.write(out)
    if len(made.answers) > made.resumed and not agent.recall.reached:
        say("The memory server answered not once: these are forecasts without memory.")
        return 1
    return 1 if scored.failures else 0
