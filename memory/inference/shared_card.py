"""Rows on the card of another process: what a worker asks of its owner, and what the owner holds.

A worker sends its rows once and asks about them after that. The rows belong to the line on which
they were sent: they go with it, and an owner that was started anew is sent them again. Vectors
travel as the halves that they are, and a mask only where it is not that of the question before.
"""

import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from memory.inference.card import Card, NoCard, RowsLost, Segment

Frame = tuple[Mapping[str, Any], bytes]
"""An object and bytes."""

WRITE, NEAREST = "write", "nearest"

SMALLEST = 20_000
"""Fewer rows are searched by the worker itself: the way to another process, and one more copy on
the card, are worth it where a product takes milliseconds.
"""


class CardLine(Protocol):
    """A connection to the owner; see `shared.OwnerLine`."""

    def ask(self, words: Mapping[str, Any], numbers: bytes = b"") -> Frame: ...

    def close(self) -> None: ...


class SharedCard:
    """The card of the owner, for one worker, by a line and a thread of its own."""

    def __init__(self, line: CardLine) -> None:
        self._line = line
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="card")
        self._numbers = count(1)
        self._gone: list[int] = []
        self.card = Card(self._worker, self._open, SMALLEST)

    def close(self) -> None:
        self._line.close()
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _open(self) -> Segment:
        segment = SharedSegment(self, next(self._numbers))
        weakref.finalize(segment, self._gone.append, segment.number)
        return segment

    def ask(self, words: Mapping[str, Any], numbers: bytes) -> Frame:
        """With what is no longer wanted there. Raises NoCard as the owner says it."""
        gone = [self._gone.pop() for _ in range(len(self._gone))]
        answer = self._line.ask({**words, "gone": gone}, numbers)
        said = answer[0]
        if "no_card" in said:
            raise (RowsLost if said["lost"] else NoCard)(said["no_card"])
        return answer


class SharedSegment:
    """Rows that the owner holds."""

    def __init__(self, card: SharedCard, number: int) -> None:
        self._card = card
        self.number = number
        self._mask: npt.NDArray[np.bool_] | None = None
        self.bytes = 0

    def write(
        self, start: int, vectors: npt.NDArray[np.float32], scales: npt.NDArray[np.float64]
    ) -> None:
        words = {"ask": WRITE, "segment": self.number, "start": start, "shape": vectors.shape}
        numbers = vectors.astype(np.float16).tobytes() + scales.tobytes()
        said, _ = self._card.ask(words, numbers)
        self.bytes = int(said["bytes"])

    def nearest(
        self,
        asked: npt.NDArray[np.float16],
        seen: npt.NDArray[np.bool_],
        size: int,
        margin: float,
    ) -> list[npt.NDArray[np.intp]]:
        is_new = self._mask is not seen
        words = {
            "ask": NEAREST,
            "segment": self.number,
            "shape": asked.shape,
            "seen": len(seen) if is_new else None,
            "size": size,
            "margin": margin,
        }
        mask = np.packbits(seen).tobytes() if is_new else b""
        # Only a mask that has arrived may be left out the next time.
        self._mask = None
        said, numbers = self._card.ask(words, asked.tobytes() + mask)
        self._mask = seen
        slots = np.frombuffer(numbers, dtype=np.int64).astype(np.intp)
        return np.split(slots, np.cumsum(said["counts"])[:-1])


class HeldSegments:
    """In the owner: the rows of one line."""

    def __init__(self) -> None:
        self._segments: dict[int, Segment] = {}
        self._masks: dict[int, npt.NDArray[np.bool_]] = {}

    async def answer(self, card: Card | None, words: Mapping[str, Any], numbers: bytes) -> Frame:
        """What is answered; where the card cannot, it says so."""
        for number in words["gone"]:
            self._segments.pop(number, None)
            self._masks.pop(number, None)
        if card is None:
            return {"no_card": "the owner has no card", "lost": False}, b""
        try:
            if words["ask"] == WRITE:
                return await card.run(self._write, card, words, numbers)
            return await card.run(self._nearest, words, numbers)
        except NoCard as fault:
            return {"no_card": str(fault), "lost": isinstance(fault, RowsLost)}, b""

    def _write(self, card: Card, words: Mapping[str, Any], numbers: bytes) -> Frame:
        rows, width = words["shape"]
        start, number = words["start"], words["segment"]
        if not start:
            self._segments[number] = card.open()
        halves = np.frombuffer(numbers, dtype=np.float16, count=rows * width)
        scales = np.frombuffer(numbers, dtype=np.float64, offset=halves.nbytes)
        segment = self._find(number)
        segment.write(start, halves.astype(np.float32).reshape(rows, width), scales.copy())
        return {"bytes": segment.bytes}, b""

    def _nearest(self, words: Mapping[str, Any], numbers: bytes) -> Frame:
        segment, number = self._find(words["segment"]), words["segment"]
        probes, width = words["shape"]
        asked = np.frombuffer(numbers, dtype=np.float16, count=probes * width)
        if words["seen"] is not None:
            bits = np.frombuffer(numbers, dtype=np.uint8, offset=asked.nbytes)
            self._masks[number] = np.unpackbits(bits, count=words["seen"]).astype(np.bool_)
        if number not in self._masks:
            raise RowsLost("the mask was not sent")
        asked = asked.reshape(probes, width)
        found = segment.nearest(asked, self._masks[number], words["size"], words["margin"])
        slots = np.concatenate(found).astype(np.int64)
        return {"counts": [len(one) for one in found]}, slots.tobytes()

    def _find(self, number: int) -> Segment:
        if number not in self._segments:
            raise RowsLost("the owner has these rows no longer")
        return self._segments[number]
