"""The note of an experience over HTTP: written, edited, listed, served, erased."""

import psycopg
import pytest
from api_builders import an_experience, inside, problem, remembered, retrieved
from psycopg.conninfo import conninfo_to_dict, make_conninfo

NOTE = "Seen in two dry summers"


async def test_a_note_is_cleaned_read_and_listed(client, namespace):
    memory_id = await remembered(client, namespace, note=f"  {NOTE}\x00 e\u0301 ")

    read = await client.get(inside(namespace, f"/experiences/{memory_id}"))
    listed = await client.get(inside(namespace, "/experiences"))
    browsed = await client.get(inside(namespace, "/memories"))

    assert read.json()["note"] == f"{NOTE} é"
    for page in (listed, browsed):
        assert [item["note"] for item in page.json()["items"]] == [f"{NOTE} é"]


async def test_an_experience_needs_no_note(client, namespace):
    memory_id = await remembered(client, namespace)

    read = await client.get(inside(namespace, f"/experiences/{memory_id}"))
    served = await retrieved(client, namespace)

    assert read.json()["note"] is None
    assert [memory["note"] for memory in served["memories"]] == [None]


async def test_a_note_is_edited_and_the_words_keep_their_version(client, namespace):
    path = inside(namespace, f"/experiences/{await remembered(client, namespace, note=NOTE)}")

    kept = await client.patch(path, json={"pinned": True}, headers={"If-Match": '"1"'})
    edited = await client.patch(path, json={"note": "In three"}, headers={"If-Match": '"1"'})

    assert (kept.status_code, kept.json()["note"]) == (200, NOTE)
    assert (edited.status_code, edited.json()["note"], edited.json()["version"]) == (
        200,
        "In three",
        1,
    )
    assert (await client.get(path)).json()["note"] == "In three"


async def test_a_note_is_served_beside_the_lesson(client, namespace):
    await remembered(client, namespace, note=NOTE)

    body = await retrieved(client, namespace)

    assert [memory["note"] for memory in body["memories"]] == [NOTE]


async def test_each_experience_of_a_batch_has_its_own_note(client, namespace):
    items = [an_experience(lesson=word, note=f"about {word}") for word in ("one", "two")]

    answer = await client.post(inside(namespace, "/experiences/batch"), json={"items": items})

    assert [item["status"] for item in answer.json()["items"]] == [201, 201]
    listed = (await client.get(inside(namespace, "/experiences"))).json()["items"]
    assert {item["lesson"]: item["note"] for item in listed} == {
        "one": "about one",
        "two": "about two",
    }


@pytest.mark.parametrize(("note", "status"), [("x" * 1001, 413), (" \x00", 422), (7, 422)])
async def test_a_note_that_is_too_long_blank_or_no_text_is_refused(client, namespace, note, status):
    path = inside(namespace, f"/experiences/{await remembered(client, namespace, note='x' * 1000)}")

    added = await client.post(inside(namespace, "/experiences"), json=an_experience(note=note))
    edited = await client.patch(path, json={"note": note}, headers={"If-Match": '"1"'})

    for answer in (added, edited):
        assert problem(answer)[::2] == (status, "note")
    assert (await client.get(path)).json()["note"] == "x" * 1000


async def test_erasure_blanks_the_note(client, namespace, superuser_url, database_url):
    database = make_conninfo(superuser_url, dbname=conninfo_to_dict(database_url)["dbname"])
    memory_id = await remembered(client, namespace, note=NOTE)
    assert stored_note(database, memory_id) == NOTE

    answer = await client.delete(inside(namespace, f"/experiences/{memory_id}"))

    assert answer.status_code == 200
    assert stored_note(database, memory_id) is None


def stored_note(database, memory_id):
    """What is on disk, whoever may see it."""
    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT note FROM memory WHERE id = %s", [memory_id]).fetchall()
    return found[0][0]
