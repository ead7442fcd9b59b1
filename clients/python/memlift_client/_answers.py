"""How answers are read, and what some of them can do beside carrying their members."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from memlift_client._faults import MemLiftProblem, Problem, UnexpectedAnswer
from memlift_client._reading import read
from memlift_client._wire import Reply

Row = TypeVar("Row")
Result = TypeVar("Result")
Reader = Callable[[Reply], Result]


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows, how many there are in all, and where the next page begins (None: nowhere)."""

    items: tuple[Row, ...]
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class BatchItem(Generic[Row]):
    """The result of one item of a batch: a value, or the problem that kept it from one."""

    index: int
    status: int
    value: Row | None
    problem: Problem | None

    def unwrap(self) -> Row:
        """The value. Raises MemLiftProblem where there is none."""
        if self.problem is not None:
            raise MemLiftProblem(self.problem)
        if self.value is None:
            raise UnexpectedAnswer(f"item {self.index} has neither value nor problem")
        return self.value


class HasReceipt:
    """An answer whose `retrieval_id` is the receipt an outcome binds to (None: a preview)."""

    __slots__ = ()

    @property
    def receipt(self) -> str:
        """The id to report an outcome under. Raises ValueError for a preview, which has none."""
        retrieval_id: str | None = cast("Any", self).retrieval_id
        if retrieval_id is None:
            raise ValueError("a preview leaves no receipt")
        return retrieval_id


class HasReadiness:
    """An answer whose `status` says whether the server can serve."""

    __slots__ = ()

    @property
    def ready(self) -> bool:
        return cast("Any", self).status == "ready"


def nothing(_: Reply) -> None:
    """For answers without a body."""


def one(model: type[Result]) -> Reader[Result]:
    return lambda reply: read(model, reply.body())


def page(model: type[Result]) -> Reader[Page[Result]]:
    def reader(reply: Reply) -> Page[Result]:
        body = reply.body()
        items = tuple(read(model, row) for row in _rows(body))
        cursor = body.get("next_cursor")
        total = body.get("total", len(items))
        return Page(items, cast("int", total), None if cursor is None else str(cursor))

    return reader


def rows(model: type[Result]) -> Reader[tuple[Result, ...]]:
    """All rows of a list that has no pages."""
    return lambda reply: tuple(read(model, row) for row in _rows(reply.body()))


def batch(model: type[Result], member: str | None = None) -> Reader[tuple[BatchItem[Result], ...]]:
    """Items of a batch; the value stands under `member`, or (None) in the item itself."""

    def reader(reply: Reply) -> tuple[BatchItem[Result], ...]:
        return tuple(_item(model, member, row) for row in _rows(reply.body()))

    return reader


def _item(model: type[Result], member: str | None, row: Mapping[str, object]) -> BatchItem[Result]:
    status = cast("int", row.get("status"))
    index = cast("int", row.get("index"))
    problem = cast("Mapping[str, object] | None", row.get("problem"))
    if problem is not None:
        return BatchItem(index, status, None, Problem.read(problem, status))
    value = row if member is None else cast("Mapping[str, object]", row.get(member) or {})
    return BatchItem(index, status, read(model, value), None)


def _rows(body: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    found = body.get("items")
    if not isinstance(found, list):
        raise UnexpectedAnswer("the answer has no items")
    return cast("Sequence[Mapping[str, object]]", found)
