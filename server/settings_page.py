"""Writes the reference page of the settings from the settings: python -m server.settings_page."""

import sys
from datetime import timedelta

from pydantic.fields import FieldInfo

from server.settings import Settings, variable

HEAD = """# Settings

Written from `server/settings.py` by `python -m server.settings_page`; a test compares the two.

Every setting is an environment variable, read once at start. An empty variable counts as unset;
one pair of quotes around the value and a carriage return at its end are dropped. Durations are
seconds (`1.5`) or ISO 8601 (`PT1.5S`, `P180D`). Any setting may instead be read from a file, as
`NAME_FILE=/path`, which is the way to hand over secrets. `memlift doctor` names variables with our
prefix that set nothing.

| variable | default | meaning |
| --- | --- | --- |
"""


def page() -> str:
    """The whole page."""
    rows = [_row(name, field) for name, field in Settings.model_fields.items()]
    return HEAD + "\n".join(rows) + "\n"


def _row(name: str, field: FieldInfo) -> str:
    return f"| `{variable(name)}` | {_default(name, field)} | {field.description} |"


def _default(name: str, field: FieldInfo) -> str:
    if name == "data":
        return "`/var/lib/memlift` for root, else `~/.local/state/memlift`"
    default = field.default
    if default is None:
        return "-"
    if isinstance(default, timedelta):
        return f"{default.total_seconds():g} s" if default.days == 0 else f"`P{default.days}D`"
    return f"`{default}`"


if __name__ == "__main__":
    sys.stdout.write(page())
