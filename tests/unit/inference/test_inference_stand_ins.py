"""The stand-ins behave as the ports promise, the same way every time."""

import numpy as np
import pytest

from memory.inference.calibration import calibrate, unrelated_sentences
from memory.inference.stand_ins import HashEmbedder, OverlapReranker, WordCounter
from memory.kernel.errors import Unavailable


async def test_equal_texts_get_equal_vectors_from_any_embedder_of_the_name():
    [one] = await HashEmbedder().embed(["check the invoice"])
    [two] = await HashEmbedder().embed(["check the invoice"])

    assert one.vector.tolist() == two.vector.tolist()
    assert one.token_ids == two.token_ids


async def test_shared_words_show_as_cosine():
    [task, near, far] = await HashEmbedder().embed(
        ["check the invoice total", "the invoice total was wrong", "penguins sing loudly"]
    )

    assert task.vector @ near.vector > task.vector @ far.vector + 0.3


async def test_name_and_width_are_part_of_the_identity():
    embedder = HashEmbedder(width=16, name="other")
    [embedding] = await embedder.embed(["text"])

    assert embedding.vector.shape == (16,)
    assert embedder.identity.width == 16
    assert embedder.identity != HashEmbedder(width=16).identity


async def test_it_fails_on_the_text_it_is_told_to():
    embedder = HashEmbedder(fails_on={2})
    await embedder.embed(["a", "b"])

    with pytest.raises(Unavailable):
        await embedder.embed(["c"])
    assert len(await embedder.embed(["d"])) == 1


async def test_a_vector_of_zeros_is_refused():
    with pytest.raises(Unavailable) as refused:
        await HashEmbedder(zeros_on={0}).embed(["a"])
    assert refused.value.kind == "bad_vector"


async def test_a_text_without_words_has_a_vector():
    [empty, dots] = await HashEmbedder().embed(["", "..."])

    assert np.linalg.norm(empty.vector) == pytest.approx(1.0)
    assert empty.vector.tolist() != dots.vector.tolist()


async def test_overlap_is_the_share_of_the_tasks_words():
    texts = ["book a flight", "a flight was late", "rain"]

    assert await OverlapReranker().relevance("a flight", texts) == [1.0, 1.0, 0.0]


def test_words_are_counted_between_blanks():
    assert WordCounter().count("  three small words ") == 3


def test_the_unrelated_sentences_are_two_hundred_and_distinct():
    sentences = unrelated_sentences()

    assert len(sentences) == 200
    assert len({sentence.lower() for sentence in sentences}) == 200
    assert all(6 <= len(sentence.split()) <= 20 for sentence in sentences)


async def test_calibration_is_reproducible():
    first = await calibrate(HashEmbedder())
    second = await calibrate(HashEmbedder())

    assert first == second
    assert 0.0 < first.q99 < 1.0
