"""Embeddings of texts seen lately, bounded in bytes."""

import hashlib
from collections import OrderedDict

from memory.kernel.ports import Embedding, ModelIdentity

Address = tuple[ModelIdentity, bytes]


# What a token id (a boxed int and its slot) and an entry (key, digest, tuple, links) take besides
# the vector, in CPython on 64 bits; measured roughly, so the bound holds roughly.
TOKEN_ID_BYTES = 36


ENTRY_BYTES = 600


class EmbeddingCache:
    """The least recently used leave first. Used from the event loop only, so it has no lock."""

    def __init__(self, limit_bytes: int) -> None:
        self.hits = 0
        self.misses = 0
        self.size_bytes = 0
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[Address, Embedding] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, model: ModelIdentity, text: str) -> Embedding | None:
        """The embedding that `model` made of exactly this text, if it is still here."""
        address = _address(model, text)
        embedding = self._kept.get(address)
        if embedding is None:
            self.misses += 1
            return None
        self.hits += 1
        self._kept.move_to_end(address)
        return embedding

    def put(self, model: ModelIdentity, text: str, embedding: Embedding) -> None:
        """Keep an embedding, unless it alone is larger than the cache."""
        address = _address(model, text)
        previous = self._kept.pop(address, None)
        if previous is not None:
            self.size_bytes -= size_of(previous)
        self._kept[address] = embedding
        self.size_bytes += size_of(embedding)
        while self.size_bytes > self._limit_bytes:
            _, oldest = self._kept.popitem(last=False)
            self.size_bytes -= size_of(oldest)


def size_of(embedding: Embedding) -> int:
    """About how many bytes an entry takes."""
    return embedding.vector.nbytes + TOKEN_ID_BYTES * len(embedding.token_ids) + ENTRY_BYTES


def _address(model: ModelIdentity, text: str) -> Address:
    # Text is cleaned before it gets here; a stray surrogate is the model's to refuse, not ours.
    return model, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
