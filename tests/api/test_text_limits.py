"""A text's limit holds for what is stored, in every field of every noun."""

import copy
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_builders import an_experience, inside, problem, remembered

from memory.kernel.errors import Rejected, TooLarge
from memory.kernel.text import COMPOSED_OF, LESSON, MARKS_IN_A_ROW, cleaned, cleaned_json
from server.app import create_app
from server.settings import Settings

# One character as it is sent, three in NFC.
GROWS = "\U0001d160"
JSON = {"Content-Type": "application/json"}
SOME_ID = "01900000-0000-7000-8000-000000000000"
# Asked for by an id of something that is not there, which is said first; or one of a few names.
UNREACHED = ("/tickets/{ticket_id}", "/meta-guidelines/{memory_id}/", "/{memory_id}/vouch")
CHOSEN = ("metric",)
# A fault names the field as everywhere, whatever its path in this body.
ALSO_CALLED = {"name": ("name", "agent", "category")}
BATCH = "items"
"""Its items are refused one by one, each under the names of its own fields."""
Place = tuple[str, ...]


def document() -> dict[str, Any]:
    return create_app(Settings(data=Path("unused"))).openapi()


def resolved(schema: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """The schema itself, behind references and beside null."""
    if "$ref" in schema:
        return whole["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    choices = [one for one in schema.get("anyOf", []) if one.get("type") != "null"]
    return resolved(choices[0], whole) if len(choices) == 1 else schema


def texts(schema: dict[str, Any], whole: dict[str, Any]) -> Iterator[tuple[Place, int]]:
    """Where free text stands in a body of this schema, and its limit."""
    schema = resolved(schema, whole)
    for name, part in schema.get("properties", {}).items():
        found = resolved(part, whole)
        if "maxLength" in found and "enum" not in found and "pattern" not in found:
            yield (name,), found["maxLength"]
        elif "properties" in found:
            yield from (((name, *place), limit) for place, limit in texts(found, whole))
        elif "items" in found and name != BATCH:
            below = texts({"properties": {"0": found["items"]}}, whole)
            yield from (((name, *place), limit) for place, limit in below)


def replaced(body: dict[str, Any], place: Place, value: str) -> dict[str, Any] | None:
    """The example with this text in this place; None where the example leaves it out."""
    made = copy.deepcopy(body)
    inner: Any = made
    for name in place[:-1]:
        inner = inner.get(name) if isinstance(inner, dict) else inner[0]
        if not inner or not isinstance(inner, (dict, list)):
            return None
    if isinstance(inner, list):
        inner[0] = value
        return made
    if place[-1] == "subcategory" and "name" not in inner:
        inner["category"] = "billing"
    if place[-1] == "trace_id":
        inner.pop("task_key", None)  # a result names one of them
    inner[place[-1]] = value
    return made


def cases(of: Callable[[int], str]) -> list[tuple[str, str, dict[str, Any], Place, int]]:
    whole = document()
    found: list[tuple[str, str, dict[str, Any], Place, int]] = []
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is None or any(part in path for part in UNREACHED):
                continue
            for place, limit in texts(content["schema"], whole):
                body = replaced(content["example"], place, of(limit))
                if body is not None and place[-1] not in CHOSEN:
                    found.append((method, path, body, place, limit))
    return found


async def test_every_text_is_measured_as_it_would_be_stored(client, namespace, subtests):
    every = cases(lambda limit: GROWS * limit)
    assert len(every) > 40
    for method, path, body, place, limit in every:
        with subtests.test(f"{method} {path} {'.'.join(place)}"):
            answer = await sent(client, namespace, method, path, body)

            assert problem(answer)[:2] == (413, "too_large"), answer.text
            assert answer.json()["field"] in paths_of(place)
            assert answer.json()["limit"] == limit


async def test_a_text_that_no_encoding_carries_is_refused_under_its_whole_path(
    client, namespace, subtests
):
    for method, path, body, place, _ in cases(lambda _: "a \ud800"):
        with subtests.test(f"{method} {path} {'.'.join(place)}"):
            answer = await sent(client, namespace, method, path, body)

            assert problem(answer)[:2] == (422, "rejected"), answer.text
            assert answer.json()["field"] in paths_of(place)
            assert "contains a lone surrogate" in answer.json()["detail"]


async def sent(
    client: httpx.AsyncClient, namespace: str, method: str, path: str, body: object
) -> httpx.Response:
    where = re.sub(r"{\w+_id}", SOME_ID, path).replace("{namespace}", namespace)
    return await client.request(
        method,
        where.replace("{name}", "solver").replace("{job}", "decay"),
        content=json.dumps(body),
        headers={"If-Match": '"1"'} | JSON,
    )


def paths_of(place: Place) -> list[str]:
    return [".".join((*place[:-1], name)) for name in ALSO_CALLED.get(place[-1], (place[-1],))]


@pytest.mark.parametrize("length", [LESSON // 3, LESSON // 3 + 1])
def test_a_text_that_grows_in_nfc_is_taken_up_to_its_limit(length):
    text = GROWS * length
    stored = unicodedata.normalize("NFC", text)

    if len(stored) <= LESSON:
        assert cleaned(text, "lesson", LESSON) == stored
    else:
        with pytest.raises(TooLarge, match=rf"{len(stored)} characters in .*{length} as sent"):
            cleaned(text, "lesson", LESSON)


def test_what_cleaning_takes_away_is_not_counted():
    text = "e\u0301" * LESSON + "\x00" * LESSON + " " * LESSON

    assert cleaned(text, "lesson", LESSON) == "\u00e9" * LESSON


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("    if x:\n        go()\n", "    if x:\n        go()"),
        ("\n \n\tbuild:\n\t\tmake\n\n", "\tbuild:\n\t\tmake"),
        ("  one line only  ", "one line only"),
        ("\u3000first\nsecond", "first\nsecond"),
        ("\n\nfirst\nsecond", "first\nsecond"),
    ],
)
def test_the_first_of_several_lines_keeps_its_indentation(sent, stored):
    assert cleaned(sent, "lesson", LESSON) == stored
    assert cleaned(stored, "lesson", LESSON) == stored


def test_no_text_that_is_refused_unseen_would_have_fitted():
    most = max(
        len(unicodedata.normalize("NFD", chr(code)))
        for code in range(0x110000)
        if unicodedata.is_normalized("NFC", chr(code))
    )

    assert most <= COMPOSED_OF


def test_a_row_of_marks_that_would_be_sorted_for_ever_is_refused():
    row = "\u0301\u0323" * 2_000

    with pytest.raises(Rejected, match="combining marks in a row"):
        cleaned("a" + row, "lesson", LESSON)
    assert cleaned("a" + row[:MARKS_IN_A_ROW], "lesson", LESSON)


def test_names_that_are_one_after_cleaning_are_refused():
    with pytest.raises(Rejected, match="two names"):
        cleaned_json({"\u00e9": 1, "e\u0301": 2}, "metadata")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('{"agent": "a", "lesson": "x", "lesson": "y", "situation": "s"}', "lesson"),
        ('{"agent": "a", "l\\u0065sson": "x", "lesson": "y", "situation": "s"}', "lesson"),
        ('{"agent": "a", "lesson": "x", "situation": "s", "metadata": {"k": 1, "k": 2}}', "k"),
        ('{"agent": "a", "lesson": NaN, "lesson": "y", "situation": "s"}', "lesson"),
    ],
)
async def test_a_name_that_stands_twice_is_refused_and_named(client, namespace, body, name):
    answer = await client.post(inside(namespace, "/experiences"), content=body, headers=JSON)

    assert problem(answer) == (422, "duplicate_key", name)
    assert (await client.get(inside(namespace, "/experiences"))).json()["total"] == 0


async def test_a_name_that_stands_twice_in_a_large_body_is_refused_too(client, namespace):
    items = [an_experience(situation=f"{n} " + "s" * 900) for n in range(100)]
    body = json.dumps({"items": items})[:-1] + ', "items": []}'

    path = inside(namespace, "/experiences/batch")
    answer = await client.post(path, content=body, headers=JSON)

    assert problem(answer) == (422, "duplicate_key", "items")


async def test_the_same_name_in_two_objects_is_no_repeat(client, namespace):
    assert await remembered(client, namespace, metadata={"agent": {"agent": 1}, "lesson": 2})
