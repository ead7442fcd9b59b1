"""Gains of followers over answers that were written down, whole and by piece."""

from collections.abc import Mapping, Sequence
from datetime import date

from benchmarks.kernels.streams.replay import Answered, Day
from benchmarks.streams.scoring import Estimate, Row, gain
from memory.belief.rankers import FLAT_AGELESS


def outcomes_of(days: Sequence[Day]) -> Mapping[str, int]:
    """What became known within these days."""
    return {row.question_id: row.outcome for day in days for row in day.known}


def middle(answered: Sequence[Answered]) -> date:
    """The first day after which at least half of the forecasts have been made."""
    days = sorted(one.question.asked_on for one in answered)
    half = days[(len(days) - 1) // 2]
    return next((day for day in days if day > half), half)


def gain_over(
    answered: Sequence[Answered],
    outcomes: Mapping[str, int],
    *,
    prior: bool = False,
) -> Estimate:
    """Event Brier of plain similarity (`prior`: of the agent alone) less the follower's."""
    known = [one for one in answered if one.question.id in outcomes]
    against = [one.prior if prior else one.experts[FLAT_AGELESS] for one in known]
    return gain(
        [_row(one, one.given, outcomes) for one in known],
        [_row(one, p, outcomes) for one, p in zip(known, against, strict=True)],
    )


def _row(one: Answered, probability: float, outcomes: Mapping[str, int]) -> Row:
    question = one.question
    return Row(
        id=question.id,
        event=question.event_id,
        source=question.source,
        asked_on=question.asked_on,
        week=question.week,
        outcome=outcomes[question.id],
        probability=probability,
    )
