"""The one door to torch, transformers and sentence-transformers; importing it takes seconds.

Reached only through `loading.open_embedder` and `loading.open_reranker`, in the worker thread.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from huggingface_hub import snapshot_download
from sentence_transformers import CrossEncoder, SentenceTransformer
from sentence_transformers.util import batch_to_device
from transformers.utils import logging as transformers_logging

from memory.inference.loading import ModelChoice, ModelFolder, Pieces, find_model
from memory.inference.vectors import unit
from memory.inference.windows import cut, groups_of_like_length
from memory.kernel.errors import Unavailable
from memory.kernel.ports import Embedding, ModelIdentity

# A progress bar in a server's log is noise.
transformers_logging.disable_progress_bar()


# Ids kept with a vector: two MiniLM windows, enough for a reranker that packs pairs from them.
MAX_TOKEN_IDS = 512


# Padded pieces in one pass; larger passes gain nothing on two cores and cost memory.
PIECES_IN_A_PASS = 8_192


# A model that names no window of its own gets that of BERT.
USUAL_WINDOW = 512


WANTED_FILES = ["*.safetensors", "*.json", "*.txt", "*.model"]


@dataclass(frozen=True, slots=True)
class PlainTokenizer:
    """A model's tokenizer without cutting and padding: it never changes, so threads share it."""

    tokenizer: Any

    @property
    def kind(self) -> str:
        return type(self.tokenizer.model).__name__.lower()

    @property
    def unknown_id(self) -> int | None:
        name = getattr(self.tokenizer.model, "unk_token", None)
        return None if name is None else self.tokenizer.token_to_id(name)

    def pieces(self, text: str) -> Pieces:
        return self.tokenizer.encode(text, add_special_tokens=False)


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """A sentence-transformers model.

    A text longer than the model's window becomes the mean of its windows' unit vectors, so that no
    word is lost. Token ids are those of the whole text without special tokens, at most
    `MAX_TOKEN_IDS`.
    """

    model: SentenceTransformer
    identity: ModelIdentity
    tokenizer: PlainTokenizer
    window: int

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One vector a text, not yet checked nor of unit length."""
        pieces = [self.tokenizer.pieces(text) for text in texts]
        windows = [cut(text, p, self.window) for text, p in zip(texts, pieces, strict=True)]
        rows = self._rows([window for several in windows for window in several])
        embeddings: list[Embedding] = []
        for several, text_pieces in zip(windows, pieces, strict=True):
            own, rows = rows[: len(several)], rows[len(several) :]
            embeddings.append(Embedding(_mean(own), tuple(text_pieces.ids[:MAX_TOKEN_IDS])))
        return embeddings

    def _rows(self, windows: Sequence[str]) -> npt.NDArray[np.float32]:
        rows = np.empty((len(windows), self.identity.width), dtype=np.float32)
        lengths = [len(self.tokenizer.pieces(window).ids) for window in windows]
        for group in groups_of_like_length(lengths, PIECES_IN_A_PASS):
            rows[group] = self._forward([windows[place] for place in group])
        return rows

    def _forward(self, windows: list[str]) -> npt.NDArray[np.float32]:
        # `encode` of the library adds about two milliseconds a call (it re-sorts and walks every
        # parameter), a tenth of a single text.
        with torch.inference_mode():
            features = self.model.preprocess(windows, prompt=_prompt(self.model) or None)
            outcome = self.model(batch_to_device(features, self.model.device))
            return outcome["sentence_embedding"].float().cpu().numpy()


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
    return SentenceModel(model, folder.identity(choice.dtype, width), tokenizer, window)


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
    if choice.device == "cuda" and not torch.cuda.is_available():
        raise Unavailable(
            "Device cuda is asked for and none is visible: set the device to auto or cpu, or "
            "install a driver and a torch build that fit the card.",
            code="no_device",
        )
    if choice.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return choice.device


def _plain_tokenizer(model: SentenceTransformer, folder: ModelFolder) -> PlainTokenizer:
    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise Unavailable(
            f"Model {folder.name!r} has no tokenizer.json: choose a model with a fast tokenizer.",
            code="model_format",
        )
    # The library turns cutting and padding on and off in the model's own tokenizer, call by call.
    plain = copy.deepcopy(backend)
    plain.no_truncation()
    plain.no_padding()
    return PlainTokenizer(plain)


def _prompt(model: SentenceTransformer) -> str:
    return model.prompts.get(model.default_prompt_name or "") or ""


def _mean(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    if len(rows) == 1:
        return rows[0]
    return np.stack([unit(row, len(row)) for row in rows]).mean(axis=0)


def _fetch(name: str) -> Path:
    full_name = name if "/" in name else f"sentence-transformers/{name}"
    return Path(snapshot_download(full_name, allow_patterns=WANTED_FILES))
