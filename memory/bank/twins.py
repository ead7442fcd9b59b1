"""Which texts say the same: near in meaning, and equal in what meaning vectors are blind to."""

from memory.domain.likeness import TWIN, signature

__all__ = ["TWIN", "is_twin"]


def is_twin(first: str, second: str, cosine: float) -> bool:
    """Whether two texts are one, given the cosine of their vectors."""
    return cosine >= TWIN and signature(first) == signature(second)
