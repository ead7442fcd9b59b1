"""What a suite is: defaults, a run that records, and targets read from the records alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.bench import Bench
from benchmarks.metrics import Row, Target


@dataclass(frozen=True, slots=True)
class Suite:
    """`settings` and `words` are the defaults that `--set NAME=VALUE` changes, numbers and others;
    `server` is added to the environment of the server that is started for it, None where the suite
    starts what it needs.
    """

    about: str
    settings: Mapping[str, int]
    server: Mapping[str, str] | None
    run: Callable[[Bench], None]
    targets: Callable[[Sequence[Row]], list[Target]]
    words: Mapping[str, str] = field(default_factory=dict[str, str])
