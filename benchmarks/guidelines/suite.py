"""Suite `guidelines`: what an agent is handed, and what the bank keeps.

A corpus of lessons is brought over HTTP, every task is asked with memory on and nothing drawn at
random, and the guidelines are read back as an agent would. Pairs and corrections have namespaces of
their own. With `--data DIR`, recorded reflections are replayed as memories. With `--model NAME` a
second server compiles with that language model; without one those rows are not run.

OUT/guidelines.txt has every guideline with its task, and what the first release said, for whoever
reads them.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from memlift_client import MemLift, MemLiftProblem, RetryPolicy

from benchmarks.bench import Bench, Served
from benchmarks.guidelines import keeping, reflections, served
from benchmarks.guidelines.corpus import AskedTask, Corpus, Lesson, read_corpus
from benchmarks.guidelines.served import Answer, Asking
from benchmarks.guidelines.targets import targets
from benchmarks.harness import server_for
from benchmarks.suites.plan import Suite
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.tokens import EmbedderTokenCounter

NAME = "guidelines"
SETTINGS = {"k": 3}
UNLIMITED = {"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"}
PATIENT = "60"
"""Seconds that a retrieval waits for the language model: its words are read here, not its speed."""
TEXTS = "guidelines.txt"
NOT_FOUND = 404


def options(parser: argparse.ArgumentParser) -> None:
    """What the command takes beside the server's options."""
    parser.add_argument("--data", type=Path, help="a folder with agent_runs/, for reflections")
    parser.add_argument("--model", help="a language model that compiles, as PROVIDER/MODEL")
    parser.add_argument("--api-base", help="where it is served")


def suite(given: argparse.Namespace) -> Suite:
    """The suite as the command line says; its first server compiles by rule."""
    if given.model is not None and given.url is not None:
        raise SystemExit("--model starts a server of its own: leave out --url")
    return Suite(
        about="what an agent is handed, and what the bank keeps",
        settings=SETTINGS,
        server=UNLIMITED,
        run=lambda bench: run(bench, given),
        targets=targets,
    )


def run(bench: Bench, given: argparse.Namespace) -> None:
    corpus = read_corpus()
    counter = asyncio.run(_load_counter())
    with _open(bench.server) as client:
        slug = _free_slug(client)
        asking = _fill(bench, client, f"{slug}-served", tuple(corpus.lessons.values()))
        answers = asking.ask_all(corpus.tasks)
        before = served.compile_before(answers)
        _write(given.out / TEXTS, answers, before)
        served.say_places(bench, answers)
        served.say_tokens(bench, answers, before, counter)
        served.say_ways(bench, asking, corpus.tasks)
        code = [*(one for one in corpus.lessons.values() if one.is_code), *corpus.code]
        _check_texts(bench, answers, _read_code(_fill(bench, client, f"{slug}-code", code), code))
        keeping.keep_pairs(bench, client, slug, corpus.pairs)
        keeping.keep_sayings(bench, client, slug, corpus.sayings)
        if given.data is not None:
            reflections.replay(bench, client, slug, given.data)
    if given.model is not None:
        _ask_with_model(bench, given, corpus, counter)


async def _load_counter() -> EmbedderTokenCounter:
    """The counter that the server's own figures are of: that of the bundled model."""
    embedder = LocalEmbedder(EmbedderPolicy())
    embedder.start()
    await embedder.wait_until_ready()
    return EmbedderTokenCounter(embedder)


def _fill(bench: Bench, client: MemLift, slug: str, lessons: Sequence[Lesson]) -> Asking:
    known = served.fill(client, slug, lessons)
    return Asking(client.within(slug), known, bench.settings["k"])


def _read_code(asking: Asking, code: Sequence[Lesson]) -> list[Answer]:
    """Each text with code asked for by its situation, so that all are read."""
    tasks = [AskedTask(one.id, one.trade, one.language, one.situation, one.id) for one in code]
    return asking.ask_all(tasks)


def _check_texts(bench: Bench, answers: Sequence[Answer], code: Sequence[Answer]) -> None:
    found = served.count_equal([*answers, *code])
    read = {lesson.id for one in code for lesson in one.lessons if lesson.is_code}
    bench.number("notes_read", found.notes, "notes")
    bench.number("code_texts", len(code), "texts")
    bench.number("code_texts_read", len(read), "texts")
    bench.number("texts_changed", found.changed, "notes")


def _ask_with_model(
    bench: Bench, given: argparse.Namespace, corpus: Corpus, counter: EmbedderTokenCounter
) -> None:
    """The rows of guidelines once more, in the words of a language model."""
    settings = {"MEMLIFT_LLM_MODEL": given.model, "MEMLIFT_LLM_COMPILE_TIMEOUT": PATIENT}
    if given.api_base is not None:
        settings["MEMLIFT_LLM_API_BASE"] = given.api_base
    own = replace(suite(given), server={**UNLIMITED, **settings})
    with server_for(own, None) as server, _open(server) as client:
        asking = _fill(bench, client, NAME, tuple(corpus.lessons.values()))
        answers = asking.ask_all(corpus.tasks)
        _write(given.out / f"model-{TEXTS}", answers, {})
        served.say_places(bench, answers, "model_")
        served.say_model_tokens(bench, answers, counter)


def _open(server: Served) -> MemLift:
    return MemLift(server.url, server.key, retry_policy=RetryPolicy(timeout=600.0))


def _write(path: Path, answers: Sequence[Answer], before: Mapping[str, str]) -> None:
    parts = [
        f"{one.task.id} (right: {one.task.right}, at place {_say_place(one)} of"
        f" {', '.join(lesson.id for lesson in one.lessons) or 'none'})\n{one.task.text}\n\n"
        f"{one.text}\n\nThe first release:\n{before.get(one.task.id, 'not at hand')}\n"
        for one in answers
    ]
    path.write_text(("-" * 80 + "\n").join(parts), encoding="utf-8")


def _say_place(answer: Answer) -> str:
    return "none" if answer.place is None else str(answer.place + 1)


def _free_slug(client: MemLift) -> str:
    """Numbered where earlier runs have left theirs."""
    for number in count(1):
        slug = f"bench-guidelines-{number}"
        try:
            client.within(f"{slug}-served").get_namespace()
        except MemLiftProblem as problem:
            if problem.status == NOT_FOUND:
                return slug
            raise
    raise AssertionError("numbers do not end")
