"""Plays one attack in a world of its own and reads what it came to."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean

from benchmarks.attack.assault import Assault, Attack
from benchmarks.attack.wire import Budget, BudgetSpent, Caller
from benchmarks.attack.world import ROUNDS_BEFORE, Victim, World, open_world, settle

ROUNDS_DURING = 4
NO_ATTACK = "none"


@dataclass(frozen=True, slots=True)
class Grounds:
    """Where attacks are played: the cluster, and the seed of all worlds."""

    admin: Caller
    urls: Sequence[str]
    seed: int


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What an attack came to, and the surfaces on which it read what is private."""

    figures: Mapping[str, float]
    leaks: frozenset[str]


def in_peace(grounds: Grounds) -> dict[str, float]:
    """The same world without an adversary: what others are served of the later victims."""
    world = open_world(grounds.admin, grounds.urls, grounds.seed, NO_ATTACK)
    settle(world)
    for _ in range(ROUNDS_DURING):
        world.honest_round()
    figures = {"auc": separation(world, world.weights())}
    world.run_job("decay")
    figures |= _shares(world)
    world.close()
    return figures


def besiege(attack: Attack, grounds: Grounds, peace: Mapping[str, float]) -> Aftermath:
    """One attack from beginning to end; `peace` are those of the world without it."""
    world = open_world(grounds.admin, grounds.urls, grounds.seed, attack.name.replace("_", "-"))
    settle(world, ROUNDS_BEFORE if attack.weighed else 0)
    between = world.honest_round if attack.weighed else world.apply
    budget = Budget(between, quarters=ROUNDS_DURING)
    assault = Assault(world, budget, dict.fromkeys(attack.counts, 0.0))
    with suppress(BudgetSpent):
        attack.play(assault)
    budget.finish()
    world.apply()
    if attack.after is not None:
        attack.after(assault)
    figures = {"requests": float(budget.spent), "refused": float(budget.refused)}
    if attack.weighed:
        figures |= _weighed(assault, peace)
    figures |= assault.counts
    world.close()
    return Aftermath(figures, frozenset(assault.leaks))


def _weighed(assault: Assault, peace: Mapping[str, float]) -> dict[str, float]:
    """Moves and shares: with the adversary's word, and without it."""
    world = assault.world
    weights = world.weights()
    figures = {"auc": separation(world, weights), "auc_fall": 0.0, "move": 0.0, "own_lift": 0.0}
    for source in assault.sources:
        without = world.without(**source)
        moves = {k: weights[k] - without[k] for k in weights if k in without}
        others = {k: abs(v) for k, v in moves.items() if k not in assault.own}
        own = [v for k, v in moves.items() if k in assault.own]
        figures["move"] = max(figures["move"], *others.values())
        figures["own_lift"] = max(figures["own_lift"], *own, 0.0)
        fall = separation(world, without) - figures["auc"]
        figures["auc_fall"] = max(figures["auc_fall"], fall)
    world.run_job("decay")
    shares = _shares(world)
    figures["retired"] = _out_of_service(world)
    for source in assault.sources:
        world.roll_back(**source)
    down, _ = world.victims()
    undone = _named("share_down", world, down)
    figures |= shares
    figures["share_fall"] = fall_of_shares(shares, peace, len(down))
    figures["share_fall_undone"] = fall_of_shares(undone, peace, len(down))
    figures["retired_undone"] = _out_of_service(world)
    return figures


def separation(world: World, weights: Mapping[str, float]) -> float:
    """How often a good memory outweighs a bad one (ties count half): the area under the curve."""
    known = world.by_id()
    good = [weights[k] for k, note in known.items() if note.good and k in weights]
    bad = [weights[k] for k, note in known.items() if not note.good and k in weights]
    return area(good, bad)


def area(good: Sequence[float], bad: Sequence[float]) -> float:
    """The share of pairs in which the first is larger, ties counting half."""
    return fmean((g > b) + 0.5 * (g == b) for g in good for b in bad)


def fall_of_shares(shares: Mapping[str, float], peace: Mapping[str, float], victims: int) -> float:
    """How far the share of retrievals that serve a victim fell, in the mean of the victims."""
    names = [f"share_down_{place}" for place in range(victims)]
    return fmean(peace[name] - shares[name] for name in names)


def _shares(world: World) -> dict[str, float]:
    down, up = world.victims()
    return {**_named("share_down", world, down), **_named("share_up", world, up)}


def _named(name: str, world: World, victims: Sequence[Victim]) -> dict[str, float]:
    found = world.probe(victims)
    return {f"{name}_{n}": found[v.memory_id] for n, v in enumerate(victims)}


def _out_of_service(world: World) -> float:
    """Good memories of honest agents that are not active."""
    statuses = world.statuses()
    return float(sum(n.good and statuses.get(k) != "active" for k, n in world.by_id().items()))
