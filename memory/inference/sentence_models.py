"""The one door to torch, transformers and sentence-transformers, with `features` and `packed`
behind it; importing it takes seconds.

Reached only through `loading.open_embedder` and `loading.open_reranker`, in the worker thread.
"""

import copy
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import (
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)
from sentence_transformers import CrossEncoder, SentenceTransformer
from transformers.utils import logging as transformers_logging

from memory.inference.captured import CapturedModel, capture
from memory.inference.card import Card
from memory.inference.features import SAMPLES, FeatureBuilder, find_builder, forward
from memory.inference.loading import ModelChoice, ModelFolder, find_model
from memory.inference.packed import pack
from memory.inference.segments import DeviceSegment
from memory.inference.tokenizing import (
    MAX_TOKEN_IDS,
    PlainTokenizer,
    mean,
    plain_tokenizer,
    unknown_share,
)
from memory.inference.windows import TextWindow, cut, groups_of_like_length
from memory.kernel.errors import Unavailable
from memory.kernel.ports import Embedding, ModelIdentity

logger = logging.getLogger("memlift")
# A progress bar in a server's log is noise.
transformers_logging.disable_progress_bar()


# Padded pieces in one pass; larger passes gain nothing on two cores and cost memory.
PIECES_IN_A_PASS = 8_192


# A model that names no window of its own gets that of BERT.
USUAL_WINDOW = 512


HUB_SECONDS = 15.0
"""For the first answer of the hub."""


WANTED_FILES = ["*.safetensors", "*.json", "*.txt", "*.model"]


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """A sentence-transformers model.

    A text longer than the model's window becomes the mean of its windows' unit vectors, so that no
    word is lost. Token ids are those of the whole text without special tokens, at most
    `MAX_TOKEN_IDS`. `builder` makes the model's input from them; None where only the library
    can; `captured` replays it on a card, where that is quicker. `backend` says in words how it
    computes.
    """

    model: SentenceTransformer
    identity: ModelIdentity
    tokenizer: PlainTokenizer
    window: int
    builder: FeatureBuilder | None
    captured: CapturedModel | None
    backend: str

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One vector a text, not yet checked nor of unit length."""
        pieces = [self.tokenizer.pieces(text) for text in texts]
        windows = [cut(text, p, self.window) for text, p in zip(texts, pieces, strict=True)]
        rows = self._rows([window for several in windows for window in several])
        embeddings: list[Embedding] = []
        for text, several, text_pieces in zip(texts, windows, pieces, strict=True):
            own, rows = rows[: len(several)], rows[len(several) :]
            ids = tuple(text_pieces.ids[:MAX_TOKEN_IDS])
            embeddings.append(
                Embedding(mean(own), ids, unknown_share(self.tokenizer, text, text_pieces))
            )
        return embeddings

    def card(self, worker: Executor) -> Card | None:
        """Where it computes, if that is no processor."""
        device = self.model.device
        return Card(worker, lambda: DeviceSegment(device)) if device.type == "cuda" else None

    def _rows(self, windows: Sequence[TextWindow]) -> npt.NDArray[np.float32]:
        rows = np.empty((len(windows), self.identity.width), dtype=np.float32)
        ids = [self._ids(window) for window in windows]
        for group in groups_of_like_length([len(one) for one in ids], PIECES_IN_A_PASS):
            rows[group] = self._pass(
                [windows[place].text for place in group], [ids[place] for place in group]
            ).numpy()
        return rows

    def _pass(self, texts: list[str], ids: list[list[int]]) -> torch.Tensor:
        """Sentence vectors of windows, in the processor's memory, float32."""
        if self.captured is not None and (rows := self.captured.rows(ids)) is not None:
            return rows
        if self.builder is None:
            return forward(self.model, _preprocess(self.model, texts)).float().cpu()
        return forward(self.model, self.builder.build(ids)).float().cpu()

    def token_vectors(self, texts: Sequence[str]) -> list[npt.NDArray[np.float16]]:
        """The unit vectors of the pieces of each text, (pieces, width), at most `MAX_TOKEN_IDS` of
        them; those of a long text come from its windows one after another. Raises Unavailable
        where the model's input is not made from ids.
        """
        if self.builder is None:
            raise Unavailable("This model does not say which vector is whose.", code="no_tokens")
        pieces = [self.tokenizer.pieces(text) for text in texts]
        windows = [cut(text, p, self.window) for text, p in zip(texts, pieces, strict=True)]
        ids = [self._ids(window) for several in windows for window in several]
        made: list[npt.NDArray[np.float16]] = [np.empty((0, 0), np.float16)] * len(ids)
        first = len(self.builder.before)
        for group in groups_of_like_length([len(one) for one in ids], PIECES_IN_A_PASS):
            features = self.builder.build([ids[place] for place in group])
            rows = forward(self.model, features, "token_embeddings").float().cpu().numpy()
            for row, place in zip(rows, group, strict=True):
                own = row[first : first + len(ids[place])]
                made[place] = (own / np.linalg.norm(own, axis=1, keepdims=True)).astype(np.float16)
        parts = iter(made)
        whole = (np.concatenate([next(parts) for _ in several]) for several in windows)
        return [vectors[:MAX_TOKEN_IDS] for vectors in whole]

    def _ids(self, window: TextWindow) -> list[int]:
        """Those of the window alone, as a model is to read it."""
        return self.tokenizer.pieces(window.text).ids if window.inside_word else window.ids


def _preprocess(model: SentenceTransformer, texts: list[str]) -> dict[str, Any]:
    return model.preprocess(texts, prompt=_prompt(model) or None)


@dataclass(frozen=True, slots=True)
class PairModel:
    """A cross-encoder with one score; a pair longer than its window is cut at the window."""

    model: CrossEncoder
    identity: ModelIdentity

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The sigmoid of the score of each pair."""
        scores = self.model.predict(
            list(pairs),
            batch_size=64,
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
            convert_to_tensor=True,
        )
        return torch.sigmoid(scores.double()).cpu().tolist()


def open_sentence_model(choice: ModelChoice) -> SentenceModel:
    """Find, check and load an embedding model."""
    folder = find_model(choice, _fetch)
    model = SentenceTransformer(str(folder.path), **_options(choice)).eval()
    width = model.get_embedding_dimension()
    if width is None:
        raise Unavailable(
            f"Model {choice.name!r} does not say how wide its vectors are: choose another model.",
            code="model_format",
        )
    tokenizer = _plain_tokenizer(model, folder)
    special = len(tokenizer.tokenizer.encode("").ids) + len(tokenizer.pieces(_prompt(model)).ids)
    window = (model.max_seq_length or USUAL_WINDOW) - special
    builder = find_builder(model, tokenizer, _prompt(model))
    captured = None
    if model.device.type == "cuda":
        ids = [tokenizer.pieces(text).ids for text in SAMPLES]
        captured, backend = capture(model, builder, ids)
    else:
        backend = pack(
            model,
            lambda: forward(model, _preprocess(model, list(SAMPLES))),
            lambda: forward(model, _preprocess(model, [SAMPLES[0]])),
        )
    identity = folder.identity(choice.dtype, width)
    return SentenceModel(model, identity, tokenizer, window, builder, captured, backend)


def open_pair_model(choice: ModelChoice) -> PairModel:
    """Find, check and load a cross-encoder."""
    folder = find_model(choice, _fetch)
    model = CrossEncoder(str(folder.path), **_options(choice)).eval()
    if model.num_labels != 1:
        raise Unavailable(
            f"Reranker {choice.name!r} gives {model.num_labels} scores a pair instead of one: "
            "choose a cross-encoder trained for relevance.",
            code="model_format",
        )
    return PairModel(model, folder.identity(choice.dtype, 1))


def _options(choice: ModelChoice) -> dict[str, Any]:
    return {
        "device": _device(choice),
        "trust_remote_code": False,
        "local_files_only": True,
        "model_kwargs": {"dtype": getattr(torch, choice.dtype), "use_safetensors": True},
    }


def _device(choice: ModelChoice) -> str:
    """What libraries call the device; one of several cards is this thread's from here on."""
    if choice.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(choice.device)
    if device.type == "cuda":
        if (device.index or 0) >= torch.cuda.device_count():
            raise Unavailable(
                f"Device {choice.device} is asked for and {torch.cuda.device_count()} are visible:"
                " set the device to auto or cpu, MEMLIFT_CARDS to as many as there are, or install"
                " a driver and a torch build that fit the card.",
                code="no_device",
            )
        if ":" in choice.device:
            torch.cuda.set_device(device)
    return choice.device


def _plain_tokenizer(model: SentenceTransformer, folder: ModelFolder) -> PlainTokenizer:
    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise Unavailable(
            f"Model {folder.name!r} has no tokenizer.json: choose a model with a fast tokenizer.",
            code="model_format",
        )
    # The library turns cutting and padding on and off in the model's own tokenizer, call by call.
    return plain_tokenizer(copy.deepcopy(backend))


def _prompt(model: SentenceTransformer) -> str:
    return model.prompts.get(model.default_prompt_name or "") or ""


def _fetch(name: str) -> Path:
    """The folder in the local cache; where there is none, the hub is asked. Raises Unavailable."""
    full_name = name if "/" in name else f"sentence-transformers/{name}"
    try:
        cached = Path(
            snapshot_download(full_name, allow_patterns=WANTED_FILES, local_files_only=True)
        )
        if _is_whole(cached):
            return cached
    except HFValidationError:
        raise Unavailable("that is no name of a model on the hub") from None
    except LocalEntryNotFoundError:
        pass
    if constants.HF_HUB_OFFLINE:
        raise Unavailable("nothing is fetched unless HF_HUB_OFFLINE=0 is set")
    logger.warning("fetching the model %s from %s", full_name, constants.ENDPOINT)
    revision = _ask_hub(full_name)
    return Path(snapshot_download(full_name, revision=revision, allow_patterns=WANTED_FILES))


def _is_whole(snapshot: Path) -> bool:
    """Whether no download into the cache was broken off: the next one goes on with it."""
    begun = (snapshot.parents[1] / "blobs").glob("*.incomplete")
    return any(snapshot.rglob("*.safetensors")) and not any(begun)


def _ask_hub(full_name: str) -> str | None:
    """The newest revision. In a thread of its own: the library tries each address of the hub
    several times, which takes minutes where nothing answers.
    """
    answers: Queue[str | Exception | None] = Queue()

    def ask() -> None:
        try:
            answers.put(HfApi().model_info(full_name, timeout=HUB_SECONDS).sha)
        except Exception as fault:  # noqa: BLE001 - told below
            answers.put(fault)

    threading.Thread(target=ask, name="ask-hub", daemon=True).start()
    try:
        answer = answers.get(timeout=HUB_SECONDS)
    except Empty:
        why = f"{constants.ENDPOINT} did not answer within {HUB_SECONDS:.0f} s"
        raise Unavailable(why) from None
    if isinstance(answer, RepositoryNotFoundError):
        raise Unavailable(f"{constants.ENDPOINT} has none of that name, or it is private")
    if isinstance(answer, Exception):
        raise Unavailable(f"{constants.ENDPOINT} cannot be reached") from answer
    return answer
