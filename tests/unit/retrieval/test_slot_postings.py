"""Postings of a copy, against counting all texts."""

from collections import Counter
from random import Random

import numpy as np
import pytest

from memory.retrieval.resident import postings
from memory.retrieval.resident.postings import SlotPostings
from memory.retrieval.resident.words import Vocabulary


@pytest.mark.parametrize("full", [1, 7, 64, 131_072])
def test_they_hold_what_was_put_in_and_not_taken_out(full: int, monkeypatch: pytest.MonkeyPatch):
    """However large a block may be, and whenever somebody asks."""
    monkeypatch.setattr(postings, "FULL", full)
    chance, kept, texts = Random(full), SlotPostings(), dict[int, list[int]]()
    for slot in range(200):
        texts[slot] = [chance.randrange(30) for _ in range(chance.randrange(9))]
        kept.put(slot, texts[slot])
        if chance.random() < 0.3:
            gone = chance.choice(sorted(texts))
            assert kept.drop(gone) == sorted(set(texts.pop(gone)))
        if chance.random() < 0.2:
            asked = chance.sample(range(40), 6)
            hits = kept.find(asked)
            found = {
                (slot, asked[place]): int(count)
                for slot, place, count in zip(hits.slots, hits.places, hits.counts, strict=True)
            }
            assert len(found) == len(hits.slots)
            some = np.array(chance.sample(range(slot + 1), min(5, slot + 1)), dtype=np.intp)
            counts = kept.counts(asked, some)
            assert counts.tolist() == [
                [found.get((one, term), 0) for term in asked] for one in some.tolist()
            ]
            assert found == {
                (slot, term): count
                for slot, text in texts.items()
                for term, count in Counter(text).items()
                if term in asked
            }


def test_what_nothing_holds_leaves_no_trace():
    names = Vocabulary()
    first, second = names.hold(["a", "b", "a"]), names.hold(["b"])
    names.release(sorted(set(first)))
    assert names.find({"a": 1, "b": 1}) == {"b": second[0]}
    names.release(second)
    assert len(names) == 0
    assert SlotPostings().find([1]).slots.tolist() == []
