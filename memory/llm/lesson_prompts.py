"""The words in which a model is asked for a lesson: what all kinds of task share, and one paragraph
for each kind.
"""

from collections.abc import Mapping
from typing import Final, Literal

TaskKind = Literal["tool_use", "code", "question", "forecast"]


_SHARED: Final = (
    "An agent's attempt at a task went worse than expected. The material shows what it did. Draw"
    " one lesson that would help another agent with a task of the same kind.\n"
    "`situation`: when the lesson applies, so that it can be recognised before the work begins; the"
    " kind of task, not this one. `lesson`: what to do then, and what to avoid, in one to three"
    " sentences. Keep to what the run shows: name the step, the message or the number it rests on."
    " Name no person, and give no answer that holds for this task alone."
)


_KINDS: Final[Mapping[TaskKind, str]] = {
    "tool_use": (
        "The agent worked with tools. Look for the call where the run took the wrong turn: an error"
        " that was not answered, an object that was changed without being read, a step that was"
        " announced and not taken, a rule of the task that was passed over. Say which tool, with"
        " which kind of argument, and what to check before it is called."
    ),
    "code": (
        "The agent wrote code. Look for the input or the assertion on which it failed and for the"
        " assumption that was wrong. Say which case to handle and how to test it before the work is"
        " handed in; quote code only as far as the lesson needs it."
    ),
    "question": (
        "The agent answered a question. Tell apart what it did not find, what it found and did not"
        " use, and what was right in the wrong form. Say where to look, which step of the reasoning"
        " to check, or in which form to answer."
    ),
    "forecast": (
        "The agent gave probabilities. Compare them with what came true and with its rationale. Say"
        " which evidence weighed too much or too little and what the base rate would have said; one"
        " event proves little, so give a way of estimating rather than a number."
    ),
}


def lesson_prompt(kind: TaskKind) -> str:
    """What a model is asked about a run of such a task."""
    return f"{_SHARED}\n{_KINDS[kind]}"
