"""An end that is wanted is no fault, and no traceback tells of one."""

import asyncio
import logging

from server.hosting import WithoutCancelled


def record(fault: BaseException | None) -> logging.LogRecord:
    told = None if fault is None else (type(fault), fault, None)
    return logging.LogRecord("any", logging.ERROR, __file__, 1, "words", None, told)


def test_what_was_given_up_at_the_end_is_not_told_and_faults_are() -> None:
    keeps = WithoutCancelled().filter

    assert not keeps(record(asyncio.CancelledError()))
    assert keeps(record(ValueError()))
    assert keeps(record(None))
