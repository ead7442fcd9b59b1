"""A function that learns: each call is the run of a task, and gets the guideline for it."""

import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import wraps
from typing import Any, TypeVar, cast

from memlift_client._citations import cited
from memlift_client._task import TaskRun

Answer = TypeVar("Answer")
Text = str | Callable[..., str] | None
Judge = Callable[[Any], float] | None

HANDED = ("guideline", "task")
"""Parameters that are filled with what was served: its text, or the whole run."""
LONGEST = 200
"""Characters of an argument in the text of a task."""


class LearningFunction:
    """What is known of a function: which of the two it takes, and how its tasks are worded."""

    def __init__(self, function: Callable[..., object], text: Text, judge: Judge) -> None:
        signature = inspect.signature(function)
        self.handed = [name for name in HANDED if name in signature.parameters]
        if not self.handed:
            raise TypeError(
                f"{function.__name__}() takes neither guideline nor task: it would be told nothing"
            )
        others = [one for one in signature.parameters.values() if one.name not in self.handed]
        self.signature = signature.replace(parameters=others)
        self._function = function
        self._text = text
        self._judge = judge

    def describe(self, args: tuple[object, ...], kwargs: dict[str, object]) -> str:
        """The task of a call: as `text` says, else the first line of its doc and its arguments."""
        if callable(self._text):
            return self._text(*args, **kwargs)
        given = self.signature.bind(*args, **kwargs)
        given.apply_defaults()
        if self._text is not None:
            return self._text.format(**given.arguments)
        words = inspect.getdoc(self._function) or self._function.__name__.replace("_", " ")
        named = ", ".join(f"{n}={_short(v)}" for n, v in given.arguments.items() if n != "self")
        first = words.splitlines()[0].rstrip(".")
        return f"{first}: {named}" if named else first

    def filled(self, run: TaskRun, kwargs: dict[str, object]) -> dict[str, object]:
        """The arguments by name, with what was served."""
        parts: dict[str, object] = {"guideline": run.guideline, "task": run}
        return kwargs | {name: parts[name] for name in self.handed}

    def conclude(self, run: TaskRun, answer: object) -> None:
        """What the answer says of the run: the notes that it cites, and the judge's reward."""
        if isinstance(answer, str) and run.used is None and run.served is not None:
            run.used = cited(answer, run.served) or None
        if self._judge is not None:
            run.reward(self._judge(answer))


def learning(
    function: Callable[..., Answer],
    begin: Callable[[str], AbstractContextManager[TaskRun]],
    text: Text,
    judge: Judge,
) -> Callable[..., Answer]:
    """The function, each call of it a run. Raises TypeError for one that has to be awaited."""
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"{function.__name__}() is awaited: let AsyncMemLift teach it")
    known = LearningFunction(function, text, judge)

    @wraps(function)
    def run_once(*args: object, **kwargs: object) -> Answer:
        with begin(known.describe(args, kwargs)) as run:
            answer = function(*args, **known.filled(run, kwargs))
            known.conclude(run, answer)
        return answer

    cast("Any", run_once).__signature__ = known.signature
    return run_once


def learning_async(
    function: Callable[..., Awaitable[Answer]],
    begin: Callable[[str], AbstractAsyncContextManager[TaskRun]],
    text: Text,
    judge: Judge,
) -> Callable[..., Awaitable[Answer]]:
    """The same for a function that is awaited. Raises TypeError for one that is not."""
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"{function.__name__}() is not awaited: let MemLift teach it")
    known = LearningFunction(function, text, judge)

    @wraps(function)
    async def run_once(*args: object, **kwargs: object) -> Answer:
        async with begin(known.describe(args, kwargs)) as run:
            answer = await function(*args, **known.filled(run, kwargs))
            known.conclude(run, answer)
        return answer

    cast("Any", run_once).__signature__ = known.signature
    return run_once


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
