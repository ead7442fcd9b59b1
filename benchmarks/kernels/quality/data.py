"""A labelled collection and its encoding, which is kept: it takes minutes on a processor."""

import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memory.inference.fusion import Bits, sign_bits
from memory.inference.loading import Dtype, ModelChoice
from memory.inference.sentence_models import open_sentence_model
from memory.inference.vectors import unit

TEXTS_A_PASS = 64


@dataclass(frozen=True, slots=True)
class Query:
    """A question, the part it belongs to (`train` or `test`), and the places of its answers."""

    id: str
    text: str
    part: str
    answers: frozenset[int]


@dataclass(frozen=True, slots=True)
class Collection:
    """The texts, a title before each, and the queries."""

    texts: Sequence[str]
    queries: Sequence[Query]


@dataclass(frozen=True, slots=True)
class Encoded:
    """Of each text: its unit vector, its word pieces and its tokens' vectors (float16), or only
    their signs.
    """

    vectors: npt.NDArray[np.float32]
    pieces: Sequence[Sequence[int]]
    tokens: Sequence[npt.NDArray[np.float16]] | Sequence[Bits]


def read_collection(folder: Path) -> Collection:
    """`corpus.jsonl.gz`, `queries.jsonl.gz` and `qrels.tsv` of a folder."""
    documents = _lines(folder / "corpus.jsonl.gz")
    places = {document["doc_id"]: place for place, document in enumerate(documents)}
    answers: dict[str, set[int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document, _ = line.split("\t")
        answers.setdefault(query, set()).add(places[document])
    return Collection(
        [f"{document['title']} {document['text']}".strip() for document in documents],
        [
            Query(
                row["query_id"],
                row["text"],
                row["split"],
                frozenset(answers.get(row["query_id"], ())),
            )
            for row in _lines(folder / "queries.jsonl.gz")
        ],
    )


def _lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def encode(
    texts: Sequence[str], dtype: Dtype, cache: Path, say: Callable[[str], None], *, signs: bool
) -> Encoded:
    """The encoding of `texts`, from the cache where these texts were encoded so before."""
    digest = hashlib.sha256("\x00".join([dtype, str(signs), *texts]).encode()).hexdigest()
    path = cache / f"{digest[:16]}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _encode(texts, dtype, path, say, signs=signs)
    with np.load(path) as kept:
        pieces = np.split(kept["pieces"], kept["piece_starts"][1:-1])
        tokens = np.split(kept["tokens"], kept["token_starts"][1:-1])
        return Encoded(kept["vectors"], [one.tolist() for one in pieces], tokens)


def _encode(
    texts: Sequence[str], dtype: Dtype, path: Path, say: Callable[[str], None], *, signs: bool
) -> None:
    model = open_sentence_model(ModelChoice(dtype=dtype))
    vectors: list[npt.NDArray[np.float32]] = []
    pieces: list[Sequence[int]] = []
    tokens: list[npt.NDArray[Any]] = []
    for start in range(0, len(texts), TEXTS_A_PASS):
        some = texts[start : start + TEXTS_A_PASS]
        for made in model.embed(some):
            vectors.append(unit(made.vector, model.identity.width))
            pieces.append(made.token_ids)
        tokens += [sign_bits(one) if signs else one for one in model.token_vectors(some)]
        say(f"encoded {len(vectors)} of {len(texts)} texts")
    save(path, vectors, pieces, tokens)


def save(
    path: Path,
    vectors: Sequence[npt.NDArray[np.float32]],
    pieces: Sequence[Sequence[int]],
    tokens: Sequence[npt.NDArray[Any]],
) -> None:
    """Ragged rows end to end, with the place where each begins and the end of the last."""
    np.savez(
        path,
        vectors=np.stack(vectors),
        pieces=np.concatenate([np.array(one, np.int32) for one in pieces]),
        piece_starts=_starts([len(one) for one in pieces]),
        tokens=np.concatenate(tokens),
        token_starts=_starts([len(one) for one in tokens]),
    )


def _starts(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def clean(queries: Sequence[Query]) -> list[int]:
    """The places of test queries none of whose answers answers a query of the train part, so that
    nothing learned there helps.
    """
    known = frozenset[int]().union(*(query.answers for query in queries if query.part == "train"))
    return [
        place
        for place, query in enumerate(queries)
        if query.part == "test" and not query.answers & known
    ]
