"""Candidates and chances, valid by default."""

import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import strategies as st

from memory.belief.rankers import RANKERS, Candidate
from memory.receipts.entities import Gates
from memory.retrieval.selection import Selection
from tests.fixtures.profiles import examples

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
# No deadline: a busy machine is not a fault.
property_test = examples(60)

OPEN_GATES = Gates(raw=0, score=0)


def a_candidate(number: int = 1, **changes: object) -> Candidate:
    fields: dict[str, object] = {
        "id": UUID(int=number),
        "version": 1,
        "group": f"task {number}",
        "kind": "experience",
        "similarity": 0.5,
        "relevance": changes.get("similarity", 0.5),
        "effective_weight": 1.0,
        "ranking_weight": 1.0,
        "learned_at": NOON,
        "credited": 0,
    }
    return Candidate(**{**fields, **changes})


def a_selection(**changes: object) -> Selection:
    fields: dict[str, object] = {"k": 3, "gates": OPEN_GATES, "as_of": NOON, "slot_probability": 0}
    return Selection(**{**fields, **changes})


class FixedChance(random.Random):
    """A chance whose every answer is given: the uniform one, and the place among equals."""

    def __init__(self, uniform: float, place: int = 0) -> None:
        super().__init__(0)
        self._uniform = uniform
        self._place = place

    def random(self) -> float:
        return self._uniform

    def randrange(self, start: int, *_: int) -> int:
        assert self._place < start
        return self._place


# Few distinct values, so that ties are common.
COARSE = st.sampled_from([0.0, 0.2, 0.3, 0.5, 0.5000001, 1.0])
WEIGHTS = st.sampled_from([0.1, 0.5, 1.0, 1.559, 2.0])


@st.composite
def heads(draw: st.DrawFn, max_size: int = 8) -> list[Candidate]:
    numbers = draw(st.lists(st.integers(1, 99), unique=True, max_size=max_size))
    return [
        a_candidate(
            number,
            group=draw(st.sampled_from("abcdefgh")),
            similarity=draw(COARSE),
            relevance=draw(COARSE),
            effective_weight=draw(WEIGHTS),
            ranking_weight=draw(WEIGHTS),
            learned_at=NOON + timedelta(days=draw(st.integers(-200, 5))),
            credited=draw(st.integers(0, 2)),
            earned=draw(st.sampled_from([-0.1, 0.0, 0.2])),
            author=draw(st.sampled_from([None, UUID(int=1), UUID(int=1), UUID(int=2)])),
        )
        for number in numbers
    ]


@st.composite
def selections(draw: st.DrawFn, slot_probability: float = 0) -> Selection:
    return a_selection(
        k=draw(st.integers(1, 6)),
        gates=Gates(raw=draw(COARSE), score=draw(COARSE)),
        ranker=draw(st.sampled_from(sorted(RANKERS))),
        slot_probability=slot_probability,
    )
