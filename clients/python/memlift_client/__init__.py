"""MemLift's client: remember, retrieve, report; typed, in two ways to wait.

with MemLift("http://127.0.0.1:8000", key, namespace="default") as memory:
    served = memory.retrieve(agent="bot", task={"text": "Cancel order 17"})
    ...
    memory.report(served.receipt, reward=1.0)
"""

from memlift_client import _fields, _models
from memlift_client._answers import BatchItem, Page
from memlift_client._async_client import AsyncMemLift
from memlift_client._client import MemLift
from memlift_client._faults import (
    ConnectionFailed,
    FieldProblem,
    MemLiftError,
    MemLiftProblem,
    Problem,
    UnexpectedAnswer,
)
from memlift_client._fields import *  # noqa: F403 - what can be sent, as the contract names it
from memlift_client._models import *  # noqa: F403 - what is answered, as the contract names it
from memlift_client._retries import RetryPolicy

__all__ = [
    "AsyncMemLift",
    "BatchItem",
    "ConnectionFailed",
    "FieldProblem",
    "MemLift",
    "MemLiftError",
    "MemLiftProblem",
    "Page",
    "Problem",
    "RetryPolicy",
    "UnexpectedAnswer",
]
__all__ += _fields.__all__
__all__ += _models.__all__
