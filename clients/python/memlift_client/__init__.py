"""MemLift's client: remember, retrieve, report; typed, in two ways to wait.

with MemLift("http://127.0.0.1:8000", key, namespace="default") as memory:
    with memory.task("Cancel order 17", agent="bot") as t:
        answer = act(t.guideline)
        t.cited(answer)
        t.reward(1.0)
"""

from memlift_client import _fields, _models
from memlift_client._answers import BatchItem, Page
from memlift_client._async_client import AsyncMemLift
from memlift_client._citations import cited
from memlift_client._client import MemLift
from memlift_client._faults import (
    ConfigurationError,
    ConnectionFailed,
    FieldProblem,
    KeyRefused,
    MemLiftError,
    MemLiftProblem,
    Problem,
    UnexpectedAnswer,
)
from memlift_client._fields import *  # noqa: F403 - what can be sent, as the contract names it
from memlift_client._models import *  # noqa: F403 - what is answered, as the contract names it
from memlift_client._prompt import SYSTEM_PROMPT
from memlift_client._retries import RetryPolicy
from memlift_client._task import AsyncOpenedTask, OpenedTask, TaskRun, TaskSettings
from memlift_client._tickets import AsyncTickets, Tickets, TicketTrial

__all__ = [
    "SYSTEM_PROMPT",
    "AsyncMemLift",
    "AsyncOpenedTask",
    "AsyncTickets",
    "BatchItem",
    "ConfigurationError",
    "ConnectionFailed",
    "FieldProblem",
    "KeyRefused",
    "MemLift",
    "MemLiftError",
    "MemLiftProblem",
    "OpenedTask",
    "Page",
    "Problem",
    "RetryPolicy",
    "TaskRun",
    "TaskSettings",
    "TicketTrial",
    "Tickets",
    "UnexpectedAnswer",
    "cited",
]
__all__ += _fields.__all__
__all__ += _models.__all__
