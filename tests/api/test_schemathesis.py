"""Requests nobody thought of, made up from the contract itself: the server keeps to it."""

import asyncio
from itertools import product
from pathlib import Path

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, reject, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from server.app import create_app
from server.settings import Settings
from tests.fixtures.http import BASE, a_namespace
from tests.fixtures.profiles import examples

CHECKS = [not_a_server_error, response_schema_conformance, status_code_conformance]
BOUNDED = settings(
    # Of well-formed requests, and as many again of ill-formed ones.
    examples(4),
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
SCHEMA = schemathesis.openapi.from_dict(create_app(Settings(data=Path("unused"))).openapi())
OPERATIONS = {
    found.ok().label: found.ok()
    for found in SCHEMA.get_all_operations()
    if found.ok().path.startswith("/v1/")
}


@pytest.fixture(scope="session")
async def loop():
    return asyncio.get_running_loop()


def request_of(client, case):
    """What a client would send; what it would refuse to send, or fold into another path, is no
    case.
    """
    sent = case.as_transport_kwargs(base_url=BASE)
    parts = {name: sent[name] for name in ("params", "json", "cookies") if name in sent}
    if sent.get("data") is not None:
        parts["content"] = sent["data"]
    # A made-up key would be the end of every request.
    headers = {**sent["headers"], "Authorization": client.headers["Authorization"]}
    assume("/." not in case.formatted_path)
    try:
        return client.build_request(sent["method"], sent["url"], headers=headers, **parts)
    except httpx.InvalidURL:
        return reject()


def test_the_server_keeps_to_its_contract(loop, client, subtests):
    for label, mode in product(sorted(OPERATIONS), GenerationMode):
        with subtests.test(f"{label} {mode.value}"):
            # What one request did, such as deleting it all, is nothing to the next.
            namespace = loop.run_until_complete(a_namespace(client, "wall"))
            keeps_to_its_contract(loop, client, namespace, OPERATIONS[label], mode)


def keeps_to_its_contract(loop, client, namespace, operation, mode):
    @BOUNDED
    @given(case=operation.as_strategy(generation_mode=mode))
    def keeps(case):
        if "namespace" in case.path_parameters:
            case.path_parameters["namespace"] = namespace
        answer = loop.run_until_complete(client.send(request_of(client, case)))
        case.validate_response(answer, checks=CHECKS)

    keeps()
