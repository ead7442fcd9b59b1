"""`python -m clients.generation` writes the generated modules of the Python client anew.

`--out DIR` writes them elsewhere, to compare.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from clients.generation.contract import Contract
from clients.generation.operations import operations
from clients.generation.schemas import models, typed_dictionaries

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "docs" / "reference" / "openapi.json"
CLIENT = ROOT / "clients" / "python" / "memlift_client"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=CLIENT)
    folder: Path = parser.parse_args(arguments).out
    contract = Contract(json.loads(CONTRACT.read_text(encoding="utf-8")))
    modules = {
        "_models.py": models(contract),
        "_fields.py": typed_dictionaries(contract),
        "_operations.py": operations(contract),
    }
    for name, text in modules.items():
        (folder / name).write_text(_formatted(name, text), encoding="utf-8")


def _formatted(name: str, text: str) -> str:
    """The module as the repository's own rules format it, without imports it does not use."""
    for command in (("check", "--fix-only", "--quiet", "--select", "F401,I"), ("format",)):
        arguments = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(CLIENT / name)]
        done = subprocess.run(  # noqa: S603 - with arguments of our own
            [*arguments, "-"], input=text, text=True, capture_output=True, check=True, cwd=ROOT
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    main(sys.argv[1:])
