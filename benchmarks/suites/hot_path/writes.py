"""Suite `writes`: outcomes, a new memory and many, beside the first release; the cost of triggers.

Two servers take turns, one call each: an outcome of a receipt, a new experience once the key has
been served (its text is then compared with what was served), a batch of new ones. Whether the
triggers that write down changed rows cost much is timed on today's server, in turns with them off.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import psycopg

from benchmarks import metrics
from benchmarks.bench import Bench
from benchmarks.load import Hit, Shot, fire, fire_in_turn, timings
from benchmarks.metrics import Target, at_least, at_most
from benchmarks.suites.hot_path.filling import made_texts
from benchmarks.suites.hot_path.servers import COPY, FIRST, Contender, contenders
from benchmarks.suites.plan import Suite
from benchmarks.texts import experiences, tasks

ONE = 1
SIZE = 32
TURNS = 6
OUTCOME, CREATE, BATCH = "outcome", "create", "batch_create"
OFF, ON = "without_triggers", "with_triggers"


def run(bench: Bench) -> None:
    """Serve, report, remember one by one and many at once, then the triggers."""
    texts = made_texts(bench.folder.parent, bench.settings["memories"], bench.settings["seed"])
    with contenders(bench, (FIRST, COPY), texts) as found:
        receipts = _receipts(bench, found)
        _outcomes(bench, found, receipts)
        new = experiences(1_000_000, bench.settings["seed"] + 77)
        count = bench.settings["requests"]
        bench.say(f"{count} new experiences, one by one")
        bodies = [next(new) for _ in range(count)]
        rounds = [[_create(one, body) for one in found.values()] for body in bodies]
        _keep(bench, CREATE, found, rounds)
        count = bench.settings["batches"]
        bench.say(f"{count} batches of {SIZE} new experiences")
        many = [list(islice(new, SIZE)) for _ in range(count)]
        rounds = [[_create_all(one, bodies) for one in found.values()] for bodies in many]
        _keep(bench, BATCH, found, rounds)
        _triggers(bench, found[COPY], new)


def _receipts(bench: Bench, found: Mapping[str, Contender]) -> Mapping[str, list[str]]:
    count = bench.settings["receipts"]
    bench.say(f"{count} receipts of each server")
    served: dict[str, list[str]] = {}
    for name, one in found.items():
        asks = [one.ask(text) for text in tasks(count, bench.settings["seed"] + 2)]
        hits = fire(one.served, asks, 4)
        served[name] = [hit.answer["retrieval_id"] for hit in hits if hit.timing.ok]
    return served


def _outcomes(
    bench: Bench, found: Mapping[str, Contender], receipts: Mapping[str, Sequence[str]]
) -> None:
    count = bench.settings["requests"]
    bench.say(f"{count} outcomes")
    rounds = [
        [
            Shot(
                "POST",
                f"{one.prefix}/retrievals/{receipts[name][number]}/outcome",
                {"reward": number % 11 / 10},
            )
            for name, one in found.items()
        ]
        for number in range(count)
    ]
    _keep(bench, OUTCOME, found, rounds)


def _create(one: Contender, body: Mapping[str, object]) -> Shot:
    return Shot("POST", f"{one.prefix}/experiences", body)


def _create_all(one: Contender, bodies: Sequence[Mapping[str, object]]) -> Shot:
    return Shot("POST", f"{one.prefix}/experiences/batch", {"items": bodies})


def _keep(
    bench: Bench,
    operation: str,
    found: Mapping[str, Contender],
    rounds: Sequence[Sequence[Shot]],
) -> None:
    hits = fire_in_turn([one.served for one in found.values()], rounds)
    for name, some in zip(found, hits, strict=True):
        _require_good(f"{operation} of {name}", some)
        bench.timed(f"{operation}_{name}", ONE, timings(some))


def _require_good(what: str, hits: Sequence[Hit]) -> None:
    if not all(hit.timing.ok for hit in hits):
        raise SystemExit(f"{what} was answered with {sorted({hit.status for hit in hits})}")


def _triggers(bench: Bench, one: Contender, new: Any) -> None:
    """The same work with the triggers on and off, in turns."""
    count = bench.settings["requests"] // TURNS
    bench.say(f"{TURNS} turns of {count} new experiences and {count} outcomes, triggers on and off")
    for turn in range(2 * TURNS):
        name = ON if turn % 2 else OFF
        _switch(one, "ENABLE" if name == ON else "DISABLE")
        asks = [one.ask(text) for text in tasks(count, bench.settings["seed"] + 200 + turn)]
        served = fire(one.served, asks, ONE)
        paths = [f"{one.prefix}/retrievals/{h.answer['retrieval_id']}/outcome" for h in served]
        outcomes = fire(one.served, [Shot("POST", path, {"reward": 0.5}) for path in paths], ONE)
        bench.timed(f"{OUTCOME}_{name}", ONE, timings(outcomes))
        created = fire(one.served, [_create(one, next(new)) for _ in range(count)], ONE)
        bench.timed(f"{CREATE}_{name}", ONE, timings(created))
        _require_good(name, [*outcomes, *created])


def _switch(one: Contender, how: str) -> None:
    with psycopg.connect(one.database_url, autocommit=True) as connection:
        for table, trigger in connection.execute(_TRIGGERS).fetchall():
            connection.execute(f'ALTER TABLE "{table}" {how} TRIGGER "{trigger}"'.encode())


_TRIGGERS = r"""SELECT c.relname, t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
    WHERE t.tgname LIKE 'row\_change\_%' ORDER BY 1, 2"""


def targets(rows: Sequence[metrics.Row]) -> list[Target]:
    """Against the first release: the time of one call, and memories a second in batches. The share
    that the triggers cost has no target of the issue's; it is told.
    """
    found = metrics.table(rows)
    p50 = {name.partition("@")[0]: one.p50 for name, one in found.items()}

    def against(operation: str, most: float) -> Target:
        name = f"{operation} p50 / first release"
        mine, first = p50.get(f"{operation}_{COPY}"), p50.get(f"{operation}_{FIRST}")
        if mine is None or first is None:
            return at_most(name, most, None, {})
        return at_most(name, most, mine / first, {COPY: mine, FIRST: first})

    mine, first = p50.get(f"{BATCH}_{COPY}"), p50.get(f"{BATCH}_{FIRST}")
    rates = {} if mine is None or first is None else {COPY: _rate(mine), FIRST: _rate(first)}
    measured = rates[COPY] / rates[FIRST] if rates else None
    return [
        against(OUTCOME, 1 / 2),
        against(CREATE, 1 / 3),
        at_least("memories a second in batches / first release", 4.0, measured, rates),
    ]


def _rate(ms: float) -> float:
    return SIZE / ms * 1000


SUITE = Suite(
    about="outcomes and new memories beside the first release, and the cost of triggers",
    settings={
        "memories": 10_000,
        "receipts": 420,
        "requests": 120,
        "batches": 12,
        "seed": 1,
        "settle": 75,
    },
    server=None,
    run=run,
    targets=targets,
)
