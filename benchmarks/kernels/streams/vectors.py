"""Vectors of many texts, embedded once by the server's own model and kept in a folder."""

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.inference.calibration import calibrate
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder

Vector = NDArray[np.float32]

_AT_ONCE = 64
_Q99 = "q99"


class Vectors:
    """Unit vectors by text, rounded to half precision as they are stored, and the model's q99."""

    def __init__(self, texts: Mapping[str, int], stacked: NDArray[Any], q99: float) -> None:
        self._places = texts
        self._stacked = stacked.astype(np.float32)
        self.q99 = q99

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a text."""
        return self._stacked[[self._places[text] for text in texts]]


def vectors_of(texts: Sequence[str], folder: Path) -> Vectors:
    """Read from `folder` where these texts were embedded before, else embedded and kept there."""
    distinct = list(dict.fromkeys(texts))
    name = sha256("\0".join(distinct).encode()).hexdigest()[:16]
    path = folder / f"{name}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        stacked, q99 = asyncio.run(_embedded(distinct))
        np.savez(path, vectors=stacked, q99=np.array(q99))
    with np.load(path) as kept:
        places = {text: place for place, text in enumerate(distinct)}
        return Vectors(places, kept["vectors"], float(kept[_Q99]))


async def _embedded(texts: Sequence[str]) -> tuple[NDArray[np.float16], float]:
    embedder = LocalEmbedder(EmbedderPolicy())
    embedder.start()
    await embedder.wait_until_ready()
    try:
        q99 = (await calibrate(embedder)).q99
        rows: list[NDArray[Any]] = []
        # Texts of one length together: a batch is as long as its longest text.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        for start in range(0, len(order), _AT_ONCE):
            part = [texts[place] for place in order[start : start + _AT_ONCE]]
            rows += [embedding.vector for embedding in await embedder.embed(part)]
    finally:
        await embedder.close()
    stacked = np.zeros((len(texts), len(rows[0])), dtype=np.float16)
    stacked[order] = np.stack(rows)
    return stacked, q99
