"""What the bank keeps: opposites that must not be merged, twins that may be one, corrections.

Each pair and each saying has a namespace of its own.
"""

from collections.abc import Sequence

from memlift_client import ExperienceFields, MemLift, TaskFields

from benchmarks.bench import Bench
from benchmarks.guidelines.corpus import CITE, Pair, Saying

AGENT, READER = "writer", "reader"
SITUATION = "a step of the procedure is planned"
CATEGORY = "procedures"
CITED = 8
"""Hexadecimal digits of a citation by id."""


def keep_pairs(bench: Bench, client: MemLift, slug: str, pairs: Sequence[Pair]) -> None:
    """Both lessons stored, the job run by hand; one memory is left of what is merged."""
    merged = {source: {True: 0, False: 0} for source in ("cases", "own")}
    for place, pair in enumerate(pairs):
        one = _is_merged(client, f"{slug}-pair-{place}", pair)
        merged[pair.source][pair.same] += one
        if one != pair.same:
            said = "merged, and they differ" if one else "kept apart, and they say the same"
            bench.say(f"{said}: {pair.one!r} / {pair.other!r}")
    for source, found in merged.items():
        for same, name in ((False, "opposites"), (True, "twins")):
            every = sum(pair.source == source and pair.same is same for pair in pairs)
            bench.number(f"{name}_{source}", every, "pairs")
            bench.number(f"{name}_{source}_merged", found[same], "pairs")


def _is_merged(client: MemLift, slug: str, pair: Pair) -> bool:
    client.create_namespace(slug)
    memory = client.within(slug)
    for lesson in (pair.one, pair.other):
        memory.remember(agent=AGENT, situation=SITUATION, lesson=lesson, category=CATEGORY)
    memory.run_job("merge")
    return memory.list_experiences(status="active").total == 1


def keep_sayings(bench: Bench, client: MemLift, slug: str, sayings: Sequence[Saying]) -> None:
    """A lesson served to the key that then stores what it says of it."""
    kept = {"correction": 0, "echo": 0}
    for place, saying in enumerate(sayings):
        one = _is_kept(client, f"{slug}-saying-{place}", saying)
        kept[saying.kind] += one
        if one != (saying.kind == "correction"):
            bench.say(f"{saying.kind} {'kept' if one else 'dropped'}: {saying.said!r}")
    for kind, found in kept.items():
        bench.number(f"{kind}s", sum(one.kind == kind for one in sayings), "texts")
        bench.number(f"{kind}s_kept", found, "texts")


def _is_kept(client: MemLift, slug: str, saying: Saying) -> bool:
    client.create_namespace(slug)
    memory = client.within(slug)
    draft = ExperienceFields(
        agent=AGENT, situation=saying.situation, lesson=saying.served, category=CATEGORY
    )
    first = memory.remember(**draft)
    task = TaskFields(text=saying.situation)
    served = memory.retrieve(agent=READER, task=task, arm="on", explore=False)
    if first.id not in served.guideline.citations.values():
        raise SystemExit(f"not served for its own situation: {saying.served!r}")
    said = saying.said.replace(CITE, f"[m:{first.id.replace('-', '')[-CITED:]}]")
    second = memory.remember(
        agent=READER, situation=saying.situation, lesson=said, category=CATEGORY
    )
    return not second.echo and not second.deduplicated and second.id != first.id
