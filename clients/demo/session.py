"""One demonstration on one server: replay a stream in two namespaces, then tell what it showed."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from memlift_client import AskFields, MemLift, Patience, SettingsFields

from clients.demo import report
from clients.demo.replay import AGENT, WITHOUT, Arm, Progress, midnight, replay
from clients.demo.report import FROZEN, LEARNING
from clients.demo.statistics import brier
from clients.demo.streams import BadStream, Stream

PATIENCE = Patience(timeout=300.0)
# Every retrieval of both namespaces is served in full, so that they differ in learning alone.
PLAIN = SettingsFields(control_rate=0.0, slot_rate=0.0)

Say = Callable[[str], None]

COMPARED = """\
Compared are three forecasts of the same question by the same agent: from the running YES rate of
its source (without memory); moved toward the outcomes of up to 30 similar past questions, each
counting by its similarity (similarity only); and the same where each counts by what the server has
learned it to be worth (MemLift)."""
INTERVALS = """\
Below zero favours the first. Events are the units; an interval that spans zero decides nothing."""


def described(stream: Stream) -> str:
    events = len({question.event_id for question in stream.questions})
    days = sorted({question.asked_on for question in stream.questions})
    return (
        f"Input: {stream.description}\n"
        f"  {len(stream.questions)} forecasts of {events} events on {len(days)} dates, "
        f"{days[0]} to {days[-1]}"
    )


def demonstrate(url: str, key: str | None, stream: Stream, say: Say) -> None:
    """Replay and report. Raises BadStream where nothing in the stream is resolved."""
    with MemLift(url, key, patience=PATIENCE) as memory:
        arms = _arms(memory)
        began = time.monotonic()
        scored = replay(stream, arms, lambda progress: say(_line(progress, began)))
        say(f"Replayed in {time.monotonic() - began:.0f} s.")
        if not scored:
            raise BadStream(f"{stream.description} holds no resolved question")
        _tell(
            say, "Brier scores by week of the forecast, lower is better", report.brier_table(scored)
        )
        say(COMPARED)
        _tell(say, "Paired differences of Brier scores, by event", report.differences(scored))
        say(INTERVALS)
        learning = arms[-1].memory
        for title, memories in report.ends_of_the_bank(learning).items():
            _tell(say, f"The {len(memories)} {title} memories", report.weights(memories))
        _tell(say, "A guideline as an agent would see it", _guideline(learning, stream))


def how_to_call(url: str, data: Path) -> Iterator[str]:
    yield ""
    yield f"The server keeps running at {url}; press Ctrl-C to end it."
    yield f'  KEY=$(cat {data}/operator.key); curl -H "Authorization: Bearer $KEY" \\'
    yield f"    '{url}/v1/namespaces/demo-1-memlift/weights?order=strongest&limit=3'"
    yield f"  The API is described at {url}/docs. To start it again:"
    yield f"    memlift serve --data {data}"


def _arms(memory: MemLift) -> list[Arm]:
    """Two new namespaces of one server."""
    taken = {namespace.slug for namespace in memory.each_namespace()}
    number = next(n for n in range(1, len(taken) + 2) if f"demo-{n}-memlift" not in taken)
    frozen, learning = f"demo-{number}-similarity-only", f"demo-{number}-memlift"
    memory.create_namespace(frozen, clock="replay", learning="frozen", settings=PLAIN)
    memory.create_namespace(learning, clock="replay", learning="on", settings=PLAIN)
    return [Arm(FROZEN, memory.within(frozen)), Arm(LEARNING, memory.within(learning))]


def _line(progress: Progress, began: float) -> str:
    counts = f"{progress.asked:>4} asked {progress.learned:>4} learned"
    line = f"{progress.day}  {counts}  {time.monotonic() - began:>4.0f} s"
    if not progress.scored:
        return line
    scores = (f"{name} {brier(progress.scored, name):.4f}" for name in (WITHOUT, FROZEN, LEARNING))
    return f"{line}  so far: {', '.join(scores)}"


def _guideline(memory: MemLift, stream: Stream) -> Iterator[str]:
    """For the last question, as of the day it was asked on: its own outcome is not in there."""
    question = max(stream.questions, key=lambda row: (row.asked_on, row.id))
    asked = AskFields(
        agent=AGENT,
        task={"text": question.text, "category": question.source, "group_key": question.event_id},
        k=5,
        purpose="preview",
        as_of=midnight(question.asked_on),
    )
    return report.guideline(memory.retrieve(**asked), question.text)


def _tell(say: Say, title: str, lines: Iterable[str]) -> None:
    say(f"\n{title}\n{'-' * len(title)}")
    for line in lines:
        say(line)
