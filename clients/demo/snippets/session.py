"""One demonstration on one server: play the tasks, then tell what became of the notes."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from textwrap import wrap

from memlift_client import MemLift, RetrievalFields, RetryPolicy, WeightEvent

from clients.demo.report import WIDTH, guideline
from clients.demo.snippets.curves import Screen
from clients.demo.snippets.play import (
    AGENT,
    ARMS,
    MEMLIFT,
    NONE,
    SIMILARITY,
    Attempt,
    Memory,
    end_of,
    open_memories,
    play,
)
from clients.demo.snippets.summary import (
    Estimate,
    count_followed,
    count_served,
    find_gone,
    gain,
    success,
)
from clients.demo.snippets.tasks import TOPICS, deal_notes, deal_tasks
from clients.demo.snippets.topic import Task

TASKS = 300
RETRY_POLICY = RetryPolicy(timeout=300.0)

Say = Callable[[str], None]

DESCRIBED = """\
An agent does {tasks} small tasks in Python and SQL. Colleagues have left it {notes} notes on the
{topics} traps that the tasks are about: on each trap one that is right, one that is wrong or out of
date, and one that is beside the point. Nobody says which is which. The agent asks the server for
notes, follows the first that it can apply (its own first idea where there is none) and hands in one
answer, and the interpreter runs the tests. It reports whether they passed, with the notes and
without, and which note it followed. Plain similarity has the same notes and gates, and does not
learn."""


def describe() -> str:
    return DESCRIBED.format(tasks=TASKS, notes=3 * len(TOPICS), topics=len(TOPICS))


def demonstrate(url: str, key: str | None, seed: int, say: Say) -> str:
    """Play and report; the answer is the namespace that learned."""
    tasks = deal_tasks(seed, TASKS)
    with MemLift(url, key, retry_policy=RETRY_POLICY) as client:
        began = time.monotonic()
        memories = open_memories(client, deal_notes(seed))
        screen = Screen(sys.stdout, len(tasks))
        attempts = play(memories, tasks, screen.show)
        screen.finish()
        say(f"Played in {time.monotonic() - began:.0f} s (seed {seed}).")
        learned = memories[-1]
        _tell(say, "Success, with 95 % intervals over topics", compare(attempts, TASKS // 2))
        gone = len(find_gone(attempts, "wrong"))
        title = f"Stopped serving {gone} wrong {'note' if gone == 1 else 'notes'}"
        _tell(say, title, tell_gone(learned, attempts, f"{url}/dashboard/ns/{learned.slug}"))
        shown = _show_guideline(learned, tasks[-1], end_of(len(tasks)))
        _tell(say, "A guideline as the agent reads it", shown)
    return learned.slug


def compare(attempts: Sequence[Attempt], half: int) -> Iterator[str]:
    """Each arm over all tasks and over the second half, and what the second half decides."""
    plays = {(0, 0): attempts}
    yield f"{'':<18}{f'all {2 * half} tasks':>24}{f'last {half}':>24}{'wrong notes in these':>26}"
    yield f"{'':<18}{'':>24}{'':>24}{'served':>14}{'followed':>12}"
    for arm in ARMS:
        served, followed = (
            "-" if arm == NONE else str(count(plays, arm, "wrong", half))
            for count in (count_served, count_followed)
        )
        whole, late = success(plays, arm), success(plays, arm, half)
        yield f"{arm:<18}{_rate(whole):>24}{_rate(late):>24}{served:>14}{followed:>12}"
    yield ""
    for other in (SIMILARITY, NONE):
        yield _decide(f"{MEMLIFT} - {other}, last {half}", gain(plays, MEMLIFT, other, half))


def _rate(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{found.mean:.1%}"
    return f"{found.mean:.1%} ({max(0.0, found.low):.0%} … {min(1.0, found.high):.0%})"


def _decide(title: str, found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{title}: {found.mean:+.3f}"
    span = f"{title}: {found.mean:+.3f} ({found.low:+.3f} … {found.high:+.3f})"
    return span if found.low > 0 or found.high < 0 else f"{span}, which may be chance"


def tell_gone(memory: Memory, attempts: Sequence[Attempt], page: str) -> Iterator[str]:
    """Each wrong note that is not served any more, with what gave it away; and how many right ones
    went the same way.
    """
    ids = {note.name: memory_id for memory_id, note in memory.notes.items()}
    gone = find_gone(attempts, "wrong")
    if not gone:
        yield "What is always served together is credited together, and is hard to tell apart."
    for name in gone:
        memory_id = ids[name]
        note, weight = memory.notes[memory_id], memory.client.get_weight(memory_id)
        yield f"  {note.situation} ({note.author}), weight {weight.effective_weight:.2f}"
        yield from _wrapped(note.lesson)
        betrayal = find_betrayal(memory.client.each_weight_event(memory_id), name, attempts)
        if betrayal is not None:
            yield from _wrapped(f"given away when {betrayal.detail},")
            yield f"    in {page}/receipts/{betrayal.receipt}"
        yield f"    {page}/memories/{memory_id}"
    lost = find_gone(attempts, "right")
    yield f"Of the right notes, {len(lost)} {'has' if len(lost) == 1 else 'have'} gone as well."


def _wrapped(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="    ", subsequent_indent="      ")


def find_betrayal(
    events: Iterable[WeightEvent], name: str, attempts: Sequence[Attempt]
) -> Attempt | None:
    """Of the attempts that failed by following this note, the one that cost it most."""
    failed = {one.receipt: one for one in attempts if one.followed == name and not one.passed}
    costs = [
        ((event.weight_after or 0.0) - (event.weight_before or 0.0), failed[event.retrieval_id])
        for event in events
        if event.subject == "memory" and event.retrieval_id in failed
    ]
    return min(costs, key=lambda cost: cost[0])[1] if costs else None


def _show_guideline(memory: Memory, task: Task, as_of: datetime) -> Iterator[str]:
    asked = RetrievalFields(
        agent=AGENT,
        task={"text": task.text, "category": task.language},
        purpose="preview",
        as_of=as_of,
    )
    return guideline(memory.client.retrieve(**asked), task.text)


def _tell(say: Say, title: str, lines: Iterable[str]) -> None:
    say(f"\n{title}\n{'-' * len(title)}")
    for line in lines:
        say(line)
