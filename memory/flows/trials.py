"""Results of trials as rows: every number checked and made a reward. No I/O."""

import json
from collections.abc import Mapping
from hashlib import sha256

from memory.domain.text import ANSWERS_BYTES, cleaned_json
from memory.domain.verification import Ticket, TrialReport, TrialResult, TrialSlot
from memory.errors import Rejected
from memory.learning.rewards import reward_of
from memory.storage.tickets import TrialRow


def rows_of(ticket: Ticket, report: TrialReport) -> list[TrialRow]:
    """One row a result. Raises Rejected naming the result and what is wrong with it."""
    if report.metric != ticket.metric:
        raise Rejected(
            f"the ticket's rewards are in {ticket.metric}", field="metric", limit=ticket.metric
        )
    slots = {slot.slot: slot for slot in ticket.trials}
    numbers = [result.slot for result in report.trials]
    if len(set(numbers)) < len(numbers):
        raise Rejected("a trial is reported twice in one report", field="trials")
    return [
        _row(ticket, report, result, (place, slots.get(result.slot)))
        for place, result in enumerate(report.trials)
    ]


def _row(
    ticket: Ticket, report: TrialReport, result: TrialResult, at: tuple[int, TrialSlot | None]
) -> TrialRow:
    place, slot = at
    field = f"trials.{place}"
    if slot is None:
        raise Rejected(
            f"the ticket has trials 0…{len(ticket.trials) - 1}",
            field=f"{field}.slot",
            limit=len(ticket.trials) - 1,
        )
    stray = "value" if ticket.metric == "reward" else "reward"
    if getattr(result, stray) is not None:
        raise Rejected(f"the ticket's rewards are in {ticket.metric}", field=f"{field}.{stray}")
    acted = result.reward if ticket.metric == "reward" else result.value
    reward = _reward(ticket, acted, result.truth, field)
    without = None
    if result.without is not None:
        half = result.without.get("reward" if ticket.metric == "reward" else "value")
        without = _reward(ticket, half, result.truth, f"{field}.without")
    elif slot.reference is None:
        raise Rejected(
            "nothing is known of this task: report a run without the candidate too",
            field=f"{field}.without",
        )
    raw = _raw(result)
    said = json.dumps([report.agent, report.metric, raw], sort_keys=True, default=str)
    return TrialRow(result.slot, reward, without, raw, sha256(said.encode()).digest())


def _reward(ticket: Ticket, value: object, truth: object, field: str) -> float:
    try:
        reward = reward_of(ticket.metric, value, truth)
    except Rejected as fault:
        named = "reward" if ticket.metric == "reward" else fault.field
        path = f"{field}.{named}"
        raise Rejected(f"{field}: {fault.detail}", field=path, limit=fault.limit) from fault
    if ticket.reward_kind == "binary" and reward not in (0.0, 1.0):
        raise Rejected("a binary reward is 0 or 1", field=f"{field}.reward", limit=[0, 1])
    return reward


def _raw(result: TrialResult) -> dict[str, object]:
    """The numbers as they came, for whoever recomputes."""
    parts: Mapping[str, object | None] = {
        "reward": result.reward,
        "value": result.value,
        "truth": result.truth,
        "without": result.without,
    }
    given = {name: part for name, part in parts.items() if part is not None}
    return cleaned_json(given, "trials", ANSWERS_BYTES)
