"""The manifests for Kubernetes: against its schemas, against each other and against the server."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from server.settings import Settings

FOLDER = Path(__file__).parents[2] / "deploy/kubernetes"
SIZES = ("small", "medium", "large")
VERSIONS = ("1.29", "1.34")
SECRET_KEYS = {"database-password", "operator-key"}

Manifest = dict[str, Any]


def listed(folder: Path) -> list[Manifest]:
    """What `kubectl apply -k` applies: resources first, then patches, as far as we use them."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    found: list[Manifest] = []
    for name in kustomization["resources"]:
        place = folder / name
        found += listed(place) if place.is_dir() else read(place)
    for patch in kustomization.get("patches", ()):
        targets = [one for one in found if is_target(one, patch["target"])]
        assert len(targets) == 1, patch["target"]
        for operation in yaml.safe_load(patch["patch"]):
            replace(targets[0], operation)
    return found


def read(file: Path) -> list[Manifest]:
    return [one for one in yaml.safe_load_all(file.read_text()) if one]


def is_target(manifest: Manifest, target: dict[str, str]) -> bool:
    return (manifest["kind"], manifest["metadata"]["name"]) == (target["kind"], target["name"])


def replace(manifest: Manifest, operation: Manifest) -> None:
    """RFC 6902: a replacement needs something to replace."""
    assert operation["op"] == "replace"
    *path, last = operation["path"].strip("/").split("/")
    place: Any = manifest
    for part in path:
        place = place[int(part)] if isinstance(place, list) else place[part]
    assert last in place, operation["path"]
    assert type(place[last]) is type(operation["value"]), operation["path"]
    place[last] = operation["value"]


@pytest.fixture(params=SIZES)
def manifests(request: pytest.FixtureRequest) -> list[Manifest]:
    return listed(FOLDER / "overlays" / request.param)


def named(manifests: list[Manifest], kind: str) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in manifests if one["kind"] == kind}


def pods(manifests: list[Manifest]) -> Iterator[tuple[Manifest, Manifest]]:
    """What runs pods, and the template of theirs."""
    for one in manifests:
        if one["kind"] in ("Deployment", "Job"):
            yield one, one["spec"]["template"]


def test_every_manifest_is_what_its_schema_says(manifests: list[Manifest]) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="run `make install`")
    for manifest in manifests:
        for version in VERSIONS:
            validator.validate(manifest, version, strict=True)
    wrong = copy.deepcopy(manifests[0]) | {"date": {}}
    with pytest.raises(validator.ValidationError):
        validator.validate(wrong, VERSIONS[0], strict=True)


def test_every_size_is_another() -> None:
    sizes = [listed(FOLDER / "overlays" / size) for size in SIZES]
    replicas = [named(one, "Deployment")["memlift"]["spec"]["replicas"] for one in sizes]
    settings = [named(one, "ConfigMap")["memlift-settings"]["data"] for one in sizes]

    assert replicas == sorted(set(replicas))
    assert min(replicas) >= 2, "one may be replaced while another serves"
    assert len({one["MEMLIFT_RESIDENT_BYTES"] for one in settings}) == len(SIZES)
    for size, one, count in zip(SIZES, settings, replicas, strict=True):
        # Beside its pool a process holds five more at times.
        connections = count * (int(one["MEMLIFT_POOL_SIZE"]) + 5)
        about = (FOLDER / "overlays" / size / "kustomization.yaml").read_text()
        assert f"{connections} connections" in about


def test_settings_are_settings_and_no_secret_is_among_them(manifests: list[Manifest]) -> None:
    data = named(manifests, "ConfigMap")["memlift-settings"]["data"]

    assert all(isinstance(value, str) for value in data.values())
    fields = {f"MEMLIFT_{name.upper()}" for name in Settings.model_fields}
    # A secret may be given as a file.
    assert {name.removesuffix("_FILE") for name in data} <= fields | {"MEMLIFT_OPERATOR_KEY"}
    files = {name: value for name, value in data.items() if name.endswith("_FILE")}
    assert {Path(value).name for value in files.values()} == SECRET_KEYS
    assert not named(manifests, "Secret")
    values = {
        name.removeprefix("MEMLIFT_").lower(): value
        for name, value in data.items()
        if name.removeprefix("MEMLIFT_").lower() in Settings.model_fields and name not in files
    }
    read_back = Settings.model_validate(values)
    assert read_back.proxies == 1
    assert str(read_back.port) == data["MEMLIFT_PORT"]


def test_pods_have_no_powers_and_bounds(manifests: list[Manifest]) -> None:
    for owner, template in pods(manifests):
        spec = template["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]
            assert not container["image"].endswith(":latest")
            assert ":" in container["image"]
            if owner["kind"] == "Deployment":
                assert container.keys() >= {"startupProbe", "livenessProbe", "readinessProbe"}
            mounted = {one["name"] for one in container.get("volumeMounts", ())}
            assert mounted == {one["name"] for one in spec.get("volumes", ())}


def test_what_is_named_is_there(manifests: list[Manifest]) -> None:
    labels = [template["metadata"]["labels"] for _, template in pods(manifests)]
    ports = {
        one["name"]
        for _, t in pods(manifests)
        for c in t["spec"]["containers"]
        for one in c.get("ports", ())
    }

    for one in manifests:
        match one["kind"]:
            case "PodDisruptionBudget":
                wanted = one["spec"]["selector"]["matchLabels"]
            case "Service":
                wanted = one["spec"]["selector"]
                assert {port["targetPort"] for port in one["spec"]["ports"]} <= ports
            case "NetworkPolicy":
                wanted = one["spec"]["podSelector"]["matchLabels"]
            case "Deployment":
                wanted = one["spec"]["selector"]["matchLabels"]
                assert named(manifests, "PodDisruptionBudget")[one["metadata"]["name"]]
            case _:
                continue
        assert sum(wanted.items() <= have.items() for have in labels) == 1, one["metadata"]
    for _, template in pods(manifests):
        for volume in template["spec"].get("volumes", ()):
            if "configMap" in volume:
                assert volume["configMap"]["name"] in named(manifests, "ConfigMap")
    (migrating,) = named(manifests, "Job").values()
    (command,) = migrating["spec"]["template"]["spec"]["containers"]
    assert command["args"] == ["migrate"]


def test_the_balancer_is_the_one_that_we_ship_for_envoy(manifests: list[Manifest]) -> None:
    here = yaml.safe_load(named(manifests, "ConfigMap")["memlift-balancer"]["data"]["memlift.yaml"])
    there = yaml.safe_load((FOLDER.parent / "envoy/memlift.yaml").read_text())
    own, shipped = (one["static_resources"]["clusters"][0] for one in (here, there))

    endpoint = own.pop("load_assignment")["endpoints"][0]["lb_endpoints"][0]["endpoint"]
    shipped.pop("load_assignment")
    assert (own.pop("type"), shipped.pop("type")) == ("STRICT_DNS", "STATIC")
    assert here == there
    address = endpoint["address"]["socket_address"]
    pods_by_name = named(manifests, "Service")[address["address"]]["spec"]
    assert pods_by_name["clusterIP"] == "None"
    assert pods_by_name["ports"][0]["port"] == address["port_value"]
