"""Where scores are kept: Langfuse, LangSmith and MLflow by their HTTP interfaces, or a file.

Each source walks through its pages and gives one score after another, the same ids each time.
"""

import json
import random
import sys
import time
from codecs import BOM_UTF8
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import cast

import httpx

from memlift_client._connection import no_answer, reply_of
from memlift_client._faults import ConfigurationError, UnexpectedAnswer
from memlift_client._retries import Event, Pause, RetryPolicy, exchange
from memlift_client._scores import Score, UnreadableLine
from memlift_client._wire import Parameter, Request

Row = Mapping[str, object]
PAGE = 100
FIRST_ERROR = 400


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which scores: of this name, and made since then. `project` is what the place calls project,
    session or experiment.
    """

    name: str | None = None
    since: datetime | None = None
    project: str | None = None

    def takes(self, score: Score) -> bool:
        late = self.since is None or score.made_at is None or score.made_at >= self.since
        return late and (self.name is None or score.name == self.name)


@dataclass(frozen=True, slots=True)
class Place:
    """The address of a service and what it asks of a caller."""

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)


class Reader:
    """Asks one place; waits where it says that it is asked too often."""

    def __init__(self, place: Place) -> None:
        self._place = place
        timeout = place.retry_policy.timeout
        self._http = httpx.Client(
            base_url=place.url, headers=dict(place.headers), timeout=timeout, follow_redirects=True
        )

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, query: Mapping[str, object]) -> object:
        known = {name: cast("Parameter", value) for name, value in query.items() if value}
        return self._ask(Request("GET", path, known))

    def search(self, path: str, body: Row) -> object:
        """A question that is posted and changes nothing."""
        content = json.dumps({name: value for name, value in body.items() if value}).encode()
        # Its key lets it be repeated.
        return self._ask(Request("POST", path, content=content, key="search"))

    def _ask(self, request: Request) -> object:
        """The JSON of an answer. Raises UnexpectedAnswer for a refusal, ConnectionFailed."""
        talk = exchange(request, self._place.retry_policy, random.random)
        event: Event = None
        while True:
            try:
                step = talk.send(event)
            except StopIteration as end:
                reply = end.value
                break
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                event = None
                continue
            event = self._send(step)
        name, place = self._place.name, f"{request.method} {request.path}"
        if reply.status >= FIRST_ERROR:
            said = reply.content[:200].decode(errors="replace")
            raise UnexpectedAnswer(f"{name} answered {reply.status} to {place}: {said}")
        try:
            return json.loads(reply.content)
        except ValueError as fault:
            raise UnexpectedAnswer(f"{name} answered {place} with what is no JSON") from fault

    def _send(self, request: Request) -> Event:
        headers = {} if request.content is None else {"content-type": "application/json"}
        try:
            return reply_of(
                self._http.request(
                    request.method,
                    request.path,
                    params=dict(request.parameters) or None,
                    content=request.content,
                    headers=headers,
                )
            )
        except httpx.TransportError as fault:
            return no_answer(fault)


@contextmanager
def reading(place: Place) -> Generator[Reader]:
    """A reader of the place, closed at the end."""
    reader = Reader(place)
    try:
        yield reader
    finally:
        reader.close()


def langfuse(place: Place, wanted: Wanted) -> Iterator[Score]:
    """`GET /api/public/v3/scores`: scores of traces, and of observations inside them."""
    query: dict[str, object] = {
        "limit": PAGE,
        "fields": "subject",
        "name": wanted.name,
        "environment": wanted.project,
        "fromTimestamp": _written(wanted.since),
    }
    with reading(place) as reader:
        while True:
            page = _object(reader.get("/api/public/v3/scores", query), place)
            for row in _rows(page.get("data"), place):
                subject = _object(row.get("subject") or {}, place)
                kind = subject.get("kind")
                trace = subject.get("id") if kind == "trace" else subject.get("traceId")
                yield _score(row, "name", row.get("value"), trace, row.get("timestamp"))
            cursor = _object(page.get("meta") or {}, place).get("cursor")
            if not cursor:
                return
            query["cursor"] = cursor


def langsmith(place: Place, wanted: Wanted) -> Iterator[Score]:
    """`GET /feedback`: of runs, by the trace that each is part of."""
    query: dict[str, object] = {
        "limit": PAGE,
        "key": wanted.name,
        "session": wanted.project,
        "min_created_at": _written(wanted.since),
    }
    offset = 0
    with reading(place) as reader:
        while True:
            rows = _rows(reader.get("/feedback", query | {"offset": offset}), place)
            for row in rows:
                value = row.get("value") if row.get("score") is None else row.get("score")
                trace = row.get("trace_id") or row.get("run_id")
                yield _score(row, "key", value, trace, row.get("created_at"))
            if len(rows) < PAGE:
                return
            offset += len(rows)


def mlflow(place: Place, wanted: Wanted) -> Iterator[Score]:
    """`POST /api/3.0/mlflow/traces/search`: the feedback among the assessments of an experiment's
    traces. One that was overridden counts no more.
    """
    experiment = {"experiment_id": wanted.project}
    location = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": experiment}
    body: dict[str, object] = {"locations": [location], "max_results": PAGE}
    with reading(place) as reader:
        while True:
            page = _object(reader.search("/api/3.0/mlflow/traces/search", body), place)
            for trace in _rows(page.get("traces") or [], place):
                for row in _rows(trace.get("assessments") or [], place):
                    feedback = _object(row.get("feedback") or {}, place)
                    if "value" not in feedback or row.get("valid") is False:
                        continue
                    named = {"id": row.get("assessment_id"), "name": row.get("assessment_name")}
                    trace_id = row.get("trace_id") or trace.get("trace_id")
                    moment = row.get("create_time")
                    yield _score(named, "name", feedback["value"], trace_id, moment)
            token = page.get("next_page_token")
            if not token:
                return
            body["page_token"] = token


def from_lines(file: Path, wanted: Wanted) -> Iterator[Score | UnreadableLine]:
    """A file, or standard input for `-`, with an object a line: `trace_id`, `value`, and where
    there are any `id`, `name` and `made_at`. Without an id, what it says stands for one.
    """
    lines = sys.stdin.buffer if str(file) == "-" else file.open("rb")
    with lines:
        for number, line in enumerate(lines, 1):
            bare = line.removeprefix(BOM_UTF8).strip() if number == 1 else line.strip()
            if not bare:
                continue
            try:
                yield _score_of_line(bare, number, wanted)
            except (UnexpectedAnswer, ConfigurationError) as fault:
                yield UnreadableLine(number, str(fault))
            except UnicodeDecodeError:
                yield UnreadableLine(number, "it is not UTF-8")
            except ValueError:
                yield UnreadableLine(number, "it is no JSON")
            except RecursionError:
                yield UnreadableLine(number, "it is nested too deeply")


def _score_of_line(line: bytes, number: int, wanted: Wanted) -> Score:
    row: object = json.loads(line.decode())
    if not isinstance(row, dict):
        raise UnexpectedAnswer("it is no object")
    known = cast("Row", row)
    trace = known.get("trace_id")
    if "value" not in known or not isinstance(trace, str | int) or trace == "":
        raise UnexpectedAnswer("it needs trace_id and value")
    name = str(known.get("name") or wanted.name or "score")
    own = known.get("id")
    unnamed = own is None or own == ""
    told = json.dumps([trace, name, known["value"]])
    named = {"id": sha256(told.encode()).hexdigest() if unnamed else own, "name": name}
    score = _score(named, "name", known["value"], trace, known.get("made_at"))
    return replace(score, line=number) if unnamed else score


def _score(row: Row, name: str, value: object, trace: object, moment: object) -> Score:
    return Score(
        id=str(row.get("id")),
        name=str(row.get(name)),
        value=value,
        trace_id=None if trace is None else str(trace),
        made_at=read_moment(moment) if isinstance(moment, str) else None,
    )


def read_moment(text: str) -> datetime:
    """A time; UTC where it names no zone. Raises ConfigurationError for what is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigurationError(f"{text[:40]!r} is no time, such as 2026-11-01") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _object(value: object, place: Place) -> Row:
    if not isinstance(value, dict):
        raise UnexpectedAnswer(f"{place.name}: an object was expected, not {str(value)[:80]!r}")
    return cast("Row", value)


def _rows(value: object, place: Place) -> Sequence[Row]:
    if not isinstance(value, list):
        raise UnexpectedAnswer(f"{place.name}: a list was expected, not {str(value)[:80]!r}")
    return [_object(row, place) for row in cast("Iterable[object]", value)]
