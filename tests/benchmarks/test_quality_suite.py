"""The figures of suite `quality`, from rows whose answer is known."""

import gzip
import json

import numpy as np
import pytest

from benchmarks.kernels.quality.data import clean, read_collection, save
from benchmarks.kernels.quality.suite import interval, ndcg, summarise, told

RANKERS = ("cosine", "BM25", "cosine + BM25", "fusion")


def test_the_gain_is_discounted_by_place():
    assert ndcg([5, 3], frozenset({5})) == 1.0
    assert ndcg([3, 5], frozenset({5})) == pytest.approx(1 / np.log2(3))
    assert ndcg(list(range(10)), frozenset({11})) == 0.0
    assert ndcg([1, 2], frozenset({1, 2})) == pytest.approx(1.0)


def test_a_test_query_is_clean_where_no_answer_was_seen_in_training(tmp_path):
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt") as file:
        for name in "abc":
            file.write(json.dumps({"doc_id": name, "title": "T", "text": name}) + "\n")
    with gzip.open(tmp_path / "queries.jsonl.gz", "wt") as file:
        for name, part in (("1", "train"), ("2", "test"), ("3", "test")):
            file.write(json.dumps({"query_id": name, "text": "q", "split": part}) + "\n")
    (tmp_path / "qrels.tsv").write_text("1\ta\t1\n2\ta\t1\n2\tb\t1\n3\tc\t1\n")

    collection = read_collection(tmp_path)

    assert collection.texts == ["T a", "T b", "T c"]
    assert [query.answers for query in collection.queries] == [{0}, {0, 1}, {2}]
    assert clean(collection.queries) == [2]


def test_an_interval_holds_its_mean_and_says_when_all_agree():
    found = interval(np.array([0.1, 0.0, 0.3, 0.2] * 20))

    assert found["mean"] == pytest.approx(0.15)
    assert found["low"] < found["mean"] < found["high"]
    assert interval(np.full(9, 0.25)) == {"mean": 0.25, "low": 0.25, "high": 0.25}


def test_a_summary_compares_fusion_with_the_others_on_all_and_on_the_clean():
    scores = dict(zip(RANKERS, (0.5, 0.6, 0.7, 0.8), strict=True))
    rows = [
        {"query": str(number), "clean": number < 5, "ranker": ranker, "ndcg": score}
        for number in range(20)
        for ranker, score in scores.items()
    ]

    summary = summarise(rows)

    assert summary["ndcg@10"]["clean"]["queries"] == 5
    assert {target["status"] for target in summary["targets"]} == {"met"}
    assert len(summary["targets"]) == 5
    assert any("fusion over cosine" in line and "+0.300" in line for line in told(summary))


def test_ragged_rows_are_kept_whole(tmp_path):
    save(
        tmp_path / "a.npz",
        [np.ones(2, np.float32)] * 2,
        [[1, 2], []],
        [np.ones((2, 3), np.uint8), np.ones((0, 3), np.uint8)],
    )

    with np.load(tmp_path / "a.npz") as kept:
        assert kept["piece_starts"].tolist() == [0, 2, 2]
        assert kept["tokens"].shape == (2, 3)
