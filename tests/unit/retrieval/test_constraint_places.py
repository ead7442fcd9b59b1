"""The constraints of the three nearest tasks of each circle of categories, as a copy finds them."""

from collections import defaultdict
from dataclasses import replace
from random import Random
from uuid import UUID

import numpy as np
import pytest

from memory.constraints.store.near import ConstraintLink
from memory.kernel.ports import Embedding
from memory.meta_guidelines.store import Neighbourhood
from memory.retrieval.constraint_places import place_constraints
from memory.retrieval.head import HeadRow, QueryVector, Stored, margin
from memory.retrieval.resident.constraints import ResidentConstraints
from memory.retrieval.store.found_rows import half
from memory.retrieval.store.search import EVERYTHING
from memory.tasks.entities import CategoryIds

WIDTH = 8
READER = UUID(int=7)


def a_vector(chance: Random) -> np.ndarray:
    vector = np.array([chance.gauss(0, 1) for _ in range(WIDTH)])
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def sent(vector: np.ndarray) -> bytes:
    """As the database sends a half vector."""
    return b"\x00\x08\x00\x00" + vector.astype(">f2").tobytes()


def some_links(chance: Random) -> tuple[list[ConstraintLink], dict[UUID, bytes]]:
    """Some tasks say the same, some lead to several constraints, one has no vector."""
    different = [a_vector(chance) for _ in range(6)]
    tasks = [UUID(int=100 + place) for place in range(30)]
    links: list[ConstraintLink] = []
    for number in range(40):
        one = ConstraintLink(
            id=UUID(int=1_000 + number),
            version=1,
            owner=chance.choice(("*", "*", str(READER), "another")),
            category_id=UUID(int=chance.randint(1, 3)),
            subcategory_id=chance.choice((None, UUID(int=11), UUID(int=12))),
            task_id=tasks[0],
        )
        some = chance.sample(tasks, chance.randint(1, 3))
        links += [replace(one, task_id=task_id) for task_id in some]
    return links, {task_id: sent(chance.choice(different)) for task_id in tasks[1:]}


def a_neighbourhood(chance: Random) -> Neighbourhood:
    return Neighbourhood(
        agent_id=READER,
        category_ids=CategoryIds(UUID(int=1), chance.choice((None, UUID(int=11), UUID(int=99)))),
        as_of=EVERYTHING,
        model_id=UUID(int=5),
        vectors=[Embedding(a_vector(chance), ()) for _ in range(chance.randint(1, 2))],
        private=chance.random() < 0.5,
        related=chance.choice(((), (UUID(int=2),), (UUID(int=98),))),
    )


def by_hand(
    links: list[ConstraintLink], vectors: dict[UUID, bytes], wanted: Neighbourhood
) -> dict[UUID, tuple[int, int, list[tuple[UUID, float]]]]:
    """Bucket, how many it holds, and the near tasks of each constraint."""
    stored = Stored.of([HeadRow(one, "situation", half(vector)) for one, vector in vectors.items()])
    found = stored.similarities([QueryVector("situation", one.vector) for one in wanted.vectors])
    cosine = dict(zip(stored.ids, found.tolist(), strict=True))
    placed: defaultdict[int, list[ConstraintLink]] = defaultdict(list)
    for link in links:
        mine = link.owner == "*" or (wanted.private and link.owner == str(READER))
        if mine and link.task_id in vectors:
            if link.category_id == wanted.category_ids.category:
                bucket = int(link.subcategory_id != wanted.category_ids.subcategory)
            else:
                bucket = 2 if link.category_id in wanted.related else 3
            placed[bucket].append(link)
    near = {
        task_id
        for some in placed.values()
        for task_id in sorted({o.task_id for o in some}, key=lambda t: (-cosine[t], t))[:3]
    }
    return {
        link.id: (
            bucket,
            len({one.id for one in some}),
            sorted(
                [
                    (o.task_id, cosine[o.task_id])
                    for o in some
                    if o.id == link.id and o.task_id in near
                ],
                key=lambda pair: (-pair[1], pair[0]),
            ),
        )
        for bucket, some in placed.items()
        for link in some
        if link.task_id in near
    }


@pytest.mark.parametrize("seed", range(40))
def test_a_copy_finds_what_is_found_by_hand(seed: int):
    chance = Random(seed)
    links, vectors = some_links(chance)
    copy, wanted = ResidentConstraints(links, vectors), a_neighbourhood(chance)

    placed = place_constraints(copy.near(wanted, margin(WIDTH)), wanted.vectors)

    assert {
        one.id: (one.bucket, one.held, [(s.task_id, s.similarity) for s in one.sources])
        for one in placed
    } == by_hand(links, vectors, wanted)
    assert [one.id for one in placed] == sorted(one.id for one in placed)


def test_of_many_tasks_that_say_the_same_few_are_handed_over():
    same = sent(np.eye(WIDTH, dtype=np.float32)[0])
    links = [
        ConstraintLink(UUID(int=n), 1, "*", UUID(int=1), None, UUID(int=500 + n))
        for n in range(1, 200)
    ]
    copy = ResidentConstraints(links, {link.task_id: same for link in links})

    found = copy.near(a_neighbourhood(Random(1)), margin(WIDTH))

    assert [link.task_id for link in found] == [link.task_id for link in links[:3]]
    assert {link.held for link in found} == {199}


def test_without_constraints_nothing_is_near():
    copy = ResidentConstraints([], {})
    assert copy.near(a_neighbourhood(Random(1)), margin(WIDTH)) == []
    assert (len(copy), copy.bytes) == (0, 0)
    assert place_constraints([], []) == []
