"""Names with control characters are refused where they are made, whoever makes them."""

import pytest
from api_builders import inside, problem

RED = "\x1b[31mred"
EXPERIENCE = {"situation": "a date in words", "lesson": "parse it first"}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/keys", {"role": "agent", "name": RED, "namespace": "{}"}, "name"),
        (
            "/v1/keys",
            {"role": "agent", "name": "bot", "namespace": "{}", "agents": ["bot", RED]},
            "agents.1",
        ),
        ("/agents", {"name": RED}, "agent"),
        ("/agents", {"name": "bot", "model": RED}, "model"),
        ("/experiences", EXPERIENCE | {"agent": RED}, "agent"),
        ("/experiences", EXPERIENCE | {"agent": "bot", "category": RED}, "category"),
        ("/categories", {"name": "dates", "subcategory": RED}, "subcategory"),
        ("/retrievals", {"agent": RED, "task": {"text": "a date"}}, "agent"),
    ],
)
async def test_a_name_that_would_act_on_a_terminal_is_refused(client, namespace, path, body, field):
    where = path if path.startswith("/v1") else inside(namespace, path)
    body = {name: namespace if value == "{}" else value for name, value in body.items()}

    answer = await client.post(where, json=body)

    assert problem(answer) == (422, "rejected", field)
    assert "control character U+001B" in answer.json()["detail"]
