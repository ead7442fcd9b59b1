"""`memlift-coding install | remove | hook`: coding agents get a memory, and lose it again."""

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from memlift_coding.hooks import ANSWERS, READERS, run_hook
from memlift_coding.installing import (
    CannotInstall,
    Change,
    plugin_changes,
    settings_path,
    with_hooks,
    without_hooks,
)
from memlift_coding.session import PATIENCE, Settings

HERMES = "hermes"
LONGEST_PATIENCE = 600
OPTIONS = ("agent", "namespace", "url", "key_file", "category", "tests", "patience")
AFTERWARDS = {
    "claude-code": "Sessions that begin from now on have it.",
    "codex": "Codex asks once whether these hooks may run: say so under /hooks.",
    HERMES: "Choose it: hermes config set memory.provider memlift",
}


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line: a hook's is shown to who works with the agent."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"memlift-coding: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0; 1 where a file is in the way; 2 for wrong arguments."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        given = _parser().parse_args(words)
    except SystemExit:
        if list(words[:1]) == ["hook"]:
            return 0  # by a status of 2 a hook would block the agent
        raise
    if given.command == "hook":
        event = sys.stdin.buffer.read().decode(errors="replace")
        return run_hook(given.tool, _settings(given), event)
    try:
        for change in _changes(given):
            print(change.shown)
            if not given.dry_run:
                change.make()
    except (CannotInstall, OSError) as fault:
        print(f"memlift-coding: {fault}", file=sys.stderr)
        return 1
    if given.command == "install" and not given.dry_run:
        print(AFTERWARDS[given.tool])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="memlift-coding", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    install = commands.add_parser("install", help="write the hooks into a tool's settings")
    remove = commands.add_parser("remove", help="take them out again")
    for one in (install, remove):
        one.add_argument("tool", choices=(*READERS, HERMES))
        one.add_argument("--project", action="store_true", help="of this folder, not of this user")
        one.add_argument("--dry-run", action="store_true", help="show it, and write nothing")
    hook = commands.add_parser("hook", help="what the tool calls; an event comes by standard input")
    hook.add_argument("tool", choices=tuple(READERS))
    for one in (install, hook):
        one.add_argument("--agent", help="who acts; by default MEMLIFT_AGENT, or the tool's name")
        one.add_argument("--namespace", help="by default MEMLIFT_NAMESPACE, or `default`")
        one.add_argument("--url", help="by default MEMLIFT_URL, or a server on this machine")
        one.add_argument("--key-file", help="file that holds the key; by default MEMLIFT_KEY")
        one.add_argument("--category", help="the kind of task; by default the nearest")
        one.add_argument(
            "--tests", type=_pattern, help="a pattern that finds test commands of your own"
        )
        one.add_argument("--patience", type=_seconds, help="for one answer; by default 3")
        one.add_argument("--no-run", action="store_true", help="send no steps with a result")
    return parser


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as fault:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {fault}") from None
    return text


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST_PATIENCE:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be a number of seconds above 0 and at most {LONGEST_PATIENCE}"
        )
    return seconds


def _settings(given: argparse.Namespace) -> Settings:
    variable = os.environ.get
    return Settings(
        agent=given.agent or variable("MEMLIFT_AGENT") or given.tool,
        namespace=given.namespace or variable("MEMLIFT_NAMESPACE") or "default",
        url=given.url,
        key_file=given.key_file,
        category=given.category,
        tests=given.tests,
        patience=given.patience or PATIENCE,
        sends_run=not given.no_run,
    )


def _changes(given: argparse.Namespace) -> list[Change]:
    removes = given.command == "remove"
    if given.tool == HERMES:
        if given.project:
            raise CannotInstall("Hermes takes a memory for all folders: leave out --project")
        return plugin_changes(remove=removes)
    path = settings_path(given.tool, project=given.project)
    change = (
        without_hooks(path)
        if removes
        else with_hooks(path, _hook_command(given), ANSWERS * (given.patience or PATIENCE))
    )
    if change is None:
        print(f"{path} holds no hook of ours")
    return [] if change is None else [change]


def _hook_command(given: argparse.Namespace) -> str:
    """What is shared with others names no path of this machine. A hook runs in the folder that the
    agent works in: -P, so that no file of that folder is taken for a module.
    """
    words = ["memlift-coding"] if given.project else [sys.executable, "-P", "-m", "memlift_coding"]
    words += ["hook", given.tool]
    for name in OPTIONS:
        value = getattr(given, name)
        if name == "key_file" and value is not None:
            value = _key_file(value, project=given.project)
        words += [] if value is None else [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words + (["--no-run"] if given.no_run else []))


def _key_file(name: str, *, project: bool) -> str:
    if not project:
        return str(Path(name).absolute())
    if Path(name).is_absolute() or name.startswith("~"):
        raise CannotInstall(
            f"--key-file {name} is a path of this machine: with --project name one from this folder"
            " on, or leave it out and set MEMLIFT_KEY"
        )
    return name
