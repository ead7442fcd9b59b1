"""Settings of a namespace, and those that a preset of learning settles beside its rule.

`paper-strict` adds nothing to Live-Evo (arXiv 2602.02369). What the paper does not have is off in
its namespaces, and what it states has the paper's value; whoever asks for another value is refused,
for the namespace would no longer be what its name says.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, get_args

from pydantic import Field

from memory.kernel.errors import Rejected
from memory.kernel.fields import BOTH_WAYS, Flag, Share
from memory.kernel.ports import RoleName


class Taxonomy(StrEnum):
    """`open`: an unknown category is made at first use. `closed`: it is refused."""

    OPEN = "open"
    CLOSED = "closed"


class Rerank(StrEnum):
    """`none`: near memories are ordered by their cosine alone, a reranker is not asked. `fused`: by
    relevance and by the words that they share with the task, which also find memories beside the
    nearest.
    """

    NONE = "none"
    FUSED = "fused"


MAX_COUNT, MAX_TRIALS, MAX_DAYS = 10**12, 16, 365
MIN_KEPT_DAYS, MAX_KEPT_DAYS = 31, 36_500
"""What a key was served in the last 30 days tells an echo from a lesson."""


MAX_COST = 1_000_000
"""US dollars."""


LlmName = Annotated[str, Field(min_length=1, max_length=63)]


Count = Annotated[int, Field(strict=True, ge=1, le=MAX_COUNT)]


@dataclass(frozen=True, slots=True)
class NamespaceSettings:
    """Settings of one namespace. Null leaves one to the server, and is for those that allow it;
    `retention_days` is for ever then.
    """

    __pydantic_config__ = BOTH_WAYS

    raw_gate: Share | None = None
    """The least cosine at which a memory is considered; 0 switches the gate off."""
    score_floor: Share | None = None
    """The least score at which a memory is served; 0 switches the floor off."""
    control_rate: Share | None = None
    """The share of retrievals that serve nothing, to measure lift; 0 switches it off."""
    slot_rate: Share = 0.03
    """The chance that the last place goes to a memory with few outcomes."""
    coins: Flag = True
    """Whether a memory may be left out now and then, so that memories are told apart."""
    categories: Taxonomy = Taxonomy.OPEN
    """Whether an unknown category is made at first use or refused."""
    max_memories: Count = 1_000_000
    """The quota of living memories."""
    daily_credits: Count = 50
    """How many outcomes of one agent's key count for one memory in a day."""
    verification_trials: Annotated[int, Field(strict=True, ge=1, le=MAX_TRIALS)] = 3
    """How often a candidate is tried before it is decided on."""
    verification_days: Annotated[int, Field(strict=True, ge=1, le=MAX_DAYS)] = 7
    """After so many days without a decision a candidate goes on probation."""
    meta_guidelines: Flag = True
    """Whether guidelines are compiled under meta-guidelines, and `reflect` makes new ones."""
    active_queries: Flag = True
    """Whether a language model may write queries to search for beside the task's text."""
    identifiers: Flag = True
    """Whether a memory is also found by an identifier of the task that it holds, such as an error
    code or a path.
    """
    llm_daily_tokens: Annotated[int, Field(strict=True, ge=0, le=MAX_COUNT)] | None = None
    """The daily token limit: how many tokens of the language model the namespace may take in a UTC
    day, at most as many as the server allows each. 0: the model is never asked.
    """
    llm_daily_cost: Annotated[float, Field(strict=True, ge=0, le=MAX_COST)] | None = None
    """The daily cost limit: how many US dollars the language model may cost the namespace in a UTC
    day, by the price list of the server, at most as many as the server allows each.
    """
    llm_models: Mapping[RoleName, LlmName] = field(default_factory=dict[RoleName, LlmName])
    """Which language model is asked for what, by the names that the server has for its models; a
    role that is left out has the server's. The whole takes the place of what was chosen before.
    """
    rerank: Rerank | None = None
    """Whether the words of a task find and order memories beside their meaning; null: they do in
    a namespace of 300 to 20,000 memories, on the wall clock, whose policy ranks what is near.
    """
    retention_days: (
        Annotated[int, Field(strict=True, ge=MIN_KEPT_DAYS, le=MAX_KEPT_DAYS)] | None
    ) = 400
    """How many days receipts, outcomes, texts of runs and calls of the language model are kept;
    null: for ever. What was learned of them stays in either case.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", Taxonomy(self.categories))
        if self.rerank is not None:
            object.__setattr__(self, "rerank", Rerank(self.rerank))
        shares = {
            "raw_gate": self.raw_gate,
            "score_floor": self.score_floor,
            "control_rate": self.control_rate,
            "slot_rate": self.slot_rate,
        }
        for name, share in shares.items():
            if share is not None and not 0.0 <= share <= 1.0:
                path = f"settings.{name}"
                raise Rejected(f"{path} lies outside [0, 1]", field=path, limit=[0, 1])
        _require_count(self.max_memories, "max_memories", MAX_COUNT)
        _require_count(self.daily_credits, "daily_credits", MAX_COUNT)
        _require_count(self.verification_trials, "verification_trials", MAX_TRIALS)
        _require_count(self.verification_days, "verification_days", MAX_DAYS)
        if self.llm_daily_tokens is not None:
            _require_count(self.llm_daily_tokens, "llm_daily_tokens", MAX_COUNT, 0)
        if self.llm_daily_cost is not None and not 0 <= self.llm_daily_cost <= MAX_COST:
            path = "settings.llm_daily_cost"
            raise Rejected(f"{path} must lie in 0…{MAX_COST}", field=path, limit=[0, MAX_COST])
        if self.retention_days is not None:
            _require_count(self.retention_days, "retention_days", MAX_KEPT_DAYS, MIN_KEPT_DAYS)

    def daily_tokens(self, server: int) -> int:
        """The daily token limit in force, where the server allows each namespace so many."""
        return server if self.llm_daily_tokens is None else min(self.llm_daily_tokens, server)

    def require_daily_tokens(self, server: int) -> None:
        """Raises Rejected for a daily token limit above what the server allows each namespace."""
        if self.llm_daily_tokens is not None and self.llm_daily_tokens > server:
            path = "settings.llm_daily_tokens"
            raise Rejected(
                f"{path} is {self.llm_daily_tokens}; the server's limit, MEMLIFT_LLM_DAILY_TOKENS,"
                f" is {server}",
                field=path,
                limit=server,
            )

    def daily_cost(self, server: float | None) -> float | None:
        """The daily cost limit in force, in US dollars, where the server allows each namespace so
        much; None: there is none.
        """
        limits = [one for one in (self.llm_daily_cost, server) if one is not None]
        return min(limits, default=None)

    def require_daily_cost(self, server: float | None) -> None:
        """Raises Rejected for a daily cost limit above what the server allows each namespace."""
        if self.llm_daily_cost is not None and server is not None and self.llm_daily_cost > server:
            path = "settings.llm_daily_cost"
            raise Rejected(
                f"{path} is {self.llm_daily_cost}; the server's limit, MEMLIFT_LLM_DAILY_COST, is"
                f" {server}",
                field=path,
                limit=server,
            )

    def require_llm_models(self, names: Collection[str]) -> None:
        """Raises Rejected for a model that the server does not have, or a role that is none."""
        for role, name in self.llm_models.items():
            path = f"settings.llm_models.{role}"
            if role not in get_args(RoleName):
                roles = list(get_args(RoleName))
                raise Rejected(f"{path}: there is no such role", field=path, limit=roles)
            if name not in names:
                there = f"it has {', '.join(names)}" if names else "it has no language model"
                said = f"{path} is {name}, which is no name of a language model of this server"
                raise Rejected(f"{said}; {there}", field=path, limit=list(names))

    def stored(self) -> dict[str, object]:
        """As a process of the version before reads it too, which knows no null of `rerank`."""
        stored: dict[str, object] = asdict(self)
        stored["rerank"] = (self.rerank or Rerank.NONE).value
        stored["rerank_is_left"] = self.rerank is None
        return stored

    @classmethod
    def read(cls, stored: Mapping[str, object]) -> "NamespaceSettings":
        names = {one.name for one in fields(cls)}
        known = {name: value for name, value in stored.items() if name in names}
        # Who was there before words counted keeps the order it had.
        known.setdefault("rerank", Rerank.NONE)
        if stored.get("rerank_is_left"):
            known["rerank"] = None
        return cls(**known)  # pyright: ignore[reportArgumentType] - written by `stored`, above


def _require_count(value: int, name: str, most: int, least: int = 1) -> None:
    if not least <= value <= most:
        path = f"settings.{name}"
        raise Rejected(f"{path} must lie in {least}…{most}", field=path, limit=[least, most])


STRICT = "paper-strict"


TAU = 0.3
"""The least weight times similarity at which an experience is retrieved (Live-Evo, appendix)."""


STRICT_SETTINGS: Mapping[str, object] = MappingProxyType(
    {
        "raw_gate": 0.0,
        "score_floor": TAU,
        "control_rate": 0.0,
        "slot_rate": 0.0,
        "coins": False,
        "meta_guidelines": True,
        "verification_trials": 1,
    }
)
"""The settings of a namespace with policy `paper-strict`."""


LEAST_FUSED, MOST_FUSED = 300, 20_000
"""Words count, where nobody says, among so many memories. Among fewer a chance word in common is
rare; of more a copy may not fit, and the database takes ten times as long to count them.
"""


WHOLE_BANK = ("paper", STRICT)
"""Policies that rank every memory there is, so that no head is to be ordered by words."""


def require_head(rerank: Rerank | None, policy: str, field: str) -> None:
    """Raises Rejected where a policy has no head that could be ordered so."""
    if rerank is Rerank.FUSED and policy in WHOLE_BANK:
        raise Rejected(
            f"policy {policy} needs {field}: none, and it is fused",
            field=field,
            limit=[Rerank.NONE.value],
        )


def settle(policy: str, settings: NamespaceSettings) -> NamespaceSettings:
    """The settings in force under a policy; a default gives way to what the policy needs.

    Raises Rejected where another value was asked for.
    """
    if policy in WHOLE_BANK:
        require_head(settings.rerank, policy, "settings.rerank")
    if policy != STRICT:
        return settings
    defaults = {one.name: one.default for one in fields(settings)}
    for name, wanted in STRICT_SETTINGS.items():
        given = getattr(settings, name)
        if given not in (wanted, defaults[name]):
            path = f"settings.{name}"
            raise Rejected(f"{path} is {wanted} under policy {STRICT}", field=path, limit=[wanted])
    return replace(settings, **STRICT_SETTINGS)  # pyright: ignore[reportArgumentType] - by name


@dataclass(frozen=True, slots=True)
class PresetChange:
    """The settings under another policy, and what is to be kept of those that it settles."""

    settings: NamespaceSettings
    beneath: Mapping[str, object]


def change_preset(
    before: str, after: str, current: NamespaceSettings, beneath: Mapping[str, object]
) -> PresetChange:
    """What changes of the settings with the policy: a preset settles some, and who leaves it has
    them again as they were (`beneath`), or as a new namespace has them. Raises Rejected where the
    preset needs another value than was asked for.
    """
    if STRICT not in (before, after) or before == after:
        return PresetChange(current, beneath)
    if after == STRICT:
        kept = {name: getattr(current, name) for name in STRICT_SETTINGS}
        return PresetChange(replace(current, **STRICT_SETTINGS), kept)  # pyright: ignore[reportArgumentType] - by name
    defaults = {one.name: one.default for one in fields(current)}
    again = {name: beneath.get(name, defaults[name]) for name in STRICT_SETTINGS}
    return PresetChange(replace(current, **again), {})  # pyright: ignore[reportArgumentType] - by name
