"""Tasks, attempts and served notes for tests of the demonstration."""

from random import Random

from memlift_client import ServedMemory

from clients.demo.snippets.play import MEMLIFT, Attempt
from clients.demo.snippets.tasks import TOPICS, deal_task
from clients.demo.snippets.topic import Task, Topic
from tests.fixtures.answers import made


def topic_of(key: str) -> Topic:
    return next(topic for topic in TOPICS if topic.key == key)


def a_task(key: str = "prefix", *, hard: bool = True, seed: int = 100) -> Task:
    return deal_task(topic_of(key), Random(f"{key} {seed}"), 0, hard=hard)


def a_note_served(lesson: str, rank: int = 1) -> ServedMemory:
    return made(ServedMemory, memory_id=f"m-{rank}", rank=rank, lesson=lesson, cited=True)


def an_attempt(place: int, arm: str = MEMLIFT, topic: str = "prefix", **changes: object) -> Attempt:
    members: dict[str, object] = {
        "arm": arm,
        "place": place,
        "topic": topic,
        "hard": True,
        "text": "Take it off.",
        "passed": True,
        "detail": "",
    }
    return Attempt(**{**members, **changes})  # pyright: ignore[reportArgumentType] - by name
