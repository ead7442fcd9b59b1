"""`memlift demo`: the demonstration, where the source is."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from memory.kernel.errors import NotFound

SOURCE = Path(__file__).parents[2]


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def demo(options: Sequence[str]) -> None:
    """Watch an agent find out which of its notes are wrong, on a server of its own.

    It is a part of the source, not of the installed package; --help shows its options.
    """
    if not (SOURCE / "clients" / "demo").is_dir():
        raise NotFound("the demonstration is in the source alone: call this, or make demo, there")
    if str(SOURCE) not in sys.path:
        sys.path.insert(0, str(SOURCE))
    # Not imported above: an installed server has no clients, and does not know of them.
    sys.exit(importlib.import_module("clients.demo.__main__").main(options))
