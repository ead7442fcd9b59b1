"""`memlift import-scores`: scores of traces, given elsewhere, become outcomes of the receipts that
were opened in those traces.

Each score is reported under an idempotency key of its own, and what was taken is written down, so
that a run that was killed goes on, and one that is repeated reports nothing twice.
"""

import argparse
import base64
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Literal, cast
from uuid import NAMESPACE_URL, uuid5

from memlift_client import _operations as ops
from memlift_client._client import MemLift
from memlift_client._faults import (
    ConfigurationError,
    ConnectionFailed,
    MemLiftError,
    MemLiftProblem,
)
from memlift_client._score_sources import (
    Place,
    Wanted,
    from_lines,
    langfuse,
    langsmith,
    mlflow,
    read_moment,
)
from memlift_client._scores import RewardScale, Score, ScoreRefused, UnreadableLine
from memlift_client._task import Verifier

LISTED = 20
"""Scores of one kind that are listed; more are counted."""

State = Literal[
    "reported",
    "imported before",
    "changed",
    "repeated",
    "not wanted",
    "unknown",
    "ambiguous",
    "answered",
    "refused",
    "unreadable",
    "apart",
    "waiting",
]
MEANING: Mapping[State, tuple[str, str]] = {
    "reported": ("score was reported", "scores were reported"),
    "imported before": ("score was imported before", "scores were imported before"),
    "changed": (
        "score differs from what was imported: correct it under the receipt",
        "scores differ from what was imported: correct those under the receipt",
    ),
    "repeated": (
        "score stands there again: the first of its kind was taken",
        "scores stand there again: the first of each kind was taken",
    ),
    "not wanted": (
        "score has another name, or is older, than was asked for",
        "scores have another name, or are older, than was asked for",
    ),
    "unknown": (
        "score is of a trace that no receipt of this key names",
        "scores are of traces that no receipt of this key names",
    ),
    "ambiguous": (
        "score fits several runs: say whose by --agent",
        "scores fit several runs: say whose by --agent",
    ),
    "answered": (
        "score has a receipt with a result as good, or expired: correct it under the receipt",
        "scores have receipts with a result as good, or expired: correct those under the receipt",
    ),
    "refused": ("score is no reward", "scores are no rewards"),
    "unreadable": ("line is no score", "lines are no scores"),
    "apart": ("score is about no trace", "scores are about no trace"),
    "waiting": (
        "score could not be taken just now: try again",
        "scores could not be taken just now: try again",
    ),
}
"""Of one, and of several."""
UNLISTED: tuple[State, ...] = ("reported", "imported before", "not wanted")
FAILED: tuple[State, ...] = ("refused", "unreadable", "waiting")
"""What nobody would notice if the command ended as if all was well."""
BY_CODE: Mapping[str, State] = {
    "retrieval_not_found": "unknown",
    "ambiguous_key": "ambiguous",
    "no_open_receipt": "answered",
    "idempotency_mismatch": "changed",
    "idempotency_running": "waiting",
}
MOST_RECEIPTS = 100
PASSING = (429, 503)
"""Refusals that may be over when the command is run again."""
STOPPING = (401, 403, *PASSING)
"""Refusals that every other score would meet, too."""
FIRST_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Source:
    """A place that scores come from, and who asks there."""

    name: str
    scores: Iterable[Score | UnreadableLine]
    identity: str
    """Tells it from other places in the names of files and keys."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How scores are reported."""

    scale: RewardScale
    agent: str | None
    verifier: Verifier
    reward_kind: Literal["continuous", "binary"] | None
    dry: bool


@dataclass(frozen=True, slots=True)
class ScoreIdentity:
    """What makes a score the same one: where it was kept, its id there, and what it is reported
    for. Different systems, and hands, give the same id to different scores.
    """

    source: str
    id: str
    trace_id: str | None
    name: str
    agent: str | None

    @property
    def key(self) -> str:
        """Its idempotency key."""
        return str(uuid5(NAMESPACE_URL, json.dumps(astuple(self))))


class Imported:
    """What was taken before, by the score's identity; kept in a file, a line each. Raises
    ConfigurationError for a file that is none of text.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._rewards: dict[ScoreIdentity, float] = {}
        try:
            text = file.read_text(encoding="utf-8") if file.exists() else ""
        except UnicodeDecodeError:
            raise ConfigurationError(
                f"--state: {file} is not UTF-8, so it says nothing of imports"
            ) from None
        for line in text.splitlines():
            try:
                row = json.loads(line)
                reward = float(row.pop("reward"))
                self._rewards[ScoreIdentity(**row)] = reward
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue  # The last line of a run that was killed.
        # A line that was cut off must not swallow the next one.
        self._ended = text.endswith("\n") or not text

    def reward(self, identity: ScoreIdentity) -> float | None:
        return self._rewards.get(identity)

    def add(self, identity: ScoreIdentity, reward: float) -> None:
        self._rewards[identity] = reward
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as file:
            start = "" if self._ended else "\n"
            file.write(f"{start}{json.dumps(asdict(identity) | {'reward': reward})}\n")
        self._ended = True


@dataclass(slots=True)
class Tally:
    """What became of the scores, each with a line of its own where it is worth one."""

    lines: dict[State, list[str]] = field(default_factory=lambda: defaultdict(list))
    fault: MemLiftError | OSError | None = None
    """What kept the rest from being looked at."""

    @property
    def has_failed(self) -> bool:
        return any(self.lines.get(state) for state in FAILED)

    def add(self, state: State, line: str) -> None:
        self.lines[state].append(line)

    def told(self, *, dry: bool = False) -> Iterator[str]:
        """Counts, and the first lines of what is worth a look."""
        for state, (one, several) in MEANING.items():
            lines = self.lines.get(state, [])
            if not lines:
                continue
            meaning = one if len(lines) == 1 else several
            if dry and state == "reported":
                meaning = (
                    "score would be reported" if len(lines) == 1 else "scores would be reported"
                )
            yield f"{len(lines)} {meaning}"
            if state not in UNLISTED or (dry and state == "reported"):
                yield from (f"  {line}" for line in lines[:LISTED])
                if len(lines) > LISTED:
                    yield f"  … and {len(lines) - LISTED} more"


class ScoreImport:
    """Takes scores one after another."""

    def __init__(
        self, memory: MemLift, source: Source, options: ImportOptions, imported: Imported
    ) -> None:
        self._memory = memory
        self._source = source
        self._options = options
        self._imported = imported
        self._seen: dict[ScoreIdentity, object] = {}

    def run(self, wanted: Wanted) -> Tally:
        """Report what is wanted. What would keep the rest from being reported, too, ends it."""
        tally = Tally()
        try:
            for score in self._source.scores:
                if isinstance(score, UnreadableLine):
                    tally.add("unreadable", f"line {score.number}: {score.reason}")
                elif wanted.takes(score):
                    tally.add(*self._take(score, tally))
                else:
                    tally.add("not wanted", _about(score))
        except (MemLiftError, OSError) as fault:
            tally.fault = fault
        return tally

    def _take(self, score: Score, tally: Tally) -> tuple[State, str]:
        about = _about(score)
        if score.trace_id is None:
            return "apart", f"{score.name} {score.value!r} ({score.label})"
        if not _is_text(f"{score.id}{score.name}{score.trace_id}"):
            return "refused", f"{about}: half a character stands in its id, name or trace"
        identity = ScoreIdentity(
            self._source.identity, score.id, score.trace_id, score.name, self._options.agent
        )
        if identity in self._seen:
            return "repeated", f"{about}: {self._seen[identity]!r} was taken"
        self._seen[identity] = score.value
        try:
            reward = self._options.scale.reward(score.value)
        except ScoreRefused as fault:
            return "refused", f"{about}: {fault}"
        before = self._imported.reward(identity)
        if before is not None:
            same = before == reward
            return ("imported before", about) if same else ("changed", f"{about}: was {before:g}")
        try:
            state, why = self._send(score, identity, reward)
        except (ConnectionFailed, MemLiftProblem) as fault:
            if isinstance(fault, ConnectionFailed) or fault.status in PASSING:
                tally.add("waiting", f"{about}: {fault}")
            raise
        if state == "reported" and not self._options.dry:
            self._imported.add(identity, reward)
        return state, f"{about}{why}"

    def _send(self, score: Score, identity: ScoreIdentity, reward: float) -> tuple[State, str]:
        """Report it, or foresee what would come of that, by the trace's likeliest name first."""
        send = self._foresee if self._options.dry else self._report
        state, why = "unknown", ""
        for trace in score.traces():
            try:
                state, why = send(identity, trace, reward)
            except MemLiftProblem as problem:
                if problem.status in STOPPING or problem.status >= FIRST_SERVER_ERROR:
                    raise
                state, why = self._refusal(problem)
            if state != "unknown":
                break
        return state, why

    def _report(self, identity: ScoreIdentity, trace: str, reward: float) -> tuple[State, str]:
        call = ops.report_by_key(
            trace_id=trace,
            reward=reward,
            agent=identity.agent,
            evaluator=f"{self._source.name} {identity.name}"[:200],
            verifier=self._options.verifier,
            reward_kind=self._options.reward_kind,
        )
        bound = self._memory.perform(call, key=identity.key)
        return "reported", f": reward {reward:g} for {_named(one.retrieval_id for one in bound)}"

    def _refusal(self, problem: MemLiftProblem) -> tuple[State, str]:
        """In words that fit this command; the server's are for who holds a receipt."""
        state = BY_CODE.get(problem.code, "refused")
        if state == "ambiguous":
            known = cast("list[dict[str, str]]", problem.limit or [])
            return state, f": of {_agents(one['agent'] for one in known)}"
        if state == "changed":
            now = f"{self._options.verifier} {self._options.reward_kind or ''}".strip()
            return state, f": its value, verifier or reward kind was another (now {now})"
        return state, "" if state in ("unknown", "answered") else f": {problem.detail}"

    def _foresee(self, identity: ScoreIdentity, trace: str, reward: float) -> tuple[State, str]:
        """What reporting would most likely do; which receipts are open is known to the server."""
        found = self._memory.list_retrievals(
            trace_id=trace, agent=identity.agent, limit=MOST_RECEIPTS
        ).items
        if not found:
            return "unknown", ""
        if len({one.agent for one in found}) > 1:
            return "ambiguous", f": of {_agents(one.agent for one in found)}"
        return "reported", f": reward {reward:g} for {_named(one.retrieval_id for one in found)}"


def _named(receipts: Iterable[str]) -> str:
    return ", ".join(map(str, receipts))


def _agents(names: Iterable[str]) -> str:
    found = sorted(set(names))
    return f"agent{'' if len(found) == 1 else 's'} {', '.join(found)}"


def _about(score: Score) -> str:
    return f"{score.name} {score.value!r} of trace {score.trace_id} ({score.label})"


def _is_text(text: str) -> bool:
    """Half of a pair of surrogates, which JSON can write, is no character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The words of the command, but for those by which a server is found."""
    parser.add_argument("source", choices=("langfuse", "langsmith", "mlflow", "jsonl"))
    parser.add_argument("file", nargs="?", type=Path, help="of jsonl: the file, or -")
    parser.add_argument("--name", help="the scores of this name; needed but for jsonl")
    parser.add_argument(
        "--project", help="mlflow: experiment id; langsmith: project id; langfuse: environment"
    )
    parser.add_argument("--since", help="scores made since then, such as 2026-11-01")
    parser.add_argument(
        "--scale",
        nargs=2,
        type=float,
        metavar=("MIN", "MAX"),
        default=(0.0, 1.0),
        help="the worst and the best score, where they are not 0 and 1",
    )
    parser.add_argument(
        "--label", action="append", default=[], metavar="WORD=REWARD", help="such as yes=1"
    )
    parser.add_argument("--source-url", help="the service; by default as its own client finds it")
    parser.add_argument("--verifier", choices=("human", "test", "judge", "self"))
    parser.add_argument("--reward-kind", choices=("continuous", "binary"))
    parser.add_argument("--state", type=Path, help="the file that says what was imported")
    parser.add_argument("--dry-run", action="store_true", help="say what would be reported")


def import_scores(memory: MemLift, server: str, given: argparse.Namespace) -> int:
    """The exit status: 1 where a score or a line was refused, or the rest was not looked at, as
    nobody would notice otherwise. `server`: where outcomes go.
    """
    since = None if given.since is None else read_moment(given.since)
    wanted = Wanted(given.name, since, given.project)
    source = find_source(given, wanted)
    try:
        scale = RewardScale(*given.scale, labels=dict(map(_label, given.label)))
    except ScoreRefused as fault:
        raise ConfigurationError(str(fault)) from None
    verifier = given.verifier or _claimable(memory)
    options = ImportOptions(scale, given.agent, verifier, given.reward_kind, given.dry_run)
    imported = Imported(given.state or _state_file(server, source))
    tally = ScoreImport(memory, source, options, imported).run(wanted)
    if given.dry_run:
        print("nothing is reported: a dry run")
    if not tally.lines and tally.fault is None:
        print("no scores were found")
    for line in tally.told(dry=given.dry_run):
        print(line.encode(errors="backslashreplace").decode())
    if tally.fault is not None:
        print(f"memlift: {tally.fault}", file=sys.stderr)
        if tally.lines:
            print("memlift: the rest was not looked at: run it again", file=sys.stderr)
    return 1 if tally.has_failed or tally.fault is not None else 0


def find_source(given: argparse.Namespace, wanted: Wanted) -> Source:
    """Raises ConfigurationError that names what is missing."""
    if given.source == "jsonl":
        if given.file is None:
            raise ConfigurationError("jsonl needs a file, or - for standard input")
        return Source("jsonl", from_lines(given.file, wanted), "jsonl")
    if not wanted.name:
        raise ConfigurationError(
            f"{given.source} needs --name: a trace has scores of several names, and one result"
        )
    if given.source == "mlflow" and not wanted.project:
        raise ConfigurationError("mlflow needs --project, the id of the experiment")
    read, place = PLACES[given.source](given.source_url)
    return Source(place.name, read(place, wanted), f"{place.name} {place.url}")


Read = Callable[[Place, Wanted], Iterator[Score]]


def _langfuse(url: str | None) -> tuple[Read, Place]:
    found = url or _variable("LANGFUSE_BASE_URL") or _variable("LANGFUSE_HOST")
    pair = f"{_needed('LANGFUSE_PUBLIC_KEY')}:{_needed('LANGFUSE_SECRET_KEY')}"
    return langfuse, Place("langfuse", found or "https://cloud.langfuse.com", _basic(pair))


def _langsmith(url: str | None) -> tuple[Read, Place]:
    found = url or _variable("LANGSMITH_ENDPOINT") or "https://api.smith.langchain.com"
    headers = {"x-api-key": _needed("LANGSMITH_API_KEY")}
    if workspace := _variable("LANGSMITH_WORKSPACE_ID"):
        headers["x-tenant-id"] = workspace
    return langsmith, Place("langsmith", found, headers)


def _mlflow(url: str | None) -> tuple[Read, Place]:
    found = url or _needed("MLFLOW_TRACKING_URI")
    headers: Mapping[str, str] = {}
    if token := _variable("MLFLOW_TRACKING_TOKEN"):
        headers = {"authorization": f"Bearer {token}"}
    elif user := _variable("MLFLOW_TRACKING_USERNAME"):
        headers = _basic(f"{user}:{_needed('MLFLOW_TRACKING_PASSWORD')}")
    return mlflow, Place("mlflow", found, headers)


PLACES: Mapping[str, Callable[[str | None], tuple[Read, Place]]] = {
    "langfuse": _langfuse,
    "langsmith": _langsmith,
    "mlflow": _mlflow,
}


def _variable(name: str) -> str | None:
    return os.environ.get(name) or None


def _needed(name: str) -> str:
    value = _variable(name)
    if value is None:
        raise ConfigurationError(f"set {name}")
    return value


def _basic(pair: str) -> Mapping[str, str]:
    return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _label(text: str) -> tuple[str, float]:
    word, _, reward = text.rpartition("=")
    try:
        return word, float(reward)
    except ValueError:
        raise ScoreRefused(f"--label: {text!r} is not WORD=REWARD") from None


def _claimable(memory: MemLift) -> Verifier:
    """A judge's word, as far as the key may claim it."""
    return "self" if memory.me().verifies == "self" else "judge"


def _state_file(server: str, source: Source) -> Path:
    """By custom; one for each server, namespace and source."""
    state = _variable("XDG_STATE_HOME")
    home = Path(state) if state else Path("~/.local/state").expanduser()
    digest = sha256(f"{server} {source.identity}".encode()).hexdigest()[:16]
    return home / "memlift" / "scores" / f"{source.name}-{digest}.jsonl"
