"""What answers cost: calls, tokens, and money where the price is known."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Of answers that came; `unpriced`: calls whose price nobody knows, left out of `cost`."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """In US dollars."""
    unpriced: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        mine, theirs = asdict(self), asdict(other)
        return Usage(**{name: mine[name] + theirs[name] for name in mine})

    def told(self) -> str:
        """In a line."""
        tokens = f"{self.prompt_tokens} + {self.completion_tokens} tokens"
        unknown = f", {self.unpriced} calls without a price" if self.unpriced else ""
        return f"{self.calls} calls, {tokens}, {self.cost:.4f} dollars{unknown}"
