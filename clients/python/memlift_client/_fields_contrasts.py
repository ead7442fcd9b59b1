"""What an agent sends of pairs of runs, as typed dictionaries."""

from collections.abc import Sequence
from typing import Literal, TypedDict

from memlift_client._fields import PageFields


class ContrastFields(TypedDict, total=False):
    """Two to sixteen runs of one task, or the task itself."""

    trajectory_ids: Sequence[str]
    task_id: str


class ContrastFilterFields(PageFields, total=False):
    state: Literal["queued", "distilling", "distilled", "empty", "refused", "no_text", "failed"]
    pair_class: Literal["discordant", "both_right", "both_wrong", "unknown"]
    task_id: str
