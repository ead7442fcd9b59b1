"""The arms of a streaming evaluation: how each remembers, and how the agent answers by it.

Every arm meets the same batches. `price` and `none` need no memory. `similarity` reads the most
similar memories and learns nothing about them; `memlift` is the server with its defaults; `paper`
its preset of Live-Evo's rule. `anchor` is similarity without any gate: what published figures of
such a forecaster are compared with. The ablations are `memlift` less one part each.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from memlift_client import NamespaceSettingsFields, Retrieval

from clients.demo.answering import Answer, by_record, by_similarity, by_weight, mixed

OPEN = NamespaceSettingsFields(raw_gate=0.0, score_floor=0.0, slot_rate=0.0, control_rate=0.0)
WEIGHTED = "weighted/none"

Answering = Callable[[float, Retrieval], Answer]


@dataclass(frozen=True, slots=True)
class Arm:
    """A namespace of its own, and the agent's way to answer by what it gets from there."""

    name: str
    answer: Answering
    policy: Literal["belief", "paper", "steps", "delta"] = "belief"
    learning: Literal["on", "frozen"] = "on"
    settings: NamespaceSettingsFields = field(default_factory=NamespaceSettingsFields)
    all_rankers: bool = True


def without_guard(prior: float, retrieval: Retrieval) -> Answer:
    """By weight alone, whatever the record of the weights."""
    return mixed(prior, retrieval, {WEIGHTED: 1.0})


def without_strength(prior: float, retrieval: Retrieval) -> Answer:
    """The rankers by their record, followed wholly."""
    return mixed(prior, retrieval, retrieval.rankers or {}, wholly=True)


def without_weights(prior: float, retrieval: Retrieval) -> Answer:
    """Only the rankers that do not weigh."""
    return mixed(prior, retrieval, _only(retrieval, lambda name: name.startswith("flat/")))


def without_ageing(prior: float, retrieval: Retrieval) -> Answer:
    """Only the rankers to which knowledge does not grow old."""
    return mixed(prior, retrieval, _only(retrieval, lambda name: name.endswith("/none")))


def _only(retrieval: Retrieval, kept: Callable[[str], bool]) -> Mapping[str, float]:
    shares = {name: share for name, share in (retrieval.rankers or {}).items() if kept(name)}
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()}


PRICE, NONE = "price", "none"
_REMEMBERING = (
    Arm("similarity", by_similarity, learning="frozen"),
    Arm("memlift", by_record),
    Arm("paper", by_weight, policy="paper", all_rankers=False),
    Arm("anchor", by_similarity, learning="frozen", settings=OPEN),
)
_LESS = (
    Arm("no-guard", without_guard),
    Arm("no-strength", without_strength),
    Arm("no-weights", without_weights),
    Arm("no-ageing", without_ageing),
)
REMEMBERING: Mapping[str, Arm] = {arm.name: arm for arm in (*_REMEMBERING, *_LESS)}
ARMS = (PRICE, NONE, *REMEMBERING)
DEFAULT = (PRICE, NONE, "similarity", "memlift", "paper")
ABLATIONS = tuple(arm.name for arm in _LESS)
