"""Models in a process of their own, which several serving processes ask over a local socket.

`owner` answers; here is what a serving process has in place of a loaded model, and the form of
what travels. A frame is two lengths, a JSON object and bytes; vectors travel as the float32 that
the model gave, so they are the same bits as those of a model loaded here. While the owner computes
it says so every second: silence, or a line that breaks, is a fault at once, never a wait.
"""

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, cast

import numpy as np
from tokenizers import Tokenizer as FastTokenizer

from memory.inference.card import Card
from memory.inference.loading import Tokenizer
from memory.inference.shared_card import Frame, SharedCard
from memory.inference.tokenizing import plain_tokenizer
from memory.kernel.errors import Overloaded, Unavailable
from memory.kernel.ports import Embedding, ModelIdentity

HEAD = struct.Struct("!II")
SILENCE = 10.0
"""Seconds without a word after which the owner is taken for gone."""

COME_BACK = 2.0
"""Seconds after which a caller may ask again: an owner that was started anew loads that long."""

TRIED_EVERY = 0.25
"""Seconds between two tries to reach an owner that is away."""

HELLO, EMBED, RERANK, STAY, STATS = "hello", "embed", "rerank", "stay", "stats"
EMBEDDER, RERANKER = "embedder", "reranker"
FAULTS = {Overloaded.code: Overloaded, Unavailable.code: Unavailable}
AWAY, SILENT = "model_away", "model_silent"
"""Kinds of faults: nobody is there, and somebody is who does not say a word."""


def packed(words: Mapping[str, Any], numbers: bytes = b"") -> bytes:
    """A frame as it travels."""
    text = json.dumps(words).encode()
    return HEAD.pack(len(text), len(numbers)) + text + numbers


STILL_HERE = HEAD.pack(0, 0)
"""The frame that says nothing but that the owner is there."""


def written_embeddings(made: Sequence[Embedding]) -> tuple[Mapping[str, Any], bytes]:
    """As `read_embeddings` reads them: vectors (texts, width) float32, then all ids as int32."""
    counts = [len(one.token_ids) for one in made]
    vectors = np.stack([one.vector for one in made]).astype(np.float32)
    ids = np.array([number for one in made for number in one.token_ids], dtype=np.int32)
    words = {"counts": counts, "unknown": [one.unknown_share for one in made]}
    return words, vectors.tobytes() + ids.tobytes()


def read_embeddings(words: Mapping[str, Any], numbers: bytes, width: int) -> list[Embedding]:
    """One embedding a text, its vector of `width` components."""
    counts, unknown = words["counts"], words["unknown"]
    end = len(counts) * width * np.dtype(np.float32).itemsize
    vectors = np.frombuffer(numbers[:end], dtype=np.float32).reshape(len(counts), width)
    ids = iter(np.frombuffer(numbers[end:], dtype=np.int32).tolist())
    return [
        Embedding(vector, tuple(next(ids) for _ in range(count)), share)
        for vector, count, share in zip(vectors, counts, unknown, strict=True)
    ]


class OwnerLine:
    """One connection to the owner, for one question at a time; made anew where it broke."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._closed = False

    def ask(self, words: Mapping[str, Any], numbers: bytes = b"") -> Frame:
        """The answer. Raises Unavailable where the owner is away, or what it raised."""
        with self._lock:
            was_open = self._socket is not None
            try:
                answer = self._try(words, numbers)
            except Unavailable as fault:
                # A line may have outlived the owner it led to: the next one may be there already.
                if not was_open or self._closed or fault.kind == SILENT:
                    raise
                answer = self._try(words, numbers)
        if (fault := answer[0].get("fault")) is not None:
            raise _raised(fault)
        return answer

    def close(self) -> None:
        """Wake whoever waits for an answer; there are no more."""
        self._closed = True
        self._hang_up()

    def _try(self, words: Mapping[str, Any], numbers: bytes) -> Frame:
        try:
            return self._exchange(words, numbers)
        except TimeoutError:
            self._hang_up()
            raise _away(SILENT) from None
        except (OSError, EOFError):
            self._hang_up()
            raise _away(AWAY) from None

    def _exchange(self, words: Mapping[str, Any], numbers: bytes) -> Frame:
        line = self._open()
        line.sendall(packed(words, numbers))
        while True:
            words_length, numbers_length = HEAD.unpack(_received(line, HEAD.size))
            if words_length:
                answer = json.loads(_received(line, words_length))
                return answer, _received(line, numbers_length)

    def _open(self) -> socket.socket:
        if self._socket is None:
            line = socket.socket(socket.AF_UNIX)
            line.settimeout(SILENCE)
            self._socket = line
            line.connect(str(self._place))
        return self._socket

    def _hang_up(self) -> None:
        line, self._socket = self._socket, None
        if line is not None:
            # Closing alone would not wake a thread that reads from it.
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()


def _received(line: socket.socket, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = line.recv(min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _away(kind: str) -> Unavailable:
    return Unavailable(
        "The process that holds the model is away and is being started again.",
        code=kind,
        retry_after=COME_BACK,
    )


def _raised(fault: Mapping[str, Any]) -> Overloaded | Unavailable:
    kind = FAULTS[fault["class"]]
    return kind(
        fault["detail"],
        code=fault["kind"],
        limit=fault["limit"],
        retry_after=fault["retry_after"],
    )


class OwnerWatch:
    """Knows within a moment whether the owner is there, by a line of its own; in a thread, for a
    model that is asked from a thread. `told` hears why it cannot be asked, again and again, and
    None when it can.
    """

    def __init__(self, place: Path, told: Callable[[Unavailable | None], None]) -> None:
        self._line = OwnerLine(place)
        self._told = told
        self._ending = threading.Event()
        threading.Thread(target=self._keep, name="owner-watch", daemon=True).start()

    def close(self) -> None:
        self._ending.set()
        self._line.close()

    def _keep(self) -> None:
        while not self._ending.is_set():
            try:
                self._line.ask({"ask": HELLO})
                self._told(None)
                self._line.ask({"ask": STAY})
            except (Unavailable, Overloaded) as fault:
                if not self._ending.is_set():
                    self._told(cast("Unavailable", fault))
            self._ending.wait(TRIED_EVERY)


class SharedEmbedder:
    """The embedder of the owner. Blocks in the worker thread; the first question waits until the
    owner has loaded its model.
    """

    def __init__(self, place: Path) -> None:
        self._line = OwnerLine(place)
        words, numbers = self._line.ask({"ask": HELLO})
        said = words[EMBEDDER]
        self.identity = ModelIdentity(*said["identity"])
        self.backend: str = said["backend"]
        tokenizer = FastTokenizer.from_str(numbers.decode())
        self.tokenizer: Tokenizer = plain_tokenizer(tokenizer)
        self.absence: str | None = None
        self._card = SharedCard(OwnerLine(place)) if said["card"] else None
        self._watch = OwnerWatch(place, self._note)

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One vector a text, as the model gave it."""
        words, numbers = self._line.ask({"ask": EMBED, "items": list(texts)})
        _require_same(self.identity, words)
        return read_embeddings(words, numbers, self.identity.width)

    def card(self, worker: Executor) -> Card | None:  # noqa: ARG002 - that of the owner has its own
        return None if self._card is None else self._card.card

    def close(self) -> None:
        self._watch.close()
        self._line.close()
        if self._card is not None:
            self._card.close()

    def _note(self, fault: Unavailable | None) -> None:
        self.absence = None if fault is None else fault.detail


class SharedReranker:
    """The reranker of the owner; see `SharedEmbedder`."""

    def __init__(self, place: Path) -> None:
        self._line = OwnerLine(place)
        words, _ = self._line.ask({"ask": HELLO})
        self.identity = ModelIdentity(*words[RERANKER]["identity"])

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Relevance in [0, 1] of each (task, text) pair."""
        words, _ = self._line.ask({"ask": RERANK, "items": [list(pair) for pair in pairs]})
        _require_same(self.identity, words)
        return [float(value) for value in words["relevance"]]

    def close(self) -> None:
        self._line.close()


def _require_same(identity: ModelIdentity, words: Mapping[str, Any]) -> None:
    """An owner that was started again may have found other files where its model was."""
    if ModelIdentity(*words["identity"]) != identity:
        raise Unavailable(
            f"The model {identity.name} on disk is not the one this server began with: put it back,"
            " or start the server again.",
            code="model_changed",
        )
