"""Suite `quality`: how well each ranker orders a labelled collection, such as SciFact; no server.

Cosine, BM25 and their fusion with and without late interaction, by the functions that a server has
for them. The constants stand in the code, chosen on the train part; figures are of the test part
and of its clean queries, none of whose answers answers a train query.

OUT/run.json            revision, settings, hardware, load average before and after
OUT/measurements.jsonl  {query, part, ranker, ndcg}, one a query and ranker
OUT/summary.json        mean nDCG@10 by part and ranker, differences with their intervals, targets
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from benchmarks import harness
from benchmarks.kernels.quality.data import Encoded, Query, clean, encode, read_collection
from benchmarks.metrics import Target, at_least, written
from memory.inference.fusion import (
    WEIGHTS,
    FusionWeights,
    Opinions,
    late_interaction,
    order_head,
    unite_heads,
)
from memory.inference.lexical import Postings
from memory.kernel.identifiers import find_raw_terms

NAME = "quality"
DEPTH = 10
RESAMPLES, SEED = 10_000, 7
DENSE, LEXICAL, PAIR, FUSED = "cosine", "BM25", "cosine + BM25", "fusion"
LEAST = 0.72

Row = Mapping[str, Any]


def options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--data", type=Path, required=True, help="the folder of the collections")
    parser.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    parser.add_argument("--cache", type=Path, help="where encodings are kept; OUT unless given")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    parser.add_argument("--train", action="store_true", help="the train part, to choose constants")


def run(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Encode, rank each query with each ranker, keep the scores, and say what they amount to."""
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    stamp = harness.opening(NAME, {"resamples": RESAMPLES, "seed": SEED})
    stamp |= {"dtype": options.dtype, "weights": str(WEIGHTS)}
    collection = read_collection(options.data / "retrieval")
    cache: Path = options.cache or out
    texts = encode(collection.texts, options.dtype, cache, say, signs=True)
    asked = [query.text for query in collection.queries]
    queries = encode(asked, options.dtype, cache, say, signs=False)
    part = "train" if options.train else "test"
    places = [place for place, query in enumerate(collection.queries) if query.part == part]
    rankers = Rankers(collection.texts, texts)
    unseen = set(clean(collection.queries))
    with (out / harness.MEASUREMENTS).open("w", encoding="utf-8") as file:
        for number, place in enumerate(places):
            query, known = collection.queries[place], {"clean": place in unseen}
            _keep(file, query, known, rankers.rank(query, queries, place))
            if number % 100 == 0:
                say(f"ranked {number} of {len(places)} queries")
    rows = harness.read_rows(out)
    stamp |= harness.closing()
    harness.write(out / "run.json", stamp)
    found = summarise(rows)
    harness.write(out / "summary.json", {**stamp, **found})
    for line in told(found):
        say(line)


class Rankers:
    """The rankers over one bank of texts."""

    def __init__(self, texts: Sequence[str], encoded: Encoded) -> None:
        self._encoded = encoded
        self._pieces = Postings(encoded.pieces)
        self._raw = Postings([find_raw_terms(text) for text in texts])

    def rank(self, query: Query, encoded: Encoded, place: int) -> dict[str, list[int]]:
        """The places of the texts by each ranker, best first; only the head for fusions."""
        pieces = encoded.pieces[place]
        cosine = (self._encoded.vectors @ encoded.vectors[place]).astype(np.float64)
        raw = self._raw.scores(find_raw_terms(query.text))
        opinions = Opinions(cosine.clip(0, 1), self._pieces.scores(pieces) + WEIGHTS.raw * raw)
        head = unite_heads(opinions, WEIGHTS.head)
        late = late_interaction(
            np.asarray(encoded.tokens[place], np.float32),
            np.array([self._pieces.idf(piece) for piece in pieces]),
            [np.asarray(self._encoded.tokens[text], np.uint8) for text in head],
        )
        return {
            DENSE: np.argsort(-opinions.cosine, kind="stable")[:DEPTH].tolist(),
            LEXICAL: np.argsort(-opinions.lexical, kind="stable")[:DEPTH].tolist(),
            PAIR: _places(order_head(head, opinions, weights=FusionWeights(lexical=1.0))),
            FUSED: _places(order_head(head, opinions, late)),
        }


def _places(ordered: Sequence[tuple[int, float]]) -> list[int]:
    return [place for place, _ in ordered]


def _keep(
    file: TextIO, query: Query, known: Mapping[str, object], orders: Mapping[str, list[int]]
) -> None:
    for ranker, order in orders.items():
        row = {"query": query.id, "part": query.part, **known, "ranker": ranker}
        file.write(json.dumps(row | {"ndcg": ndcg(order, query.answers)}) + "\n")


def ndcg(order: Sequence[int], answers: frozenset[int]) -> float:
    """Discounted gain of the first ten places over the best possible, all answers being equal."""
    gains = [1 / np.log2(place + 2) for place in range(DEPTH)]
    best = sum(gains[: len(answers)])
    return sum(gain for gain, one in zip(gains, order, strict=False) if one in answers) / best


def summarise(rows: Sequence[Row]) -> dict[str, object]:
    """Means by part and ranker, and what fusion gains on the two, with a 95 % interval."""
    parts = {"all": rows, "clean": [row for row in rows if row["clean"]]}
    means: dict[str, dict[str, float]] = {}
    gains: dict[str, dict[str, Mapping[str, float]]] = {}
    for name, some in parts.items():
        scores = {ranker: _scores(some, ranker) for ranker in (DENSE, LEXICAL, PAIR, FUSED)}
        means[name] = {ranker: float(one.mean()) for ranker, one in scores.items()}
        means[name]["queries"] = len(scores[DENSE])
        gains[name] = {
            other: interval(scores[FUSED] - scores[other]) for other in (DENSE, LEXICAL, PAIR)
        }
    return {"ndcg@10": means, "gain": gains, "targets": written(targets(means, gains))}


def targets(
    means: Mapping[str, Mapping[str, float]],
    gains: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> list[Target]:
    """The least mean of all queries, and intervals above nothing."""
    aims = [at_least("fusion, all", LEAST, means["all"][FUSED], means["all"])]
    aims += [
        at_least(f"fusion over {other}, {part}, lower bound", 0.0, of[other]["low"], of[other])
        for part, of in gains.items()
        for other in (DENSE, LEXICAL)
    ]
    return aims


def _scores(rows: Sequence[Row], ranker: str) -> npt.NDArray[np.float64]:
    return np.array([row["ndcg"] for row in rows if row["ranker"] == ranker])


def interval(differences: npt.NDArray[np.float64]) -> dict[str, float]:
    """The mean of paired differences and its 95 % interval, by resampling queries."""
    chance = np.random.default_rng(SEED)
    drawn = chance.integers(0, len(differences), (RESAMPLES, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975))
    return {"mean": float(differences.mean()), "low": float(low), "high": float(high)}


def told(summary: Mapping[str, Any]) -> list[str]:
    """The summary for people."""
    lines: list[str] = []
    for part, means in summary["ndcg@10"].items():
        lines.append(f"nDCG@10, {part}, {means['queries']:.0f} queries")
        lines += [
            f"    {name:<16}{value:.3f}" for name, value in means.items() if name != "queries"
        ]
        for other, gain in summary["gain"][part].items():
            bounds = f"[{gain['low']:+.3f}, {gain['high']:+.3f}]"
            lines.append(f"    fusion over {other:<16}{gain['mean']:+.3f} {bounds}")
    for target in summary["targets"]:
        lines.append(f"{target['name']}: {target['measured']:.3f}, {target['status']}")
    return lines
