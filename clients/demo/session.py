"""One demonstration on one server: replay a stream in two namespaces, then tell what it showed."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from memlift_client import MemLift, NamespaceSettingsFields, RetrievalFields, RetryPolicy

from clients.demo import record, report
from clients.demo.answering import by_record, by_similarity
from clients.demo.replay import AGENT, WITHOUT, Arm, Progress, midnight, replay
from clients.demo.report import FROZEN, LEARNING
from clients.demo.statistics import Scored, brier
from clients.demo.streams import BadStream, Stream

RETRY_POLICY = RetryPolicy(timeout=300.0)
# Every question is a pair, so chance withholds and explores nothing, and the agent reads outcomes,
# not prose, so no meta-guideline shapes it. The gates stay as the server measured them. Both
# namespaces are set alike, so that they differ in learning alone.
PLAIN = NamespaceSettingsFields(control_rate=0.0, slot_rate=0.0, meta_guidelines=False)

Say = Callable[[str], None]

COMPARED = """\
Compared are three forecasts of the same question by the same agent: from the running YES rate of
its source (without memory); moved toward the outcomes of up to 30 similar past questions, each
counting by its similarity (similarity only); and the same from the list of each of ten rankers, by
weight and by age, mixed by how far the guard believes each and followed with the strength that
memory has earned in that category (MemLift). Both memories have the same settings: the gates that
the server measured, no control runs, no exploration, no meta-guidelines."""
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


def demonstrate(url: str, key: str | None, stream: Stream, say: Say) -> str:
    """Replay and report; the answer is the namespace that learned. Raises BadStream where nothing
    in the stream is resolved.
    """
    with MemLift(url, key, retry_policy=RETRY_POLICY) as memory:
        arms, namespace = _arms(memory)
        began = time.monotonic()
        scored = replay(stream, arms, lambda progress: say(_line(progress, began)))
        say(f"Replayed in {time.monotonic() - began:.0f} s.")
        if not scored:
            raise BadStream(f"{stream.description} holds no resolved question")
        _compared(say, scored)
        _learned(say, arms[-1].memory, scored)
        _tell(say, "A guideline as an agent would see it", _guideline(arms[-1].memory, stream))
    return namespace


def _compared(say: Say, scored: Sequence[Scored]) -> None:
    title = "Brier scores by week of the forecast, lower is better"
    _tell(say, title, report.brier_table(scored))
    say(COMPARED)
    _tell(say, "Paired differences of Brier scores, by event", report.differences(scored))
    say(INTERVALS)


def _learned(say: Say, memory: MemLift, scored: Sequence[Scored]) -> None:
    """What the server has come to believe, and what that is made of."""
    effects = memory.effect(agent=AGENT)
    _tell(say, "Lift: what memory added to the reward, 1 - Brier", record.lift(effects, scored))
    _tell(say, "Strength: how far memory is followed", record.strengths(effects))
    _tell(say, "Guard: how far each ranker is believed", record.guard(memory.rankers()))
    say("")
    say(report.stored(len(scored), memory.list_experiences(limit=1).total))
    for title, memories in report.ends_of_the_bank(memory).items():
        _tell(say, f"The {len(memories)} {title} memories", report.weights(memories))


def how_to_call(url: str, data: Path, namespace: str) -> Iterator[str]:
    yield ""
    yield f"The server keeps running at {url}; press Ctrl-C to end it."
    yield f'  KEY=$(cat {data}/operator.key); curl -H "Authorization: Bearer $KEY" \\'
    yield f"    '{url}/v1/namespaces/{namespace}/weights?order=strongest&limit=3'"
    yield f"  Log in at {url}/dashboard/ns/{namespace}/ with that key to look at each memory."
    yield f"  The API is described at {url}/docs. To start it again:"
    yield f"    memlift serve --data {data}"


def _arms(memory: MemLift) -> tuple[list[Arm], str]:
    """Two new namespaces of one server; the one that learns, by name."""
    taken = {namespace.slug for namespace in memory.each_namespace()}
    number = next(n for n in range(1, len(taken) + 2) if f"demo-{n}-memlift" not in taken)
    frozen, learning = f"demo-{number}-similarity-only", f"demo-{number}-memlift"
    memory.create_namespace(frozen, clock="replay", learning="frozen", settings=PLAIN)
    memory.create_namespace(learning, clock="replay", learning="on", settings=PLAIN)
    arms = [
        Arm(FROZEN, memory.within(frozen), by_similarity),
        Arm(LEARNING, memory.within(learning), by_record),
    ]
    return arms, learning


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
    asked = RetrievalFields(
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
