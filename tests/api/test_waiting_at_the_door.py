"""What the callers of a busy namespace are told, and that nobody else hears of it."""

import asyncio

from sqlalchemy import text

from memory.kernel.ids import new_id
from tests.fixtures.http import a_client, a_namespace, an_app

WRITERS = 12


async def test_who_waits_too_long_behind_its_own_namespace_is_told_to_come_back(
    database_url, engine, operator_token, tmp_path
):
    async with (
        an_app(database_url, tmp_path, pool_size=8, turn_timeout=0.05) as app,
        a_client(app, operator_token) as client,
    ):
        busy, quiet = await a_namespace(client, "wall"), await a_namespace(client, "wall")
        body = {"agent": "a", "situation": "rain", "lesson": f"begin with {new_id()}"}
        made = await client.post(f"/v1/namespaces/{busy}/experiences", json=body)
        place, first = f"/v1/namespaces/{busy}/experiences/{made.json()['id']}", {"If-Match": '"1"'}

        async def write(number):
            return await client.patch(place, json={"pinned": bool(number % 2)}, headers=first)

        async with engine.database.transaction() as connection:
            lock = text("SELECT FROM namespace WHERE slug = :slug FOR UPDATE")
            await connection.execute(lock, {"slug": busy})
            writers = [asyncio.create_task(write(number)) for number in range(WRITERS)]
            refused, _ = await asyncio.wait(writers, return_when=asyncio.FIRST_COMPLETED)
            elsewhere = await client.post(f"/v1/namespaces/{quiet}/experiences", json=body)
        answers = await asyncio.gather(*writers)

    problems = [one.result() for one in refused]
    assert {one.status_code for one in problems} == {429}
    assert {one.json()["code"] for one in problems} == {"namespace_busy"}
    assert {one.headers["Retry-After"] for one in problems} == {"1"}
    assert elsewhere.status_code == 201
    assert {one.status_code for one in answers} == {200, 429}
