"""What becomes of a memory that nobody verified: it serves at half weight until outcomes speak."""

from memory.domain.bank import Status

CREDITS_TO_RISE, CREDITS_TO_FALL = 3, 5
WEIGHT_TO_RISE, WEIGHT_TO_FALL = 1.0, 0.8


def after_probation(effective_weight: float, credited: int) -> Status | None:
    """Active, rejected, or None where the outcomes do not say yet. The weight is the whole one,
    not halved.
    """
    if credited >= CREDITS_TO_RISE and effective_weight > WEIGHT_TO_RISE:
        return Status.ACTIVE
    if credited >= CREDITS_TO_FALL and effective_weight <= WEIGHT_TO_FALL:
        return Status.REJECTED
    return None
