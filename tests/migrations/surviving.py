"""What must survive an upgrade, read by the code that is here: over HTTP what callers see, from the
stores what learning is a fold of.

The first release read its own database in the same shape before it was dumped, record by ranker
name included; see `data/README.md`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import Any, cast
from uuid import UUID

import httpx
from sqlalchemy import RowMapping
from starlette.types import ASGIApp, Receive, Scope, Send

from memory.belief.fold import Learned
from memory.belief.states import State
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.kernel.engine import Engine
from memory.receipts.rebuild import rebuilt
from memory.tenancy.entities import Call

SLUGS = ("wall", "replay", "hurt", "paper", "steps", "delta")
THEN = datetime(2026, 4, 15, 12, tzinfo=UTC)
"""When the database is read, before and after: weights age."""

RECEIPT = (
    *("retrieval_id", "agent", "task_id", "category", "purpose", "arm", "propensity", "eligible"),
    *("reason", "format", "k", "max_tokens", "rivals", "bank_version", "as_of", "ranker"),
    *("rankers", "strength", "policy", "guideline", "known_at", "recorded_at", "expires_at"),
)
ITEM = (
    *("memory_id", "version", "rank", "similarity", "relevance", "effective_weight"),
    *("ranking_weight", "score", "scores", "propensity", "served", "cited", "slot", "kind"),
)
OUTCOME = (
    *("id", "retrieval_id", "status", "reason", "evidence", "reward", "reward_without"),
    *("reward_full", "metric", "evaluator", "verifier", "helpful", "harmful", "supersedes"),
    *("muted", "known_at", "recorded_at", "applied_at", "bank_version", "withdrawn_version"),
)
WEIGHT = ("memory_id", "kind", "effective_weight", "served", "credited", "touched_at")
DEVIATION = ("agent", "category", "n", "deviation", "effective_weight")
LEDGER = (
    *("bank_version", "position", "subject", "memory_id", "agent_id", "category_id"),
    *("reward_kind", "day", "kind", "reason", "policy", "touched_before", "touched_after"),
    *("weight_before", "weight_after", "outcome_id", "known_at", "recorded_at", "superseded_by"),
)
FIRST_WORDS = {
    "all_rankers": "rivals",
    "exploration_slot": "slot",
    "retest": "probe",
    "retested": "probed",
}
"""What is called otherwise today, and how the first release called it."""
FIRST_FORMATS = {"full": "guideline", "memories": "memories"}
Json = dict[str, Any]


class At:
    """The application at a moment of one's choice."""

    def __init__(self, app: ASGIApp, now: datetime = THEN) -> None:
        self._app = app
        self.now = now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})["now"] = self.now
        await self._app(scope, receive, send)


async def survey(client: httpx.AsyncClient, slug: str) -> Json:
    """What a caller sees of a namespace."""
    inside = f"/v1/namespaces/{slug}"
    weights = await every(client, f"{inside}/weights")
    return {
        "weights": [_part(one, WEIGHT) for one in weights],
        "deviations": {
            one["memory_id"]: [
                _part(record, DEVIATION)
                for record in await every(client, f"{inside}/memories/{one['memory_id']}/records")
            ]
            for one in weights
        },
        "receipts": {
            one["retrieval_id"]: _digest(_receipt(one))
            for one in await every(client, f"{inside}/retrievals")
        },
        "outcomes": [_part(one, OUTCOME) for one in await every(client, f"{inside}/outcomes")],
        "effect": (await _get(client, f"{inside}/effect"))["items"],
        "rankers": (await _get(client, f"{inside}/rankers"))["items"],
    }


async def learned(engine: Engine, call: Call) -> Json:
    """Every state, the ledger, and whether folding it anew comes to the same."""
    async with engine.database.transaction(call.namespace.id) as connection:
        live = await StateStore(connection, call.namespace.id).load_all()
        again = await rebuilt(connection, call.namespace)
        rows = await LedgerStore(connection, call.namespace.id).everything()
    return {"states": states(live), "ledger": ledger(rows), "exact": live == again}


def states(live: Learned) -> Json:
    """All states by kind and subject."""
    return {
        field.name: {
            str(_plain(key)): _state(state) for key, state in sorted(named.items(), key=str)
        }
        for field in fields(Learned)
        if (named := getattr(live, field.name)) is not None
    }


def ledger(rows: Sequence[RowMapping]) -> dict[str, str]:
    """A digest a version of the bank, over all that its events say."""
    versions: dict[str, list[Json]] = {}
    for row in rows:
        event = {name: _plain(row[name]) for name in LEDGER}
        event |= {"before": _numbers(row, "before"), "after": _numbers(row, "after")}
        versions.setdefault(str(row["bank_version"]), []).append(event)
    return {version: _digest(events) for version, events in versions.items()}


def _numbers(row: RowMapping, side: str) -> object:
    values = row[f"state_{side}"]
    return None if values is None else [list(values), _by_ranker(row, side)]


def _by_ranker(row: RowMapping, side: str) -> Json:
    named = row[f"by_ranker_{side}"]
    return {} if named is None else {name: [float(n) for n in each] for name, each in named.items()}


def _state(state: State) -> Json:
    named = {name: list(each) for name, each in sorted(state.by_ranker.items())}
    return {"values": list(state.values), "by_ranker": named, "touched": _plain(state.touched)}


async def every(client: httpx.AsyncClient, path: str) -> list[Json]:
    """All items of a listing, page by page."""
    found: list[Json] = []
    cursor: str | None = None
    while True:
        page = await _get(client, path, **({} if cursor is None else {"cursor": cursor}))
        found += page["items"]
        cursor = page.get("next_cursor")
        if cursor is None:
            return found


async def _get(client: httpx.AsyncClient, path: str, **query: str) -> Json:
    answer = await client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return _in_first_words(answer.json())


def _in_first_words(value: Any) -> Any:
    """The same answer, as the first release would have worded it."""
    if isinstance(value, dict):
        named = cast("Json", value).items()
        return {FIRST_WORDS.get(name, name): _in_first_words(part) for name, part in named}
    if isinstance(value, list):
        return [_in_first_words(part) for part in cast("list[Any]", value)]
    return FIRST_WORDS.get(value, value) if isinstance(value, str) else value


def _receipt(one: Json) -> Json:
    """What the first release called a guideline is the full format, and its citations are named."""
    told = _part(one, RECEIPT) | {"items": [_part(item, ITEM) for item in one["items"]]}
    guideline = dict(told["guideline"])
    told_lines = [line for line in guideline["lines"] if line["text"]]
    cited = {memory_id for line in told_lines for memory_id in line["memory_ids"]}
    assert set(guideline.pop("citations").values()) == cited
    return told | {"guideline": guideline, "format": FIRST_FORMATS[told["format"]]}


def _part(one: Mapping[str, Any], names: Sequence[str]) -> Json:
    return {name: one[name] for name in names}


def _plain(value: object) -> object:
    """As JSON tells it."""
    if isinstance(value, tuple):
        return " ".join(str(_plain(part)) for part in value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return str(value) if isinstance(value, (UUID, date)) else value


def _digest(value: object) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:24]
