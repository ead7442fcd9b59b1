"""What calls of a language model cost, as far as their tokens tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from memory.kernel.ports import RoleName


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """US dollars for a token that a model reads, and for one that it writes."""

    read: float
    written: float

    def of(self, tokens: int, written: int) -> float:
        """What so many tokens cost, of which so many were written; where nobody says how many (0),
        all count as the dearer kind: a limit is to hold.
        """
        if not written:
            return tokens * max(self.read, self.written)
        written = min(written, tokens)
        return (tokens - written) * self.read + written * self.written


@dataclass(frozen=True, slots=True)
class Charge:
    """US dollars that are set aside or spent, of at most `limit` in the day; None: no limit.
    `unpriced`: tokens whose price is not known.
    """

    dollars: float = 0.0
    limit: float | None = None
    unpriced: int = 0


NOTHING = Charge()


@dataclass(frozen=True, slots=True)
class ServerDay:
    """US dollars that calls of all namespaces together cost on a UTC day, and that are set aside
    for calls under way, and the questions that were not asked for want of them; where the server
    has a limit.
    """

    cost: float = 0.0
    cost_reserved: float = 0.0
    stopped: int = 0


@dataclass(frozen=True, slots=True)
class TokenUse:
    """Calls of one UTC day, role and model.

    `written_share`: how much of the kept words (by their bytes) was answered rather than asked, in
    0…1; None where no words are kept.
    """

    day: date
    role: RoleName
    model: str
    calls: int
    tokens: int
    written_share: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars. Of a call all its tokens are counted together, and those written cost more: so
    `least` and `most` hold for certain, and `about` divides them as the words are divided.
    """

    about: float
    least: float
    most: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.about + other.about, self.least + other.least, self.most + other.most)


@dataclass(frozen=True, slots=True)
class CostLine:
    """What was used on one day, or by one role and model; `cost` is that of the tokens whose price
    is known, None where no price is.
    """

    title: str
    calls: int
    tokens: int
    unpriced: int
    """How many of the tokens have no known price."""
    cost: Cost | None


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """What the newest days cost in a namespace.

    `left`: the least and the most that the day's remaining tokens can cost with the models that
    are asked; None where one's price is not known.
    """

    since: date
    days: Sequence[CostLine]
    """Newest first; days without calls are left out."""
    roles: Sequence[CostLine]
    """By role and model, the most tokens first."""
    roles_today: Sequence[CostLine]
    """The same of the day that it is now."""
    today: CostLine
    total: CostLine
    left: Cost | None
    are_prices_known: bool
    """Whether this server has a list of prices at all."""
