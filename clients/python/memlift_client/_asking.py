"""What takes the client's agent where none is named: asking about a task, by its text alone or by
all that is known of it, and keeping what it taught.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from memlift_client import _fields as f
from memlift_client import _models as m
from memlift_client import _operations as ops
from memlift_client._task import DEFAULT_AGENT
from memlift_client._wire import Call


def ask(  # noqa: PLR0913 - all that a retrieval may be asked for, by name
    text: str | None = None,
    *,
    agent: str = DEFAULT_AGENT,
    active_queries: bool | None = None,
    all_rankers: bool | None = None,
    arm: Literal["auto", "on", "off"] | None = None,
    as_of: datetime | None = None,
    expires_in: float | None = None,
    explain: bool | None = None,
    explore: bool | None = None,
    filter: f.RetrievalFilterFields | None = None,  # noqa: A002 - as the contract names it
    format: Literal["brief", "full", "memories"] | None = None,  # noqa: A002 - as the contract names it
    gates: Literal["on", "off"] | None = None,
    k: int | None = None,
    max_tokens: int | None = None,
    past_error: bool | None = None,
    purpose: Literal["act", "paired", "replay", "preview"] | None = None,
    queries: Sequence[f.QueryFields] | None = None,
    rerank: Literal["none", "fused"] | None = None,
    task: f.TaskFields | str | None = None,
    task_id: str | None = None,
    trace_id: str | None = None,
) -> Call[m.Retrieval]:
    """A guideline for a task: `retrieve("Refund invoice 8812")`, or by `task`, its text or all that
    is known of it, or `task_id`. A preview stores nothing.
    """
    if text is not None:
        if task is not None or task_id is not None:
            raise TypeError("give the text, or task, or task_id: one of them")
        task = text
    if isinstance(task, str):
        task = {"text": task}
    return ops.create_retrieval(
        agent=agent,
        task=task,
        active_queries=active_queries,
        all_rankers=all_rankers,
        arm=arm,
        as_of=as_of,
        expires_in=expires_in,
        explain=explain,
        explore=explore,
        filter=filter,
        format=format,
        gates=gates,
        k=k,
        max_tokens=max_tokens,
        past_error=past_error,
        purpose=purpose,
        queries=queries,
        rerank=rerank,
        task_id=task_id,
        trace_id=trace_id,
    )


def keep(  # noqa: PLR0913 - all that is known of an experience, by name
    *,
    lesson: str,
    situation: str,
    agent: str = DEFAULT_AGENT,
    category: str | None = None,
    learned_at: datetime | None = None,
    metadata: Mapping[str, object] | None = None,
    pinned: bool | None = None,
    subcategory: str | None = None,
    task: f.TaskFields | None = None,
    task_id: str | None = None,
    verify: bool | None = None,
    visibility: Literal["agent", "namespace"] | None = None,
    weight: float | None = None,
) -> Call[m.Remembered]:
    """Remember what a task taught; 200 where a memory already says the same."""
    return ops.add_experience(
        agent=agent,
        lesson=lesson,
        situation=situation,
        category=category,
        learned_at=learned_at,
        metadata=metadata,
        pinned=pinned,
        subcategory=subcategory,
        task=task,
        task_id=task_id,
        verify=verify,
        visibility=visibility,
        weight=weight,
    )


BY_THE_CLIENTS_AGENT = (ask, keep)
"""What a client calls as its own agent, where the call does not say."""
