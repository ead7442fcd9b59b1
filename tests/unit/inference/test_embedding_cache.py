"""The cache of embeddings: what it keeps, what it drops, what it counts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory.inference.cache import EmbeddingCache, size_of
from memory.kernel.ports import Embedding, ModelIdentity

MODEL = ModelIdentity("m", "", "0" * 64, 4)
OTHER = ModelIdentity("m", "bfloat16", "0" * 64, 4)


def an_embedding(tokens: int = 3) -> Embedding:
    return Embedding(np.array([1, 0, 0, 0], dtype=np.float32), tuple(range(tokens)))


def test_a_text_is_found_again_for_the_same_model_only():
    cache = EmbeddingCache(1_000_000)
    embedding = an_embedding()
    cache.put(MODEL, "text", embedding)

    assert cache.get(MODEL, "text") is embedding
    assert cache.get(OTHER, "text") is None
    assert cache.get(MODEL, "Text") is None
    assert (cache.hits, cache.misses) == (1, 2)


def test_the_least_recently_used_leaves_first():
    cache = EmbeddingCache(2 * size_of(an_embedding()))
    cache.put(MODEL, "a", an_embedding())
    cache.put(MODEL, "b", an_embedding())
    cache.get(MODEL, "a")
    cache.put(MODEL, "c", an_embedding())

    assert cache.get(MODEL, "a") is not None
    assert cache.get(MODEL, "b") is None
    assert cache.get(MODEL, "c") is not None


def test_a_cache_of_no_bytes_keeps_nothing():
    cache = EmbeddingCache(0)
    cache.put(MODEL, "a", an_embedding())

    assert len(cache) == 0
    assert cache.size_bytes == 0


@given(
    puts=st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 50))),
    limit=st.integers(0, 5_000),
)
def test_the_cache_never_grows_past_its_limit(puts: list[tuple[str, int]], limit: int):
    cache = EmbeddingCache(limit)
    for text, tokens in puts:
        cache.put(MODEL, text, an_embedding(tokens))
        kept = [cache.get(MODEL, other) for other in "abcdefgh"]

        assert cache.size_bytes <= limit
        assert cache.size_bytes == sum(size_of(one) for one in kept if one is not None)
