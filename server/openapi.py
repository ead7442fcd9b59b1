"""The published contract as a file.

`python -m server.openapi --write` renews `docs/reference/openapi.json`; without `--write` the
document goes to standard output.
"""

import sys
from pathlib import Path

from server.app import create_app
from server.contract import rendered

FILE = Path("docs/reference/openapi.json")


def main(arguments: list[str]) -> None:
    text = rendered(create_app().openapi())
    if "--write" in arguments:
        FILE.parent.mkdir(parents=True, exist_ok=True)
        FILE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
