"""A moment that the bank has not come to is refused, and a zone that an address broke is told."""

from datetime import UTC, datetime, timedelta

import pytest

TO_COME = (datetime.now(UTC) + timedelta(days=400)).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/bank?bank_version=1200", "bank_version"),
        ("/memories?bank_version=1200", "bank_version"),
        ("/bank/difference?from_bank_version=1200", "from_bank_version"),
        ("/bank/difference?from_bank_version=0&to_bank_version=1200", "to_bank_version"),
    ],
)
async def test_a_version_beyond_the_bank_is_refused_with_field_and_limit(
    client, namespace, path, field
):
    at = f"/v1/namespaces/{namespace}"
    head = (await client.get(at)).json()["bank_version"]

    problem = (await client.get(f"{at}{path}")).json()

    assert (problem["status"], problem["field"], problem["limit"]) == (422, field, head)
    assert problem["detail"].startswith(f"{field} is at most {head}")
    assert (await client.get(f"{at}{path.replace('1200', str(head))}")).status_code == 200


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/bank?as_of=", "as_of"),
        ("/memories?as_of=", "as_of"),
        ("/competence?as_of=", "as_of"),
        ("/bank/difference?from_as_of=", "from_as_of"),
    ],
)
async def test_a_time_to_come_is_refused_where_the_server_has_the_clock(
    client, namespace, replay, path, field
):
    problem = (await client.get(f"/v1/namespaces/{namespace}{path}{TO_COME}")).json()

    assert (problem["status"], problem["field"]) == (422, field)
    assert problem["limit"] in problem["detail"]
    assert (await client.get(f"/v1/namespaces/{replay}{path}{TO_COME}")).status_code == 200


async def test_a_plus_that_the_address_made_a_space_is_told_how_to_be_written(client, namespace):
    at = f"/v1/namespaces/{namespace}/bank?as_of=2026-03-01T10:00:00"

    answer = await client.get(f"{at}+01:00")

    assert (answer.status_code, answer.json()["field"]) == (422, "as_of")
    assert "%2B" in answer.json()["detail"]
    assert (await client.get(f"{at}%2B01:00")).status_code == 200
