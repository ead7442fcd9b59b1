"""The agent: it follows the first note that it can apply, and otherwise its first idea.

It reads nothing but the words of what it is served, in the order in which that is served, and hands
in one answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memlift_client import ServedMemory

from clients.demo.snippets.snippet import find_snippets, fits
from clients.demo.snippets.topic import Task


@dataclass(frozen=True, slots=True)
class Answer:
    """One snippet, and the memory it was taken from; None where it is the agent's own idea."""

    snippet: str
    memory_id: str | None


def answer(task: Task, served: Sequence[ServedMemory] = ()) -> Answer:
    """What the agent hands in, given these notes."""
    for memory in sorted(served, key=lambda one: one.rank):
        for snippet in find_snippets(memory.lesson):
            if fits(snippet, task) is not None:
                return Answer(snippet, memory.memory_id)
    return Answer(task.first_idea, None)
