"""Writes the reference page of the command line from the commands: python -m server.cli.page."""

import argparse
import inspect
import sys
from collections.abc import Iterator

import click
from memlift_client.command import build_parser

from server.cli import main
from server.cli.loop import PassedOn

HEAD = """# Command line

Written from the commands by `python -m server.cli.page`; a test compares the two.

`memlift COMMAND --help` says the same. Exit codes: 0 done; 1 a fault, told in one sentence on
standard error; 2 wrong use. `doctor` ends with 1 where a check fails, `status` where the server is
not ready, `job run` where the run failed or states differ from the ledger, `re-embed` where the
check refuses a model; `report --run` ends as the command that it ran.

Commands that speak to a server take these options beside their own. Without them they find a server
of this machine in its data directory, with the operator's key. They need the package
`memlift-client`, as do `ask`, `remember`, `report`, `verify` and `import-scores`.

- `--url URL`: The server (MEMLIFT_URL).
- `--key-file FILE`: File with the key; else MEMLIFT_KEY, else the operator's on this machine. With
  --data, else the operator's of that directory.
- `--data DATA`: Data directory of a server on this machine (MEMLIFT_HOME).
- `--json`: Print JSON.
"""
SERVER = {"url", "key_file", "key", "data", "as_json"}
"""Names of the options of every command that speaks to a server."""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_commands(main, "memlift")]).rstrip() + "\n"


def _commands(group: click.Group, path: str) -> Iterator[str]:
    """Each command below a group, as the help orders them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")
        elif isinstance(command, PassedOn):
            yield from _of_client(command, f"{path} {name}")
        else:
            yield from _of_server(command, f"{path} {name}")


def _of_server(command: click.Command, path: str) -> Iterator[str]:
    names = {one.name for one in command.params}
    speaks = names >= SERVER
    words = [one.make_metavar(click.Context(command)) for one in _arguments(command)]
    yield f"## {path}\n\n`{' '.join([path, *words])}`\n"
    yield f"{_paragraphs(command.help or '')}\n"
    for one in command.params:
        if isinstance(one, click.Option) and not one.hidden and not (speaks and one.name in SERVER):
            yield _option(", ".join((*one.opts, *one.secondary_opts)), _value(one), one.help or "")
    if speaks:
        yield "- the options of commands that speak to a server"
    yield ""


def _arguments(command: click.Command) -> list[click.Argument]:
    return [one for one in command.params if isinstance(one, click.Argument)]


def _value(one: click.Option) -> str:
    if one.is_flag:
        return ""
    if isinstance(one.type, click.Choice):
        return "|".join(map(str, one.type.choices))
    return str(one.name).rpartition("_")[2].upper()


def _of_client(command: PassedOn, path: str) -> Iterator[str]:
    parser = _subparser(str(command.name))
    words = [str(one.metavar or one.dest).upper() for one in _positional(parser)]
    yield f"## {path}\n\n`{' '.join([path, *words])}`\n\n{command.help}\n"
    for one in parser._actions:  # noqa: SLF001 - argparse has no other list of them
        if one.option_strings and one.dest != "help":
            value = "" if one.nargs == 0 else _given(one)
            yield _option(", ".join(one.option_strings), value, one.help or "")
    yield ""


def _given(one: argparse.Action) -> str:
    if one.choices is not None:
        return "|".join(map(str, one.choices))
    words = one.metavar if isinstance(one.metavar, tuple) else (one.metavar or one.dest.upper(),)
    return " ".join(words)


def _positional(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [one for one in parser._actions if not one.option_strings]  # noqa: SLF001 - as above


def _subparser(name: str) -> argparse.ArgumentParser:
    for one in build_parser()._actions:  # noqa: SLF001 - as above
        if isinstance(one.choices, dict):
            return one.choices[name]
    raise LookupError(name)


def _option(names: str, value: str, text: str) -> str:
    said = f": {text}" if text else ""
    return f"- `{names}{' ' if value else ''}{value}`{said}"


def _paragraphs(text: str) -> str:
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(one.replace("\n", " ") for one in paragraphs)


if __name__ == "__main__":
    sys.stdout.write(page())
