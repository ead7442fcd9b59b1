"""Captured passes on a card give the library's vectors; they run where there is one."""

import numpy as np
import pytest
import torch

from memory.inference.captured import LENGTHS, TEXTS
from memory.inference.loading import ModelChoice
from memory.inference.sentence_models import SentenceModel, open_sentence_model

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no card here")

WORDS = [
    "the",
    "worker",
    "restarts",
    "when",
    "its",
    "queue",
    "is",
    "longer",
    "than",
    "the",
    "limit",
    "says",
]


@pytest.fixture(scope="module")
def opened() -> SentenceModel:
    return open_sentence_model(ModelChoice(device="cuda"))


@pytest.fixture(scope="module")
def processor() -> SentenceModel:
    return open_sentence_model(ModelChoice(device="cpu"))


def test_the_server_replays_where_there_is_a_card(opened: SentenceModel):
    assert opened.captured is not None, opened.backend
    assert opened.backend.startswith("captured")


@pytest.mark.parametrize("texts", [1, 2, *TEXTS[1:], TEXTS[-1] + 1])
def test_vectors_are_those_of_the_processor(
    opened: SentenceModel, processor: SentenceModel, texts: int
):
    some = [" ".join(WORDS[: 1 + place % len(WORDS)] * (1 + place % 30)) for place in range(texts)]
    here = np.stack([one.vector for one in opened.embed(some)])
    there = np.stack([one.vector for one in processor.embed(some)])
    assert np.abs(here - there).max() < 1e-4


def test_a_vector_does_not_depend_on_what_was_computed_before(opened: SentenceModel):
    [first] = opened.embed([WORDS[0]])
    opened.embed([" ".join([*WORDS] * 20)] * TEXTS[-1])
    [again] = opened.embed([WORDS[0]])
    assert (first.vector == again.vector).all()


def test_a_longer_input_than_any_pass_is_left_to_the_library(opened: SentenceModel):
    assert opened.captured is not None
    assert opened.captured.rows([[1000] * LENGTHS[-1]]) is None
