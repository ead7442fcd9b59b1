"""A stored run as checks see it: steps become actions, a call and its answer one of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from memory.constraints.checks.observations import AGENT, USER, Action, ObservedRun
from memory.tasks.run_entities import Step


def observe(task: str, steps: Iterable[Step], result: str | None) -> ObservedRun:
    """A run of a task, without what is neither said nor done."""
    actions: list[Action] = []
    open_calls: list[int] = []
    for step in steps:
        if step.role == "system":
            continue
        if step.tool is None and step.role != "tool":
            actions.append(Action(_side(step), step.text or step.result or step.error or ""))
        elif _calls(step):
            if step.text:
                actions.append(Action(_side(step), step.text))
            if step.result is None and step.error is None:
                open_calls.append(len(actions))
            actions.append(_call(step))
        else:
            _answer(actions, open_calls, step)
    return ObservedRun(task, tuple(actions), result)


def _side(step: Step) -> str:
    return USER if step.role == "user" else AGENT


def _calls(step: Step) -> bool:
    """Whether a step with a tool is a call, and not what the tool answered to one."""
    answered = step.result is not None or step.error is not None
    return step.role != "tool" and (step.arguments is not None or not answered)


def _call(step: Step) -> Action:
    text = step.error or step.result or ""
    return Action(_side(step), text, step.tool, step.arguments, failed=step.error is not None)


def _answer(actions: list[Action], open_calls: list[int], step: Step) -> None:
    """Put the answer to the call that waits for it, else to a call of its own."""
    text = step.error or step.result or step.text or ""
    failed = step.error is not None
    place = _waiting(actions, open_calls, step.tool)
    if place is None:
        actions.append(Action(_side(step), text, step.tool or "tool", None, failed=failed))
    else:
        open_calls.remove(place)
        actions[place] = replace(actions[place], text=text, failed=failed)


def _waiting(actions: Sequence[Action], open_calls: Sequence[int], tool: str | None) -> int | None:
    """The oldest call without an answer, of this tool where it is named."""
    return next((one for one in open_calls if tool is None or actions[one].tool == tool), None)
