"""Packed layers and input made from ids, held against the library's own on the bundled model."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer

from memory.inference.loading import ModelChoice, find_model
from memory.inference.packed import PackedLayer, pack
from memory.inference.sentence_models import SentenceModel, open_sentence_model
from memory.kernel.errors import Unavailable

TEXTS = [
    "",
    "Retry after a pause.",
    "The disk of the build host is full: /var/lib/docker holds 40 GB. " * 3,
    "Überprüfe die Rechnung vor der Zahlung. 東京",
]


@pytest.fixture(scope="module")
def opened() -> SentenceModel:
    return open_sentence_model(ModelChoice(device="cpu"))


@pytest.fixture(scope="module")
def library() -> SentenceTransformer:
    folder = find_model(ModelChoice(), not_fetched)
    return SentenceTransformer(str(folder.path), device="cpu", local_files_only=True).eval()


def not_fetched(name: str):
    raise Unavailable(name)


def cosines(left, right) -> list[float]:
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return ((left * right).sum(axis=1) / norms).tolist()


def test_vectors_are_those_of_the_library(opened: SentenceModel, library: SentenceTransformer):
    made = np.stack([embedding.vector for embedding in opened.embed(TEXTS)])

    assert min(cosines(made, library.encode(TEXTS))) > 0.999999


def test_packed_layers_give_the_library_s_vectors_under_padding(library: SentenceTransformer):
    packed = copy.deepcopy(library)
    inner = packed[0].model
    for place, layer in enumerate(inner.encoder.layer):
        inner.encoder.layer[place] = PackedLayer(layer)

    assert min(cosines(packed.encode(TEXTS), library.encode(TEXTS))) > 0.999999


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=4))
def test_the_input_made_from_ids_is_the_library_s(opened: SentenceModel, texts: list[str]):
    assert opened.builder is not None
    built = opened.builder.build([opened.tokenizer.pieces(text).ids for text in texts])
    made = opened.model.preprocess(texts)

    assert built.keys() == made.keys()
    for name in ("input_ids", "attention_mask", "token_type_ids"):
        assert torch.equal(built[name], made[name])


def test_a_text_is_tokenised_once(opened: SentenceModel, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_, **__):
        raise AssertionError("the library tokenised again")

    monkeypatch.setattr(opened.model, "preprocess", refuse)

    [embedding] = opened.embed(["Retry after a pause."])

    assert len(embedding.token_ids) == 6


def test_a_model_that_packing_would_change_is_left_as_it_is(library: SentenceTransformer):
    model = copy.deepcopy(library)
    layers = list(model[0].model.encoder.layer)
    rows = iter([torch.eye(3), -torch.eye(3)])

    backend = pack(model, lambda: next(rows), lambda: torch.zeros(1))

    assert backend.startswith("library (packed layers: ")
    assert list(model[0].model.encoder.layer) == layers
