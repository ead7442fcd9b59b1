"""Rows on a card, searched whole. Reached only through `sentence_models`, as it needs torch.

Rows are float32. Stored vectors are halves, so each product is exact in single precision, and a
plain sum of them in any order stays within the margin that is proven for it; the matrix units that
halves would be summed by do not say how they round. What a mask or a scale costs beyond the
product is small against it.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from memory.inference.card import NoCard

GROWTH = 1.5
LEAST_ROWS = 1_024
KEPT_FREE = 10
"""One part in so many of a card is left to the models."""
MORE = 52
"""So many more than wanted are taken at first: mostly all that lie within the margin."""
WIDENING = 8
ROUNDING = 2.0**-21
"""What scaling in single precision adds to the margin: two roundings of a cosine, at both ends."""
HIDDEN = -1.0


class DeviceSegment:
    """Rows of one width on a device of torch. Used by one thread."""

    def __init__(self, device: torch.device | str, room: Callable[[], int] | None = None) -> None:
        self._device = torch.device(device)
        self._room = room or (lambda: free_bytes(self._device))
        self._vectors = torch.empty((0, 0), device=self._device)
        self._scales = torch.empty(0, device=self._device)
        self._mask: npt.NDArray[np.bool_] | None = None
        self._hidden = torch.empty(0, dtype=torch.bool, device=self._device)

    @property
    def bytes(self) -> int:
        return 4 * (self._vectors.numel() + self._scales.numel())

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
        if not len(seen):
            return [np.zeros(0, dtype=np.intp) for _ in asked]
        with torch.inference_mode():
            scores = self._scores(asked, seen)
            # Scores lack the lengths of the probes: the margin has them instead.
            lengths = np.linalg.norm(asked.astype(np.float64), axis=1)
            below = (margin + ROUNDING) * lengths
            taken = size + MORE
            while True:
                taken = min(taken, len(seen))
                best = torch.topk(scores, taken)
                values, slots = best.values.cpu().numpy(), best.indices.cpu().numpy()
                last = np.full(len(asked), 0.0)
                if size < taken:
                    last = np.maximum(values[:, size - 1] - below, 0.0)
                if taken == len(seen) or (values[:, -1] < last).all():
                    return [
                        one[found >= least]
                        for one, found, least in zip(slots, values, last, strict=True)
                    ]
                taken *= WIDENING

    def _scores(self, asked: npt.NDArray[np.float16], seen: npt.NDArray[np.bool_]) -> Tensor:
        """Of each probe with each row: the cosine by the length of the probe, or `HIDDEN`."""
        if torch.get_float32_matmul_precision() != "highest":
            raise NoCard("products are not taken in single precision here")
        if self._mask is not seen:
            self._mask = seen
            self._hidden = torch.from_numpy(seen).to(self._device).logical_not()
        rows = len(seen)
        probes = torch.from_numpy(asked.astype(np.float32)).to(self._device)
        scores = probes @ self._vectors[:rows].T
        scores.mul_(self._scales[:rows]).clamp_(min=0.0)
        return scores.masked_fill_(self._hidden, HIDDEN)

    def _grow(self, rows: int, width: int) -> None:
        capacity = max(LEAST_ROWS, rows, int(GROWTH * len(self._vectors)))
        wanted = 4 * capacity * (width + 1)
        if wanted > self._room():
            raise NoCard(f"{capacity} rows take {wanted} bytes, for which it has no room")
        known = len(self._vectors)
        vectors = torch.zeros((capacity, width), device=self._device)
        scales = torch.zeros(capacity, device=self._device)
        if known:
            vectors[:known], scales[:known] = self._vectors, self._scales
        self._vectors, self._scales = vectors, scales


def free_bytes(device: torch.device) -> int:
    """What may still be taken of a card; as much as wanted of a processor's memory."""
    if device.type != "cuda":
        return 2**62
    free, whole = torch.cuda.mem_get_info(device)
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return free + kept - whole // KEPT_FREE
