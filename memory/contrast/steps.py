"""A step of a run, as it is aligned and as it is told."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """`key` is equal where two runs do the same; `phrase` says what is done, free of the task."""

    key: str
    phrase: str
