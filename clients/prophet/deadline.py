"""A call that takes too long is left alone: whoever waits for a forecast gets one in time."""

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class TooSlow(Exception):
    """No answer within the time."""


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """The result of `work`, or TooSlow. A library's own timeout starts anew with every piece it
    reads; this one does not. What is late goes on by itself and is forgotten.
    """
    came: queue.SimpleQueue[tuple[Result | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            came.put((work(), None))
        except BaseException as fault:  # noqa: BLE001 - handed to the caller, who waits
            came.put((None, fault))

    threading.Thread(target=run, daemon=True, name="within").start()
    try:
        result, fault = came.get(timeout=seconds)
    except queue.Empty:
        raise TooSlow(f"no answer within {seconds:g} s") from None
    if fault is not None:
        raise fault
    return result  # pyright: ignore[reportReturnType] - a result where there is no fault
