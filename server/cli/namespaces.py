"""`memlift namespace`: what data stays within."""

import json
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

import click
from memlift_client import (
    Namespace,
    NamespaceSettings,
    NamespaceSettingsFields,
    WhatIfResult,
)

from memory.kernel.text import counted
from server.cli.remote import ServerOptions, minute, plain, speaking, table

CLOCKS = ("wall", "replay")
PolicyName = Literal["belief", "paper", "paper-strict", "steps", "delta"]
POLICIES = get_args(PolicyName)
SETTINGS = "SETTING=VALUE"
MOVERS = 10
pairs_argument = click.argument("pairs", nargs=-1, metavar=f"[{SETTINGS}]...")


@click.group()
def namespace() -> None:
    """Make, list, freeze and delete namespaces, and change their settings."""


@namespace.command()
@click.argument("slug")
@click.option("--clock", type=click.Choice(CLOCKS), help="wall unless facts come with their time.")
@click.option("--policy", type=click.Choice(POLICIES), help="The rule by which it learns.")
@click.option("--frozen", is_flag=True, help="Outcomes are stored and move nothing.")
@pairs_argument
@speaking
def create(
    server: ServerOptions, *, slug: str, frozen: bool, pairs: tuple[str, ...], **given: Any
) -> None:
    """Make the namespace SLUG."""
    given["learning"] = "frozen" if frozen else None
    with server.connected() as client:
        made = client.create_namespace(slug, **given, settings=read_pairs(pairs) or None)
    server.print(made, f"made {made.slug}")


@namespace.command("list")
@speaking
def list_namespaces(server: ServerOptions) -> None:
    """List the namespaces that the key reaches."""
    with server.connected() as client:
        found = list(client.each_namespace())
    header = ("NAMESPACE", "LEARNING", "POLICY", "CLOCK", "BANK VERSION", "MADE")
    server.print(found, table(header, map(_row, found)))


def _row(found: Namespace) -> tuple[object, ...]:
    made = minute(found.created_at)
    learning = learning_or_place(found)
    return found.slug, learning, found.policy, found.clock, found.bank_version, made


def learning_or_place(found: Namespace) -> str:
    """Whether it learns here; of one that is not served here, where it is."""
    if found.elsewhere is None:
        return found.learning
    return "being moved here" if found.elsewhere == "arriving" else f"moved to {found.elsewhere}"


@namespace.command()
@click.argument("slug")
@pairs_argument
@click.option("--policy", type=click.Choice(POLICIES), help="Learn by this rule from now on.")
@click.option("--dry-run", is_flag=True, help="Say what --policy would change; nothing does.")
@speaking
def settings(
    server: ServerOptions,
    *,
    slug: str,
    pairs: tuple[str, ...],
    policy: PolicyName | None,
    dry_run: bool,
) -> None:
    """Print the settings of SLUG, after changing those that are named.

    A value is JSON, or else text. null leaves raw_gate, score_floor, control_rate,
    llm_daily_tokens or llm_daily_cost to the server and sets retention_days to for ever; others
    take no null. llm_models names a language model of the server by role, the whole at once:
    'llm_models={"compile":"small"}'. With --policy every belief is refolded from the recorded
    outcomes: look with --dry-run first.
    """
    change = read_pairs(pairs)
    if dry_run and (policy is None or change):
        raise click.UsageError("--dry-run needs --policy, and takes no SETTING=VALUE")
    with server.connected(slug) as client:
        found = client.get_namespace()
        if dry_run and policy is not None:
            foreseen = client.what_if(policy, limit=MOVERS)
            server.print(foreseen, _foreseen(foreseen))
            return
        if change or policy is not None:
            found = client.change_namespace(found.version, settings=change or None, policy=policy)
    said = "" if policy is None else f"policy={found.policy}\n"
    server.print(found if policy else found.settings, said + _shown(found.settings))


def _foreseen(found: WhatIfResult) -> str:
    moves = found.moves
    said = (
        f"{counted(found.outcomes, 'outcome')} refolded under {found.policy} instead of"
        f" {found.instead_of}: {counted(moves.rising, 'memory', 'memories')} would rise,"
        f" {moves.falling} fall, {moves.below_floor} fall below the score floor, {moves.returning}"
        " rise above it again; nothing was changed"
    )
    rows = [
        (one.memory_id, _weight(one.before), _weight(one.after)) for one in found.difference.weights
    ]
    return said + ("\n" + table(("MEMORY", "WEIGHT NOW", "WOULD BE"), rows) if rows else "")


def _weight(weight: float | None) -> str | None:
    return None if weight is None else f"{weight:.3f}"


def _shown(settings: NamespaceSettings) -> str:
    values = plain(settings)
    assert isinstance(values, Mapping)
    return "\n".join(f"{name}={json.dumps(value, default=str)}" for name, value in values.items())


@namespace.command()
@click.argument("slug")
@speaking
def freeze(server: ServerOptions, slug: str) -> None:
    """Stop learning in SLUG: outcomes are stored and move nothing."""
    _set_learning(server, slug, "frozen")


@namespace.command()
@click.argument("slug")
@speaking
def resume(server: ServerOptions, slug: str) -> None:
    """Learn in SLUG again."""
    _set_learning(server, slug, "on")


def _set_learning(server: ServerOptions, slug: str, learning: Literal["on", "frozen"]) -> None:
    with server.connected(slug) as client:
        changed = client.change_namespace(client.get_namespace().version, learning=learning)
    server.print(changed, f"{slug}: learning {changed.learning}")


@namespace.command()
@click.argument("slug")
@click.option("--yes", is_flag=True, help="Do not ask.")
@speaking
def delete(server: ServerOptions, *, slug: str, yes: bool) -> None:
    """Delete SLUG and everything in it. Asks for its name again."""
    with server.connected(slug) as client:
        deletion = client.request_deletion()
        if not yes and click.prompt(f"everything in {slug} will be gone; its name again") != slug:
            raise click.UsageError("this is another name: nothing was deleted")
        client.delete_namespace(deletion.confirmation)
    server.print({"deleted": slug}, f"deleted {slug}")


def read_pairs(pairs: tuple[str, ...]) -> NamespaceSettingsFields:
    """Settings by name. Raises UsageError for a word that is none."""
    read: dict[str, object] = {}
    for pair in pairs:
        name, given, value = pair.partition("=")
        if not given or not name:
            raise click.UsageError(f"{pair!r} is not {SETTINGS}")
        try:
            read[name] = json.loads(value)
        except ValueError:
            read[name] = value
    # The server says which of them there are.
    return cast("NamespaceSettingsFields", read)
