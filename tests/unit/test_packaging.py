"""What is installed, from where, and what a deployment starts with."""

import json
import os
import re
import stat
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
import yaml

from memory.tenancy.entities import Token

ROOT = Path(__file__).parents[2]
LOCKS = (
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-llm.lock",
    "requirements-otel.lock",
)
ADAPTERS_LOCK = "requirements-adapters.lock"
RAY_LOCK = "requirements-ray.lock"
ACCELERATOR = re.compile(r"(torch|triton|nvidia|cuda)", re.IGNORECASE)
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+) \\$", re.MULTILINE)
AGENTS: dict[str, Any] = tomllib.loads((ROOT / "clients/agents/pyproject.toml").read_text())
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: str) -> dict[str, str]:
    text = (ROOT / lock).read_text()
    return {normal(name): version for name, version in PIN.findall(text)}


def wanted(requirements: list[str]) -> set[str]:
    return {normal(re.split(r"[\[<>=!~; ]", line)[0]) for line in requirements}


@pytest.mark.parametrize("lock", [*LOCKS, ADAPTERS_LOCK, RAY_LOCK])
def test_no_lock_names_torch_or_what_it_brings_for_a_device(lock: str) -> None:
    assert not ACCELERATOR.search((ROOT / lock).read_text())


@pytest.mark.parametrize("lock", [*LOCKS, ADAPTERS_LOCK, RAY_LOCK])
def test_a_lock_holds_pins_and_hashes_and_nothing_of_the_machine_that_wrote_it(lock: str) -> None:
    lines = (ROOT / lock).read_text().splitlines()[1:]
    allowed = re.compile(r"[A-Za-z0-9._-]+==[\w.!]+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?")

    assert [line for line in lines if not allowed.fullmatch(line)] == []


def test_the_bill_of_materials_is_that_of_the_lock() -> None:
    bill = json.loads((ROOT / "deploy/sbom.json").read_text())
    listed = {one["name"]: one for one in bill["components"]}

    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    expected = pins("requirements.lock") | {"torch": "2.13.0"}
    found = {normal(name): one["version"] for name, one in listed.items()}
    assert found == expected, "run: make sbom"
    for name, one in listed.items():
        assert one["purl"] == f"pkg:pypi/{normal(name)}@{one['version']}"
        assert one.get("externalReferences") or name == "torch"


@pytest.mark.parametrize(
    ("lock", "requirements"),
    [
        ("requirements.lock", PROJECT["project"]["dependencies"]),
        ("requirements-dev.lock", PROJECT["dependency-groups"]["dev"]),
        ("requirements-dev.lock", PROJECT["project"]["dependencies"]),
        ("requirements-llm.lock", PROJECT["project"]["optional-dependencies"]["llm"]),
        ("requirements-llm.lock", PROJECT["project"]["dependencies"]),
        ("requirements-otel.lock", PROJECT["project"]["optional-dependencies"]["otel"]),
        ("requirements-otel.lock", PROJECT["project"]["dependencies"]),
        ("requirements-dev.lock", PROJECT["project"]["optional-dependencies"]["otel"]),
        (RAY_LOCK, PROJECT["project"]["optional-dependencies"]["ray"]),
        (ADAPTERS_LOCK, AGENTS["dependency-groups"]["test"]),
        *((ADAPTERS_LOCK, one) for one in AGENTS["project"]["optional-dependencies"].values()),
    ],
)
def test_whatever_the_project_asks_for_is_locked(lock: str, requirements: list[str]) -> None:
    assert wanted(requirements) - pins(lock).keys() == set()


def test_the_locks_agree_where_they_overlap() -> None:
    runtime = pins("requirements.lock")
    for lock in LOCKS[1:]:
        assert runtime.items() <= pins(lock).items()


def test_ray_stands_beside_what_the_project_has() -> None:
    assert not pins(RAY_LOCK).keys() & pins("requirements-dev.lock").keys()
    assert not {"ray"} & {name for lock in LOCKS for name in pins(lock)}


def test_the_language_model_client_is_pinned_exactly_and_only_in_its_extra() -> None:
    [asked] = [
        line
        for line in PROJECT["project"]["optional-dependencies"]["llm"]
        if line.startswith("litellm")
    ]
    assert re.fullmatch(r"litellm==\d+\.\d+\.\d+", asked)
    assert f"litellm=={pins('requirements-llm.lock')['litellm']}" == asked
    assert "litellm" not in pins("requirements.lock")
    assert not any("litellm" in line for line in PROJECT["project"]["dependencies"])


@pytest.mark.parametrize("file", ["Makefile", "Dockerfile", ".ci/lock.py"])
def test_torch_is_installed_by_the_same_version_everywhere(file: str) -> None:
    assert "torch==2.13.0" in (ROOT / file).read_text()


@pytest.mark.parametrize("file", ["Makefile", "Dockerfile"])
def test_everything_else_is_installed_by_hash(file: str) -> None:
    text = (ROOT / file).read_text()

    assert "--require-hashes --no-deps -r" in text
    assert text.index("torch==") < text.index("--require-hashes")


def test_the_image_runs_as_an_ordinary_user_and_tells_whether_it_lives() -> None:
    final = DOCKERFILE.rpartition("\nFROM ")[2]

    assert "\nUSER memlift\n" in final
    assert "HEALTHCHECK" in final
    assert "/health/live" in final
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    for name in " ".join(copied).split():
        assert f"!{name}" in (ROOT / ".dockerignore").read_text().splitlines()


def images_of(document: object) -> Iterator[str]:
    """Whatever stands under `image` somewhere in a document."""
    if isinstance(document, Mapping):
        for name, value in cast("Mapping[str, object]", document).items():
            if name == "image" and isinstance(value, str):
                yield value
            else:
                yield from images_of(value)
    elif isinstance(document, Sequence) and not isinstance(document, str):
        for one in cast("Sequence[object]", document):
            yield from images_of(one)


def foreign_images() -> Iterator[str]:
    """FILE: IMAGE, of each image that somebody else makes."""
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE))
    for image in re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE):
        if image not in stages:
            yield f"Dockerfile: {image}"
    for file in (ROOT / "docker-compose.yml", *sorted((ROOT / "deploy").rglob("*.yaml"))):
        for document in yaml.safe_load_all(file.read_text()):
            for image in images_of(document):
                if not image.startswith("memlift:"):
                    yield f"{file.relative_to(ROOT)}: {image}"


def test_an_image_that_others_make_is_named_by_tag_and_digest() -> None:
    found = list(foreign_images())

    pinned = re.compile(r"\S+: [^\s@]+:[\w.-]+@sha256:[0-9a-f]{64}")
    assert [one for one in found if not pinned.fullmatch(one)] == [], "see CONTRIBUTING.md, Images"
    assert {one.partition(":")[0] for one in found} == {
        "Dockerfile",
        "docker-compose.yml",
        "deploy/kubernetes/base/balancer.yaml",
    }


def test_compose_gives_every_service_a_health_check_and_a_volume() -> None:
    for service in COMPOSE["services"].values():
        assert service["healthcheck"]["test"]
        named = {volume.partition(":")[0] for volume in service["volumes"]}
        assert named & COMPOSE["volumes"].keys()


def test_compose_bounds_every_service_and_leaves_it_no_right_to_more() -> None:
    for name, service in COMPOSE["services"].items():
        assert {"mem_limit", "pids_limit"} <= service.keys(), name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["read_only"] is True, name
        assert "/tmp" in service["tmpfs"], name
    assert "cap_add" not in COMPOSE["services"]["server"]


def test_compose_calls_the_server_healthy_when_it_is_ready() -> None:
    server = COMPOSE["services"]["server"]

    assert "/health/ready" in " ".join(server["healthcheck"]["test"])
    assert server["depends_on"]["database"]["condition"] == "service_healthy"


def test_compose_holds_no_password_and_every_secret_is_a_file() -> None:
    for service in COMPOSE["services"].values():
        for name, value in service["environment"].items():
            if re.search("PASSWORD|KEY|SECRET", name):
                assert name.endswith("_FILE")
                assert str(value).removeprefix("/run/secrets/") in service["secrets"]
        assert set(service["secrets"]) <= COMPOSE["secrets"].keys()
    for name, secret in COMPOSE["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}


def test_compose_connects_the_server_as_memlift_on_loopback_only() -> None:
    server = COMPOSE["services"]["server"]

    assert server["environment"]["MEMLIFT_DATABASE_URL"].startswith("postgresql://memlift@database")
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    assert "ports" not in COMPOSE["services"]["database"]


def test_compose_mounts_only_what_is_there() -> None:
    for service in COMPOSE["services"].values():
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).exists()


def test_the_secrets_are_made_once_random_and_closed(tmp_path: Path) -> None:
    def made(folder: Path) -> dict[str, str]:
        command = [ROOT / "deploy/make-secrets", folder]
        subprocess.run(command, check=True, capture_output=True)
        return {name: (folder / name).read_text().strip() for name in COMPOSE["secrets"]}

    first = made(tmp_path / "one")

    assert made(tmp_path / "one") == first
    assert not set(made(tmp_path / "two").values()) & set(first.values())
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o700
    assert Token.parse(first["operator_key"])
    assert len(set(first.values())) == len(first)


@pytest.mark.parametrize(
    "script", [".ci/run", "deploy/make-secrets", "deploy/database/10-memlift.sh"]
)
def test_a_script_can_be_run_and_parsed(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    subprocess.run(["bash", "-n", ROOT / script], check=True)


def test_the_dashboards_pages_and_files_are_installed_with_the_server() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["server.dashboard"]
    folder = ROOT / "server/dashboard"
    installed = {path for pattern in patterns for path in folder.glob(pattern)}
    there = {
        path
        for name in ("templates", "static")
        for path in (folder / name).rglob("*")
        if path.is_file()
    }

    assert there
    assert there <= installed


def _audit() -> ModuleType:
    spec = spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "not run: no advisory data"),
        ("Traceback", "not run: no advisory data"),
        (
            '{"dependencies": [{"name": "a", "skip_reason": "not found"}]}',
            "not run: no advisory data",
        ),
        (
            (
                '{"dependencies": [{"name": "a", "version": "1", "vulns": []}, '
                '{"name": "b", "skip_reason": "not found"}]}'
            ),
            "1 of 2 packages looked up; no known vulnerability",
        ),
        (
            '{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1"}]}]}',
            "1 of 1 packages looked up; a 1: PYSEC-1",
        ),
    ],
)
def test_what_could_not_be_looked_up_is_not_called_well(answer: str, said: str) -> None:
    assert _audit().told(answer) == said
