"""What the configuration for Envoy says; that for nginx is run in tests/acceptance."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from server.settings import Settings

ROOT = Path(__file__).parents[2]
ENVOY: dict[str, Any] = yaml.safe_load((ROOT / "deploy/envoy/memlift.yaml").read_text())
MANAGER = ENVOY["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]
ROUTES = MANAGER["typed_config"]["route_config"]["virtual_hosts"][0]["routes"]
CLUSTER = ENVOY["static_resources"]["clusters"][0]


def found(path: str) -> dict[str, Any]:
    """The route that Envoy takes: the first that matches the whole path, without its query."""

    def matches(match: dict[str, Any]) -> bool:
        bare = path.partition("?")[0]
        if "safe_regex" in match:
            return re.fullmatch(match["safe_regex"]["regex"], bare) is not None
        return bare == match["path"] if "path" in match else bare.startswith(match["prefix"])

    return next(route for route in ROUTES if matches(route["match"]))


def affinity(path: str) -> str:
    """What Envoy hashes: the path, rewritten, or the name of the header."""
    (policy,) = found(path)["route"]["hash_policy"]
    header = policy["header"]
    if header["header_name"] != ":path":
        return str(header["header_name"])
    rewritten = header["regex_rewrite"]
    return re.sub(rewritten["pattern"]["regex"], rewritten["substitution"], path)


@pytest.mark.parametrize(
    ("path", "hashed"),
    [
        ("/v1/namespaces/river/retrievals", "river"),
        ("/v1/namespaces/river/changes?after=x/y", "river"),
        ("/v1/namespaces/river?x=1", "river"),
        ("/dashboard/ns/river/memories", "river"),
        ("/mcp", "memlift-namespace"),
        ("/v1/logs", "memlift-namespace"),
        ("/v1/keys", "memlift-namespace"),
    ],
)
def test_calls_of_a_namespace_go_to_one_process(path: str, hashed: str) -> None:
    assert affinity(path) == hashed
    assert CLUSTER["lb_policy"] == "RING_HASH"


def test_streams_have_no_time_limit_and_others_have_one() -> None:
    unlimited = [
        path
        for path in ("/mcp", "/v1/namespaces/a/changes", "/v1/namespaces/a/memories")
        if found(path)["route"]["timeout"] == "0s"
    ]

    assert unlimited == ["/mcp", "/v1/namespaces/a/changes"]
    assert found("/metrics")["direct_response"]["status"] == 404


def test_every_route_leads_to_a_cluster_that_asks_for_readiness() -> None:
    named = {route["route"]["cluster"] for route in ROUTES if "route" in route}

    assert named == {CLUSTER["name"], *named}
    assert len(named) == 1
    (check,) = CLUSTER["health_checks"]
    assert check["http_health_check"]["path"] == "/health/ready"
    types = [one for one in strings(ENVOY) if one.startswith("type.googleapis.com/")]
    assert all(
        re.fullmatch(r"type\.googleapis\.com/envoy(\.[a-z0-9_]+)*\.v3\.\w+", one) for one in types
    )


def test_the_settings_that_the_files_name_are_settings() -> None:
    for file in ("envoy/memlift.yaml", "nginx/memlift.conf"):
        text = (ROOT / "deploy" / file).read_text()
        names = {name.lower() for name in re.findall(r"MEMLIFT_([A-Z_]+)", text)}
        assert names
        assert names <= Settings.model_fields.keys(), file


def strings(part: object) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for one in part.values():
            yield from strings(one)
    elif isinstance(part, list):
        for one in part:
            yield from strings(one)
