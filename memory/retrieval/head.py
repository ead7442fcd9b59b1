"""The head: exactly the most similar memories, rescored in float64 from what the database holds.

The database scans every row an agent may see and computes cosines in float32. Its order is right
up to a rounding error that `margin` bounds, so it hands over every row within that margin of the
last one wanted, and `exact_head` decides among them. Vectors are stored in half precision and a
query is rounded to it once, by `to_stored_precision`; both sides then compare the same numbers.

Products of two halves are exact in float64, and sums of them are too while the norms stay near 1:
products are multiples of 2^-48, partial sums stay below 2^5, and a float64 holds 53 bits. So the
similarity of two embeddings does not depend on the machine or on the order of summation.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.kernel.errors import Unavailable

Half = npt.NDArray[np.float16]


Double = npt.NDArray[np.float64]


UNIT_ROUNDOFF_FLOAT32 = 2.0**-24


UNIT_ROUNDOFF_FLOAT64 = 2.0**-53


@dataclass(frozen=True, slots=True)
class HeadRow:
    """One stored vector of a memory; a memory has one row for each field it was fetched for."""

    id: UUID
    field: str
    vector: Half


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A vector as the embedder made it, and the field it is compared with."""

    field: str
    vector: npt.NDArray[np.float32] | Half


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory and the best of its queries' cosines, in [0, 1]."""

    id: UUID
    similarity: float


def to_stored_precision(vector: npt.ArrayLike) -> Half:
    """The vector as the database holds it: the one place where a query or an embedding is rounded;
    one that was rounded is given back as it is.

    Raises Unavailable when a component is not a finite half, because then the model is at fault.
    """
    if isinstance(vector, np.ndarray) and vector.dtype == np.float16:
        return vector
    with np.errstate(over="ignore"):
        rounded = np.asarray(vector, dtype=np.float32).astype(np.float16)
    if not np.isfinite(rounded).all():
        raise Unavailable("The model made a vector that is not finite.", code="bad_embedding")
    return rounded


def margin(width: int) -> float:
    """How far below the last float32 similarity wanted a row may lie and still be in the head.

    With u = 2^-24 and any order of summation, a float32 dot product of `width` exact products is
    off by at most g |a| |b|, g = width u / (1 - width u); the products of two halves are exact in
    float32. Each squared norm is off by a factor within 1 ± g, so the root of their product is
    too, and the cosine c is computed as (c + e) / (1 + f) with |e|, |f| <= g: off by at most
    2 g / (1 - g), plus a few float64 roundings. Clamping at 0 and taking a maximum add nothing.
    A row of the head may be seen too low by that much, and the last row wanted too high, hence
    twice the error. Written for cosine distance over half vectors, 1 - distance, clamped at 0.
    """
    growth = width * UNIT_ROUNDOFF_FLOAT32 / (1 - width * UNIT_ROUNDOFF_FLOAT32)
    error = 2 * growth / (1 - growth) + 8 * UNIT_ROUNDOFF_FLOAT64
    return 2 * error


@dataclass(frozen=True, slots=True)
class Stack:
    """The vectors of one field, whose memories they are by place, and their squared norms."""

    places: npt.NDArray[np.intp]
    vectors: Double
    squares: Double

    @classmethod
    def of(cls, places: npt.NDArray[np.intp], vectors: Half | npt.NDArray[np.float32]) -> "Stack":
        """Of vectors that are halves, in whatever precision they are held."""
        wide = vectors.astype(np.float64)
        return cls(places, wide, np.einsum("ij,ij->i", wide, wide))


class Stored:
    """The vectors of some memories, put into double precision once for any number of asks; `ids`
    ascend.
    """

    def __init__(self, ids: Sequence[UUID], fields: Mapping[str, Stack]) -> None:
        self.ids = ids
        self._fields = fields

    def __len__(self) -> int:
        """How many memories they are of."""
        return len(self.ids)

    @classmethod
    def of(cls, rows: Sequence[HeadRow]) -> "Stored":
        """Those of these rows."""
        ids = sorted({row.id for row in rows})
        places = {memory_id: place for place, memory_id in enumerate(ids)}
        by_field: defaultdict[str, list[HeadRow]] = defaultdict(list)
        for row in rows:
            by_field[row.field].append(row)
        return cls(ids, {field: _stack(some, places) for field, some in by_field.items()})

    def similarities(self, queries: Sequence[QueryVector]) -> Double:
        """The similarity of each memory, in the order of ids.

        It is the maximum over the queries of the cosine, clamped to [0, 1], each query against the
        rows of its own field; a memory without such a row, or a vector of zeros, has 0.
        """
        best = np.zeros(len(self.ids))
        for query in queries:
            stack = self._fields.get(query.field)
            if stack is not None:
                best[stack.places] = np.maximum(best[stack.places], _cosines(stack, query))
        return best

    def nearest_queries(
        self, queries: Sequence[QueryVector], memory_ids: Sequence[UUID]
    ) -> dict[UUID, int]:
        """Of several queries the one that each of these is most similar to, by its place, of equals
        the first; nothing where there is one query.
        """
        if len(queries) < 2 or not memory_ids:  # noqa: PLR2004 - one has nothing to choose from
            return {}
        best = np.argmax([self.similarities([query]) for query in queries], axis=0)
        places = {memory_id: place for place, memory_id in enumerate(self.ids)}
        return {one: int(best[places[one]]) for one in memory_ids}


def nearest(similarities: Double, size: int) -> list[int]:
    """The places of the `size` largest, by similarity falling, then by place."""
    return np.argsort(-similarities, kind="stable")[:size].tolist()


def exact_head(rows: Sequence[HeadRow], queries: Sequence[QueryVector], size: int) -> list[Similar]:
    """The `size` most similar memories among `rows`: by similarity falling, then by id."""
    stored = Stored.of(rows)
    found = stored.similarities(queries)
    return [Similar(stored.ids[place], float(found[place])) for place in nearest(found, size)]


def ensure_whole(found: int, size: int, matching: int) -> None:
    """A head shorter than what matches is a fault, never an answer: raises Unavailable."""
    wanted = min(size, matching)
    if found < wanted:
        raise Unavailable(
            f"The search found {found} memories where {wanted} were due.", code="short_head"
        )


def _stack(rows: Sequence[HeadRow], places: Mapping[UUID, int]) -> Stack:
    of_rows = np.array([places[row.id] for row in rows], dtype=np.intp)
    return Stack.of(of_rows, np.stack([row.vector for row in rows]))


def _cosines(stack: Stack, query: QueryVector) -> Double:
    asked = to_stored_precision(query.vector).astype(np.float64)
    dots: Double = stack.vectors @ asked
    norms: Double = np.sqrt(stack.squares * (asked @ asked))
    # The root of the product, not the product of roots: a vector is then exactly 1 from itself.
    cosines = np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
    return np.clip(cosines, 0.0, 1.0)
