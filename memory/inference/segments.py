"""Rows on a card, searched whole. Reached only through `sentence_models`, as it needs torch.

Rows are float32. Stored vectors are halves, so each product is exact in single precision, and a
plain sum of them in any order stays within the margin that is proven for it; the matrix units that
halves would be summed by do not say how they round. What a mask or a scale costs beyond the
product is small against it.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from memory.inference.card import NoCard

GROWTH = 1.5
BLOCK = 128
"""Rows that are looked at through the best of them, where there are many."""
MANY_BLOCKS = 1_024
KEPT_FREE = 10
"""One part in so many of a card is left to the models."""
MORE = 52
"""So many more than wanted are taken at first: mostly all that lie within the margin."""
WIDENING = 8
ROUNDING = 2.0**-21
"""What scaling in single precision adds to the margin: two roundings of a cosine, at both ends."""
HIDDEN = -float("inf")


class DeviceSegment:
    """Rows of one width on a device of torch. Used by one thread."""

    def __init__(self, device: torch.device | str, room: Callable[[], int] | None = None) -> None:
        self._device = torch.device(device)
        self._room = room or partial(free_bytes, self._device)
        self._vectors = self._zeros(0, 0)
        self._scales, self._hiding = self._zeros(0), self._zeros(0)
        self._mask: npt.NDArray[np.bool_] | None = None
        """What `_hiding` was made of: 0 for a row that is seen, else `HIDDEN`."""

    @property
    def bytes(self) -> int:
        return 4 * (self._vectors.numel() + self._scales.numel() + self._hiding.numel())

    def write(
        self, start: int, vectors: npt.NDArray[np.float32], scales: npt.NDArray[np.float64]
    ) -> None:
        end = start + len(vectors)
        if end > len(self._vectors):
            self._grow(end, vectors.shape[1])
        self._vectors[start:end].copy_(torch.from_numpy(vectors))
        self._scales[start:end].copy_(torch.from_numpy(scales))

    def nearest(
        self,
        asked: npt.NDArray[np.float16],
        seen: npt.NDArray[np.bool_],
        size: int,
        margin: float,
    ) -> list[npt.NDArray[np.intp]]:
        # Scores lack the lengths of the probes: the margin has them instead.
        below = (margin + ROUNDING) * np.linalg.norm(asked.astype(np.float64), axis=1)
        with torch.inference_mode():
            scores = self._scores(asked, seen)
            taken = size + MORE
            while True:
                values, slots = _best(scores, min(taken, scores.shape[1]))
                least = np.full(len(asked), HIDDEN)
                if size < values.shape[1]:
                    # All below 0 are equal to it.
                    last = np.maximum(values[:, size - 1], 0.0) - below
                    least = np.where(last > 0, last, HIDDEN)
                is_last = (values[:, -1] < least) | (values[:, -1] == HIDDEN)
                if is_last.all() or taken >= scores.shape[1]:
                    break
                taken *= WIDENING
        kept = (values >= least[:, None]) & (values > HIDDEN)
        return [one[some] for one, some in zip(slots, kept, strict=True)]

    def _scores(self, asked: npt.NDArray[np.float16], seen: npt.NDArray[np.bool_]) -> Tensor:
        """Of each probe with each row: the cosine times the length of the probe, or `HIDDEN`. There
        are some rows more than were asked for, which are hidden.
        """
        if torch.get_float32_matmul_precision() != "highest":
            raise NoCard("products are not taken in single precision here")
        rows = _whole_blocks(len(seen))
        if self._mask is not seen:
            self._mask = seen
            hiding = np.full(rows, HIDDEN, dtype=np.float32)
            hiding[: len(seen)][seen] = 0.0
            self._hiding = torch.from_numpy(hiding).to(self._device)
        probes = torch.from_numpy(asked.astype(np.float32)).to(self._device)
        scores = probes @ self._vectors[:rows].T
        return torch.addcmul(self._hiding, scores, self._scales[:rows], out=scores)

    def _grow(self, rows: int, width: int) -> None:
        capacity = _whole_blocks(max(rows, int(GROWTH * len(self._vectors))))
        wanted = 4 * capacity * (width + 1)
        if wanted > self._room():
            raise NoCard(f"{capacity} rows take {wanted} bytes, for which it has no room")
        known = len(self._vectors)
        vectors, scales = self._zeros(capacity, width), self._zeros(capacity)
        if known:
            vectors[:known], scales[:known] = self._vectors, self._scales
        self._vectors, self._scales = vectors, scales

    def _zeros(self, *shape: int) -> Tensor:
        return torch.zeros(shape, dtype=torch.float32, device=self._device)


def _whole_blocks(rows: int) -> int:
    return -(-rows // BLOCK) * BLOCK


def _best(scores: Tensor, taken: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.intp]]:
    """The largest of each probe, falling, and their numbers; of many rows only those blocks are
    looked at whose best are the largest, for all of the largest are in these.
    """
    blocks = scores.view(len(scores), -1, BLOCK)
    if blocks.shape[1] <= max(taken, MANY_BLOCKS):
        best = torch.topk(scores, taken)
        return best.values.cpu().numpy(), best.indices.cpu().numpy()
    tops = torch.topk(blocks.amax(2), taken).indices
    some = blocks.gather(1, tops[:, :, None].expand(-1, -1, BLOCK)).flatten(1)
    best = torch.topk(some, taken)
    numbers = tops.gather(1, best.indices // BLOCK) * BLOCK + best.indices % BLOCK
    return best.values.cpu().numpy(), numbers.cpu().numpy()


def free_bytes(device: torch.device) -> int:
    """What may still be taken of a card; as much as wanted of a processor's memory."""
    if device.type != "cuda":
        return 2**62
    free, whole = torch.cuda.mem_get_info(device)
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return free + kept - whole // KEPT_FREE
