"""Unit vectors, and the refusal of what cannot become one."""

import numpy as np
import numpy.typing as npt

from memory.kernel.errors import Unavailable


def unit(vector: npt.NDArray[np.floating], width: int) -> npt.NDArray[np.float32]:
    """The vector scaled to length one, read-only. Raises Unavailable (`bad_vector`) otherwise.

    A zero, infinite or NaN vector compares with nothing; stored, it would be a memory that is
    never found, or found always.
    """
    if vector.shape != (width,):
        raise _bad(f"of shape {vector.shape} instead of ({width},)")
    if not np.isfinite(vector).all():
        raise _bad("with a component that is not finite")
    exact = vector.astype(np.float64)
    # Scaled by the largest component first, so that no square under- or overflows.
    largest = np.abs(exact).max(initial=0.0)
    if largest == 0.0:
        raise _bad("of zeros")
    exact /= largest
    scaled = (exact / np.linalg.norm(exact)).astype(np.float32)
    scaled.flags.writeable = False
    return scaled


def _bad(what: str) -> Unavailable:
    return Unavailable(f"The model gave a vector {what}; it was not kept.", code="bad_vector")
