"""The rules of the bank: what is admitted, which texts are one, when a memory retires.

Pure: no clock, no database.
"""

from memory.bank.retirement import (
    DISUSE,
    ENOUGH_CREDITS,
    LOW_WEIGHT,
    Standing,
    next_status,
    retires,
)

__all__ = ["DISUSE", "ENOUGH_CREDITS", "LOW_WEIGHT", "Standing", "next_status", "retires"]
