"""The analog forecaster: answers as similar past events came out.

What it knows without memory: the crowd's probability of each outcome, where the event shows one for
every outcome (never with `--hide-price`); else nothing, and it answers 1/n where exactly one of n
outcomes comes true, one half otherwise. It reads neither title nor rules nor sources.

What it does with memory: every retrieved memory that tells how its event came out votes, outcome by
outcome. A vote is the outcome of the same name (`metadata.outcomes`, {name: 0 or 1}; void outcomes
are absent); for outcomes named Yes and No, `metadata.outcome` (0 or 1) will do. A memory without
that name has no vote on it. The list of each ranker moves the answer from (κ prior + Σ score vote)
over (κ + Σ score), κ = 3; where exactly one outcome comes true and somebody voted, this is scaled
to sum to 1. The rankers' answers are mixed by how far the server believes each ranker, and the
answer given goes from the prior to that mixture by the strength that memory has earned.

The same event, memories and numbers give the same answer.
"""

from collections.abc import Mapping
from math import fsum
from typing import cast

from memlift_client import Retrieval, ServedMemory

from clients.demo.agent import Analog, forecast
from clients.demo.answering import Answer as Pooled
from clients.demo.answering import followed, scored
from clients.prophet.event import NO, YES, Event, Probabilities, folded, same
from clients.prophet.forecaster import Advised, Answer, Wish

K = 30
_SAYS = {True: "Starts from the crowd.", False: "Starts from all outcomes alike."}


class AnalogForecaster:
    """See the module. It has no state."""

    wish = Wish(k=K, all_rankers=True, format="memories")

    def alone(self, event: Event) -> Answer:
        crowd = event.by_crowd()
        return Answer(crowd or event.evenly(), _SAYS[crowd is not None])

    def advised(self, event: Event, alone: Answer | None, served: Retrieval) -> Advised:
        start = alone or self.alone(event)
        prior = start.probabilities
        rankers = {ranker: _pooled(event, prior, served, ranker) for ranker in served.rankers or {}}
        pooled = {name: _mixed(name, prior, served, rankers) for name in event.outcomes}
        return Advised(
            Answer({name: one.given for name, one in pooled.items()}, _told(start, event, served)),
            {name: one.full for name, one in pooled.items()},
            rankers or None,
        )


def _mixed(
    name: str, prior: Probabilities, served: Retrieval, rankers: Mapping[str, Probabilities]
) -> Pooled:
    if not rankers:
        return Pooled(prior[name], prior[name], {})
    answers = {ranker: one[name] for ranker, one in rankers.items()}
    return followed(prior[name], answers, served.rankers or {}, served.strength)


def _pooled(event: Event, prior: Probabilities, served: Retrieval, ranker: str) -> dict[str, float]:
    """What the list of one ranker makes of the prior."""
    voters = list(scored(served, ranker))
    pooled: dict[str, float] = {}
    voted = False
    for name in event.outcomes:
        votes = [(score, vote(memory, name)) for score, memory in voters]
        analogs = [Analog(score, said) for score, said in votes if said is not None]
        voted = voted or bool(analogs)
        pooled[name] = forecast(prior[name], analogs)
    return _scaled(pooled) if event.exclusive and voted else pooled


def _scaled(pooled: Mapping[str, float]) -> dict[str, float]:
    total = fsum(pooled.values())
    alone = len(pooled) == 1 or total <= 0
    return dict(pooled) if alone else {name: min(1.0, p / total) for name, p in pooled.items()}


def vote(memory: ServedMemory, name: str) -> int | None:
    """What the memory says of an outcome of this name: 1, 0, or None where it says nothing."""
    metadata = memory.metadata or {}
    outcomes = metadata.get("outcomes")
    if isinstance(outcomes, Mapping):
        told = cast("Mapping[str, object]", outcomes)
        return _bit(next((told[other] for other in told if same(other, name)), None))
    single = _bit(metadata.get("outcome"))
    if single is None or folded(name) not in (folded(YES), folded(NO)):
        return None
    return single if same(name, YES) else 1 - single


def _bit(value: object) -> int | None:
    return int(bool(value)) if value in (0, 1) else None


def _told(start: Answer, event: Event, served: Retrieval) -> str:
    voting = [m for m in served.memories if any(vote(m, o) is not None for o in event.outcomes)]
    count = len(voting)
    return f"{start.rationale} {count} past events voted; strength {served.strength:.2f}."
