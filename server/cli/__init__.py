"""The command line: `memlift COMMAND`.

A command's module is loaded when the command is called: what serves takes seconds to load, and
`memlift ask` has no use for it. Exit codes: 0 done, 1 a fault, told in one sentence, 2 wrong use.
"""

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import click

from memory.kernel.errors import MemoryFault
from memory.kernel.text import escape_controls
from server.settings import prepare_environment

CLIENT = "memlift_client"


class Commands(click.Group):
    """Finds a command in its module: `homes` has module and attribute by name, in the order of the
    help.
    """

    def __init__(self, *, homes: Mapping[str, str], **given: Any) -> None:
        super().__init__(**given)
        self._homes = homes

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return list(self._homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as click calls it
        if (home := self._homes.get(cmd_name)) is None:
            return None
        module, _, attribute = home.partition(":")
        home = f"{__name__}.{module}" if module else __name__
        return getattr(importlib.import_module(home), attribute)


class Told(Commands):
    """The outermost: a fault ends the command with its sentence, not with a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except MemoryFault as fault:
            said = fault.detail
        except ModuleNotFoundError as fault:
            if fault.name != CLIENT:
                raise
            said = "this command needs the package memlift-client"
        said = escape_controls(said, kept="\n")
        click.echo(f"memlift: {said}", err=True)
        sys.exit(1)


key = Commands(
    name="key",
    help="Make, list and end keys; recover the operator's.",
    homes={
        "create": "keys:create",
        "list": "keys:list_keys",
        "revoke": "keys:revoke",
        "recover": "recovery:recover",
    },
)
HOMES = {
    "serve": "serving:serve",
    "migrate": "serving:migrate",
    "doctor": "serving:doctor",
    "config": "serving:config",
    "demo": "demo:demo",
    "open": "recovery:open_dashboard",
    "status": "status:status",
    "key": ":key",
    "namespace": "namespaces:namespace",
    "job": "jobs:job",
    "rollback": "rollback:rollback",
    "backup": "backups:backup",
    "restore": "backups:restore",
    "export": "transfer:export_command",
    "import": "transfer:import_command",
    "move": "moving:command",
    "re-embed": "reembedding:command",
    "ask": "loop:ask",
    "remember": "loop:remember",
    "report": "loop:report",
    "verify": "loop:verify",
    "import-scores": "loop:import_scores",
    "mcp": "serving:mcp",
    "version": "serving:version",
}


@click.command(cls=Told, homes=HOMES)
def main() -> None:
    """A memory server for agents that measures whether its memories help."""
    prepare_environment()
