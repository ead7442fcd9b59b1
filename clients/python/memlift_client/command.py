"""`memlift ask | remember | report | import-scores | verify`: the loop from a shell, an exit code
as a result, and results of others.

`memlift report --key K --run -- make test` runs the command, reports 1 where it succeeded and 0
where it failed, and ends as the command did, whatever became of the report; where there was
nothing to run (exit 126 and 127, as a shell says it) nothing is reported. `memlift verify --run --
./try` runs it for each candidate that waits to be tried.
"""

import argparse
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from memlift_client import _models as m
from memlift_client._client import MemLift
from memlift_client._faults import ConnectionFailed, MemLiftError, MemLiftProblem
from memlift_client._import_scores import add_arguments, import_scores
from memlift_client._local import find_local
from memlift_client._retries import RetryPolicy
from memlift_client._task import DEFAULT_AGENT, RECEIPT, Verifier
from memlift_client._verifying import CANNOT_RUN, INTERRUPTED, run_command, work_off

RUN = "--run"
NOT_EXECUTABLE, NOT_FOUND = CANNOT_RUN
TRUSTED = ("test", "human")
"""What a key must be able to claim for its test run to count as a test."""

NO_ADVICE = {
    "nothing_to_serve": "nothing that is known fits this task",
    "left_out": "chance left out what fits, to learn what it is worth",
    "randomised": "chance held it back, to compare runs with and without",
    "suspended_negative_transfer": "what is known did harm at tasks like this",
    "caller_wants_off": "none was asked for",
}
"""Why there is none, in words."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0, 1 for what went wrong, 2 for wrong arguments, or the command's own."""
    # What the server warns of is printed beside each outcome.
    logging.getLogger("memlift_client").setLevel(logging.ERROR)
    words, command = _split(sys.argv[1:] if arguments is None else arguments)
    parser = build_parser()
    given = parser.parse_args(words)
    if given.command not in {"report", "verify"} and command is not None:
        parser.error(f"{RUN} goes with report and verify")
    act = cast("Callable[[argparse.Namespace, list[str] | None], int]", given.act)
    return act(given, command)


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Our own words, and the command behind `--run`, which may hold any."""
    words = list(arguments)
    if RUN not in words:
        return words, None
    at = words.index(RUN)
    command = words[at + 1 :]
    return words[:at], command[1:] if command[:1] == ["--"] else command


def build_parser() -> argparse.ArgumentParser:
    """What each command takes."""
    parser = argparse.ArgumentParser(prog="memlift", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    ask = commands.add_parser("ask", help="ask for advice before a task")
    ask.set_defaults(act=_ask)
    ask.add_argument("text", help="what is to be done")
    ask.add_argument("--key", help="your own id of the task, to report by")
    ask.add_argument("--trace", help="the trace that the run belongs to")
    ask.add_argument("-k", type=int, help="the most notes that are wanted")
    ask.add_argument("--json", action="store_true", help="print all that is known of it")
    remember = commands.add_parser("remember", help="keep what a task taught")
    remember.set_defaults(act=_remember)
    remember.add_argument("--situation", required=True, help="when it applies")
    remember.add_argument("--lesson", required=True, help="what to do then")
    report = commands.add_parser(
        "report",
        help="say how a task went",
        usage="%(prog)s [options] (--reward R | --run -- COMMAND …)",
    )
    report.set_defaults(act=_report)
    what = report.add_mutually_exclusive_group()
    what.add_argument("--receipt", help=f"as ask printed it; by default {RECEIPT}")
    what.add_argument("--key", help="your own id of the task")
    what.add_argument("--trace", help="the trace that the run belongs to")
    report.add_argument("--reward", type=_reward, help="0 failed … 1 succeeded")
    report.add_argument("--policy", choices=("all_open", "latest"), help="of several open receipts")
    report.add_argument("--verifier", choices=("human", "test", "judge", "self"))
    report.add_argument("--reward-kind", choices=("continuous", "binary"))
    scores = commands.add_parser("import-scores", help="report scores that were given elsewhere")
    scores.set_defaults(act=_import_scores)
    add_arguments(scores)
    verify = commands.add_parser(
        "verify",
        help="try candidates by a command",
        usage="%(prog)s [options] --run -- COMMAND …",
        description="The command gets MEMLIFT_TASK, MEMLIFT_GUIDELINE and MEMLIFT_GUIDELINE_FILE.",
    )
    verify.set_defaults(act=_verify)
    verify.add_argument("--limit", type=_limit, help="tickets at most; by default all that wait")
    for one in (ask, remember, verify):
        one.add_argument("--category", help="the kind of task")
    for one in (ask, remember, report, scores, verify):
        whose = "whose receipts, where several agents worked under it; by default any agent's"
        acts = "who acts; by default `agent`"
        one.add_argument("--agent", help=whose if one in (report, scores) else acts)
        one.add_argument("--url", help="the server; by default MEMLIFT_URL, or one on this machine")
        one.add_argument(
            "--key-file",
            help="file that holds the key; without it the key itself is read from MEMLIFT_KEY",
        )
        one.add_argument("--namespace", default=os.environ.get("MEMLIFT_NAMESPACE") or "default")
    return parser


def _reward(text: str) -> float:
    try:
        reward = float(text)
    except ValueError:
        reward = math.nan
    if not 0 <= reward <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number from 0 to 1")
    return reward


def _limit(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number, at least 1")
    return int(text)


def connect(
    *,
    url: str | None,
    key_file: str | None,
    namespace: str,
    agent: str | None = None,
    retry_policy: RetryPolicy | None = None,
    home: str | Path | None = None,
) -> MemLift:
    """The client, as options or the environment say; of the server in `home`, where one is given.
    Raises MemLiftError or OSError.
    """
    key = None if key_file is None else Path(key_file).expanduser().read_text(encoding="utf-8")
    found = find_local(home, url, key)
    agent = agent or DEFAULT_AGENT
    return MemLift(found.url, found.key, namespace, agent=agent, retry_policy=retry_policy)


def _ask(given: argparse.Namespace, _: list[str] | None) -> int:
    def act(memory: MemLift) -> int:
        task: dict[str, str] = {"text": given.text}
        task |= {} if given.key is None else {"key": given.key}
        task |= {} if given.category is None else {"category": given.category}
        served = memory.retrieve(
            agent=memory.agent,
            task=task,  # pyright: ignore[reportArgumentType] - the fields of a task, by name
            trace_id=given.trace,
            k=given.k,
        )
        text = served.guideline.text or ""
        if given.json:
            known = {"receipt": served.receipt, "guideline": text, "arm": served.arm}
            print(json.dumps(known | {"citations": dict(served.guideline.citations)}))
        else:
            reason = served.reason or served.arm
            print(text or f"no advice: {NO_ADVICE.get(reason, reason.replace('_', ' '))}")
            print(f"receipt: {served.receipt}")
        return 0

    return _told(given, act)


def _remember(given: argparse.Namespace, _: list[str] | None) -> int:
    def act(memory: MemLift) -> int:
        kept = memory.remember(
            situation=given.situation,
            lesson=given.lesson,
            category=given.category,
        )
        said = "it is known already" if kept.deduplicated or kept.echo else "remembered"
        print(f"{said}: {kept.id}")
        return 0

    return _told(given, act)


def _import_scores(given: argparse.Namespace, _: list[str] | None) -> int:
    def act(memory: MemLift) -> int:
        return import_scores(memory, f"{memory.url} {given.namespace}", given)

    return _told(given, act)


def _report(given: argparse.Namespace, command: list[str] | None) -> int:
    if (command is None) == (given.reward is None):
        build_parser().error(f"report takes one of --reward and {RUN} -- COMMAND")
    if command is None:
        return _told(given, lambda memory: _send(memory, given, given.reward))
    if not command:
        build_parser().error(f"{RUN} -- needs a command")
    try:
        status = _run(command)
    except OSError as fault:
        why = f"{command[0]}: {fault.strerror or fault}: it could not be started"
        print(f"memlift: {why}: nothing is reported", file=sys.stderr)
        return NOT_FOUND if isinstance(fault, FileNotFoundError) else NOT_EXECUTABLE
    if status < 0 or status == INTERRUPTED:
        print("memlift: the command was ended from outside: nothing is reported", file=sys.stderr)
        return INTERRUPTED if status == INTERRUPTED else 128 - status
    if status in CANNOT_RUN:
        why = "was not found" if status == NOT_FOUND else "could not be executed"
        print(f"memlift: a command {why} (exit {status}): nothing is reported", file=sys.stderr)
        return status
    _told(given, lambda memory: _send(memory, given, 0.0 if status else 1.0, tested=True))
    return status


def _run(command: list[str]) -> int:
    """The status that it ended with; below zero by a signal. Raises OSError where there was nothing
    to start.
    """
    try:
        return run_command(command)
    except KeyboardInterrupt:
        return INTERRUPTED


def _send(
    memory: MemLift, given: argparse.Namespace, reward: float, *, tested: bool = False
) -> int:
    verifier = given.verifier
    if verifier is None and tested:
        verifier = claimable(memory.me())
    receipt = given.receipt or os.environ.get(RECEIPT)
    outcomes: list[m.OutcomeTaken | m.OutcomeBound] = []
    if given.key is None and given.trace is None:
        if not receipt:
            print(f"memlift: name --receipt, --key or --trace, or set {RECEIPT}", file=sys.stderr)
            return 2
        outcomes += [
            memory.report(receipt, reward=reward, verifier=verifier, reward_kind=given.reward_kind)
        ]
    else:
        outcomes += memory.report_by_key(
            given.key,
            trace_id=given.trace,
            agent=given.agent,
            policy=given.policy,
            reward=reward,
            verifier=verifier,
            reward_kind=given.reward_kind,
        )
    for one in outcomes:
        whose = one.retrieval_id if isinstance(one, m.OutcomeBound) else receipt
        why = "".join(f"; {warning.detail}" for warning in one.warnings)
        print(f"reward {reward:g} for {whose}: {one.status}{why}", file=sys.stderr)
    return 0


def claimable(me: m.Me) -> Verifier:
    """What a test run's result may rest on, with this key."""
    return "test" if me.verifies in TRUSTED else "self"


def _verify(given: argparse.Namespace, command: list[str] | None) -> int:
    if not command:
        build_parser().error(f"verify takes {RUN} -- COMMAND")

    def act(memory: MemLift) -> int:
        with memory.tickets(category=given.category, limit=given.limit) as trials:
            return work_off(trials, command)

    try:
        return _told(given, act)
    except KeyboardInterrupt:
        print("memlift: interrupted: the candidate is given back", file=sys.stderr)
        return INTERRUPTED


def _told(given: argparse.Namespace, act: Callable[[MemLift], int]) -> int:
    """A fault is told in a line, with the candidates where there are several."""
    try:
        with connect(
            url=given.url, key_file=given.key_file, namespace=given.namespace, agent=given.agent
        ) as memory:
            return act(memory)
    except MemLiftProblem as problem:
        print(f"memlift: {problem}", file=sys.stderr)
        named = problem.limit if isinstance(problem.limit, list) else []
        for one in cast("list[object]", named):
            if isinstance(one, dict):
                print(
                    "  " + " ".join(map(str, cast("dict[str, object]", one).values())),
                    file=sys.stderr,
                )
    except (MemLiftError, OSError) as fault:
        print(f"memlift: {explain(fault)}", file=sys.stderr)
    return 1


def explain(fault: MemLiftError | OSError) -> str:
    """The fault in a sentence for who typed a command."""
    if isinstance(fault, ConnectionFailed) and fault.unreached is not None:
        return (
            f"no server answers at {fault.unreached}; start one with `memlift serve`, or name"
            " another with --url"
        )
    return str(fault)
