# noqa: INP001 - a script, run by path
"""Write the bill of materials of the server: what requirements.lock pins, and torch, in the form of
CycloneDX 1.6. It holds no time and no number of its own, so the same lock gives the same bytes.
"""

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "deploy" / "sbom.json"
TORCH = re.compile(r"^TORCH := torch==(\S+)$", re.MULTILINE)
PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)==(\S+) \\\n((?:    --hash=sha256:.*\n?)+)", re.MULTILINE)
HASH = re.compile(r"sha256:([0-9a-f]{64})")


def component(name: str, version: str, hashes: list[str]) -> dict[str, object]:
    """A package; any of its archives may be the one that a machine installs."""
    purl = f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{version}"
    found: dict[str, object] = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
    }
    if hashes:
        archives = [{"alg": "SHA-256", "content": one} for one in hashes]
        url = f"https://pypi.org/project/{name}/{version}/"
        found["externalReferences"] = [{"type": "distribution", "url": url, "hashes": archives}]
    return found


def bill() -> dict[str, object]:
    """The whole, by name."""
    lock = (ROOT / "requirements.lock").read_text()
    found = [(name, version, HASH.findall(rest)) for name, version, rest in PACKAGE.findall(lock)]
    # Which build of torch it is depends on the machine, so it has no hash.
    torch = TORCH.search((ROOT / "Makefile").read_text())
    assert torch is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": project["name"],
                "name": project["name"],
                "version": project["version"],
            }
        },
        "components": [component(*one) for one in sorted([*found, ("torch", torch[1], [])])],
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(bill(), indent=1) + "\n")
