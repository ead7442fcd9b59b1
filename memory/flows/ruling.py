"""What an outcome is evidence of, as things stand when it is reported and when it is applied."""

from dataclasses import dataclass
from datetime import datetime

from memory.domain.namespace import Learning, Namespace
from memory.learning.evidence import Circumstances, classify
from memory.learning.states import Evidence
from memory.storage.receipts import Binding


@dataclass(frozen=True, slots=True)
class Told:
    """What of an outcome the ruling asks about."""

    metric: str
    reward_kind: str
    known_at: datetime
    without: bool
    has_partner: bool


def rule(namespace: Namespace, binding: Binding, told: Told) -> tuple[Evidence, str | None]:
    """The kind of evidence, and why it moves nothing where it does not."""
    return classify(
        Circumstances(
            arm=binding.arm,
            purpose=binding.purpose,
            without=told.without,
            current=binding.current,
            expired=told.known_at > binding.expires_at,
            other_metric=_other_metric(binding, told),
            frozen=namespace.learning is Learning.FROZEN,
            erased=bool(binding.cited) and binding.erased >= set(binding.cited),
            half=binding.arm == "forced_off" and told.has_partner,
        )
    )


def _other_metric(binding: Binding, told: Told) -> bool:
    """Whether the category's first outcome fixed another metric or reward kind."""
    fixed = (binding.metric, binding.reward_kind)
    return binding.metric is not None and fixed != (told.metric, told.reward_kind)
