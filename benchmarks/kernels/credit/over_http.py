"""One world through a running server, and the same outcomes through the pure functions.

The world's 96 memories get texts by topic; each task is retrieved, acted on as the world has it,
reported and applied before the next. Then every weight is read over HTTP and compared with a fold
of the very same served sets and outcomes. How much was captured is compared with plays in this
process over the same similarities, in which only the lots (control, slot) fall differently: with
binary rewards and one world those alone move it by several hundredths, so several are played.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any
from uuid import UUID

import numpy as np

from benchmarks.bench import Bench
from benchmarks.kernels.credit.measures import captured
from benchmarks.kernels.credit.play import NOBODY, play
from benchmarks.kernels.credit.plugged import (
    BEGINNING,
    SLOT_RATE,
    Plugged,
    agent_id,
    category_id,
    moment,
)
from benchmarks.kernels.credit.rules import SCORE_GATE, Weighted
from benchmarks.kernels.credit.texts import CATEGORIES, SITUATIONS, lesson, task_text
from benchmarks.kernels.credit.world import (
    BEST,
    CONTROL,
    MEMORIES,
    RAW_GATE,
    SCENARIOS,
    STREAM,
    Floats,
    Ints,
    World,
    draw,
)
from benchmarks.load import Shot, fire, timings
from memory.belief.fold import Learn, Learned, fold
from memory.belief.policy import POLICIES
from memory.belief.states import Evidence, Observation
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder

POLICY = "belief"
SCENARIO = "mixed_bin"
CONFLICT = 409
LOTS = 8
EVIDENCE = {
    "paired": Evidence.PAIRED,
    "on": Evidence.SINGLE,
    "retest": Evidence.SINGLE,
    "control": Evidence.CONTROL,
}


@dataclass(slots=True)
class Stage:
    """A namespace filled with the world's memories, and what has happened in it."""

    bench: Bench
    world: World
    prefix: str
    memories: tuple[UUID, ...]
    served: Ints
    held_back: list[int] = field(default_factory=list[int])
    near: dict[tuple[int, int], float] = field(default_factory=dict[tuple[int, int], float])
    entries: list[Learn] = field(default_factory=list[Learn])

    def ask(self, method: str, path: str, body: object = None, timed: str | None = None) -> Any:
        [hit] = fire(self.bench.server, [Shot(method, self.prefix + path, body)], 1)
        if timed is not None:
            self.bench.timed(timed, 1, timings([hit]))
        if not hit.timing.ok:
            raise SystemExit(f"{method} {path}: {hit.status} {hit.answer}")
        return hit.answer


def run(bench: Bench) -> None:
    """Play the tasks through the server and record how far it and the functions are apart."""
    tasks = bench.settings["tasks"]
    world = draw(SCENARIOS[SCENARIO], bench.settings["seed"])
    stage = _prepared(bench, world, tasks)
    for task in range(tasks):
        _one_task(stage, task)
        if (task + 1) % 100 == 0:
            bench.say(f"{task + 1} tasks of {tasks}")
    apart = max(_differences(stage))
    bench.say(f"largest difference of a weight or state: {apart:.3g}")
    bench.number("largest_difference", apart, "")
    bench.number("outcomes_that_moved", len(stage.entries), "")
    for name, share in _captured(stage, tasks):
        bench.say(f"captured, {name}: {share:.3f}")
        bench.number(f"captured_{name}", share, "")


def _prepared(bench: Bench, world: World, tasks: int) -> Stage:
    stage = Stage(bench, world, _namespace(bench), (), np.full((tasks, BEST), NOBODY))
    items = [
        {
            "agent": "teacher",
            "situation": SITUATIONS[memory],
            "lesson": lesson(memory),
            "category": CATEGORIES[memory * len(CATEGORIES) // MEMORIES],
            "learned_at": BEGINNING.isoformat(),
        }
        for memory in range(MEMORIES)
    ]
    answer = stage.ask("POST", "/experiences/batch", {"items": items})
    stage.memories = tuple(UUID(item["id"]) for item in answer["items"])
    return stage


def _namespace(bench: Bench) -> str:
    """A replay namespace of its own, numbered where earlier runs have left theirs."""
    settings = {
        "control_rate": CONTROL,
        "raw_gate": RAW_GATE,
        "score_floor": SCORE_GATE,
        "slot_rate": SLOT_RATE,
        # The kernel that it is compared with tosses none.
        "coins": False,
    }
    for number in count(1):
        slug = f"bench-credit-{number}"
        body = {"slug": slug, "clock": "replay", "policy": POLICY, "settings": settings}
        [hit] = fire(bench.server, [Shot("POST", "/v1/namespaces", body)], 1)
        if hit.timing.ok:
            return f"/v1/namespaces/{slug}"
        if hit.status != CONFLICT:
            raise SystemExit(f"the server refused a namespace: {hit.status} {hit.answer}")
    raise AssertionError("numbers do not end")


def _one_task(stage: Stage, task: int) -> None:
    """Retrieve, act, report, apply."""
    world, topic = stage.world, int(stage.world.topic[task])
    paired = world.evidence(task) == "paired"
    category = CATEGORIES[int(world.category[task])]
    body = {
        "agent": _agent(int(world.agent[task])),
        "task": {"text": task_text(task, topic), "category": category},
        "as_of": moment(task).isoformat(),
        "purpose": "paired" if paired else "act",
        "k": BEST,
    }
    receipt = stage.ask("POST", "/retrievals", body, "retrieve")
    cited = {m["memory_id"]: m["similarity"] for m in receipt["memories"] if m["cited"]}
    chosen = tuple(stage.memories.index(UUID(memory)) for memory in cited)
    stage.near |= {(task, m): near for m, near in zip(chosen, cited.values(), strict=True)}
    stage.served[task, : len(chosen)] = chosen
    on, off = world.rewards(task, chosen)
    if receipt["arm"] == "control":
        stage.held_back.append(task)
    report: dict[str, object] = {
        "reward": on if chosen else off,
        "reward_kind": "binary",
        "known_at": moment(task).isoformat(),
    }
    if paired and chosen:
        report["without"] = {"reward": off}
    stage.ask("POST", f"/retrievals/{receipt['retrieval_id']}/outcome", report, "outcome")
    stage.ask("POST", "/outcomes/apply", {}, "apply")
    evidence = EVIDENCE.get(receipt["arm"], Evidence.NONE)
    if evidence is not Evidence.NONE:
        stage.entries.append(_entry(stage, task, evidence, (on, off)))


def _entry(stage: Stage, task: int, evidence: Evidence, rewards: tuple[float, float]) -> Learn:
    """The same outcome for the pure functions."""
    world, (on, off) = stage.world, rewards
    observation = Observation(
        evidence=evidence,
        reward_on=None if evidence is Evidence.CONTROL else on,
        reward_off=None if evidence is Evidence.SINGLE else off,
        memories=tuple(stage.memories[m] for m in stage.served[task] if m != NOBODY),
        author_of=frozenset(),
        helpful=(),
        harmful=(),
        now=moment(task),
    )
    agent, category = int(world.agent[task]), int(world.category[task])
    return Learn(agent_id(agent), category_id(category), "binary", observation)


def _differences(stage: Stage) -> Iterator[float]:
    """Every weight and state as the server tells it, against the fold."""
    learned, now = fold(POLICIES[POLICY], stage.entries), moment(len(stage.served) - 1)
    for agent in (None, *range(stage.world.scenario.agents)):
        question = "" if agent is None else f"?agent={_agent(agent)}"
        for memory in stage.memories:
            told = stage.ask("GET", f"/experiences/{memory}/weight{question}")
            mine = _weight(learned, memory, agent, now)
            yield max(
                abs(told[name] - mine[name]) for name in ("effective_weight", "ranking_weight")
            )
            yield max(abs(told["state"][name] - mine[name]) for name in ("mean", "variance"))


def _weight(
    learned: Learned, memory: UUID, agent: int | None, now: datetime
) -> Mapping[str, float]:
    policy = POLICIES[POLICY]
    state = policy.age_memory(learned.memories.get(memory, policy.initial_memory()), now)
    known = None if agent is None else learned.deviations.get((memory, agent_id(agent)))
    deviation = None if known is None else policy.age_deviation(known, now)
    mean, variance = state.values
    return {
        "effective_weight": policy.effective_weight(state, deviation),
        "ranking_weight": policy.ranking_weight(state, deviation),
        "mean": mean,
        "variance": variance,
    }


def _captured(stage: Stage, tasks: int) -> Iterator[tuple[str, float]]:
    """By the server, by the same policy in this process, and by weights that never move."""
    texts = [task_text(task, int(topic)) for task, topic in enumerate(stage.world.topic[:tasks])]
    near = asyncio.run(_similarity(texts))
    apart = max((abs(near[at] - told) for at, told in stage.near.items()), default=0.0)
    stage.bench.say(f"largest difference of a similarity: {apart:.3g}")
    stage.bench.number("largest_similarity_difference", apart, "")
    world = first_tasks(stage.world, near)
    # What the lot held back was selected and not told: as elsewhere, its cost is left out.
    acted = np.setdiff1d(np.arange(tasks), stage.held_back)
    yield "http", captured(world.lift(stage.served)[acted], world.best[acted])
    shares = sorted(_by_lot(world, lot) for lot in range(LOTS))
    yield from (("pure_least", shares[0]), ("pure_most", shares[-1]))
    yield "pure", sum(shares) / LOTS
    frozen = play(world, Weighted(), head=True)
    yield "frozen", captured(world.lift(frozen.served), world.best)


def _by_lot(world: World, lot: int) -> float:
    """Captured by the pure functions, serving as the server does, when the slot falls so."""
    slot = np.random.default_rng([lot, STREAM]).random(world.slot.shape)
    drawn = replace(world, slot=slot)
    played = play(drawn, Plugged(POLICY, drawn), head=True, slot_similarity=RAW_GATE)
    return captured(drawn.lift(played.served), drawn.best)


def first_tasks(world: World, similarity: Floats) -> World:
    """The beginning of a world, with other similarities."""
    tasks = len(similarity)
    return replace(
        world,
        scenario=replace(world.scenario, tasks=tasks),
        topic=world.topic[:tasks],
        agent=world.agent[:tasks],
        difficulty=world.difficulty[:tasks],
        similarity=similarity,
    )


async def _similarity(texts: Sequence[str]) -> Floats:
    """Of each text to each memory's situation, by the bundled model."""
    embedder = LocalEmbedder(EmbedderPolicy())
    embedder.start()
    await embedder.wait_until_ready()
    try:
        memories = await embedder.embed(SITUATIONS)
        asked = await embedder.embed(texts)
    finally:
        await embedder.close()
    rows = np.array([embedding.vector for embedding in asked], dtype=np.float64)
    return rows @ np.array([embedding.vector for embedding in memories], dtype=np.float64).T


def _agent(agent: int) -> str:
    return f"agent-{agent}"
