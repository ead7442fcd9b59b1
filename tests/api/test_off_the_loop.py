"""What takes the processor for a while does so beside the event loop, which goes on answering."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from api_builders import an_ask, an_experience, inside, remembered, retrieved

from memory.constraints import bank
from memory.experiences import service as experiences
from memory.retrieval import service as retrieval
from server import routing

Watch = Callable[[object, str], list[bool]]


@pytest.fixture
def watch(monkeypatch) -> Watch:
    """Whether each call of a function ran on the loop's own thread."""

    def watched(module: object, name: str) -> list[bool]:
        inner = getattr(module, name)
        on_loop: list[bool] = []

        def noting(*parts: Any, **named: Any) -> Any:
            on_loop.append(threading.current_thread() is threading.main_thread())
            return inner(*parts, **named)

        monkeypatch.setattr(module, name, noting)
        return on_loop

    return watched


async def test_a_wording_is_linted_beside_the_loop(client, namespace, watch):
    linted, read = watch(bank, "lint"), watch(bank, "literals_of")

    made = await client.post(
        inside(namespace, "/constraints"),
        json={
            "agent": "curator",
            "trigger": "a sum of parts is asked for and the parts are in different units",
            "enforce": "converting every part to the unit of the answer",
            "task": {"text": "for x in " * 880, "category": "mathematics"},
        },
    )

    assert made.status_code == 201, made.text
    assert linted == read == [False]


async def test_a_guideline_of_long_texts_is_compiled_beside_the_loop(client, namespace, watch):
    for month in ("June", "July", "August"):
        await remembered(client, namespace, lesson=f"Look at every {month} of the record. " * 90)
    assembled = watch(retrieval, "assemble")

    await retrieved(client, namespace)
    await client.post(inside(namespace, "/retrievals/batch"), json={"items": [an_ask(), an_ask()]})

    assert assembled == [False] * 3


async def test_echoes_are_looked_for_beside_the_loop(client, namespace, watch):
    await remembered(client, namespace)
    await retrieved(client, namespace)
    compared = watch(experiences, "_compare")

    await remembered(client, namespace, lesson="Something new about the month of June")

    assert compared == [False]


async def test_a_large_body_is_parsed_beside_the_loop_and_a_small_one_at_once(
    client, namespace, watch
):
    parsed = watch(routing, "parsed")
    path = inside(namespace, "/experiences/batch")

    small = await client.post(path, json={"items": [an_experience()]})
    items = [an_experience(situation=f"{n} " + "s" * 900) for n in range(100)]
    large = await client.post(path, json={"items": items})

    assert (small.status_code, large.status_code) == (207, 207)
    assert parsed == [True, False]
