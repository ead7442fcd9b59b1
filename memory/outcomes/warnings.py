"""What a reporter is told of an outcome that was taken and teaches nothing, or not all it could."""

from collections.abc import Iterable

from memory.belief.policy import policy_named
from memory.belief.states import Evidence
from memory.outcomes.entities import OutcomeWarning
from memory.outcomes.measures import OTHER_METRIC
from memory.receipts.entities import Outcome, OutcomeStatus
from memory.receipts.store.receipts import ReceiptContext
from memory.tasks.entities import Measure

NOT_FOLLOWED = "what was used is kept and not followed"

NOTE = "note"
"""The reason of a report that would wait for another run, beside an outcome that counts."""

REASONS = {
    "frozen": "learning is frozen in this namespace: this moves nothing",
    "expired": "the receipt had expired when this became known: it moves nothing",
    OTHER_METRIC: "the category is measured otherwise: this is kept as a note and moves nothing",
    "preview": "the retrieval was a preview: this moves nothing",
    "replay": "the retrieval was a replay, which asks about the bank: this moves nothing",
    "erased": "every memory that was served has lost its text: this moves nothing",
    "other_version": "a memory that was served has another text now: this moves nothing",
    "half_missing": "this moves nothing until the run without memory is reported as well",
    "observational": "a run without memory that was not drawn at random moves nothing, unless it"
    " makes a pair with a run of the same agent on the same task",
    "outranked": "a better verified outcome counts for this receipt: this is kept as a note",
    "disagrees": "another outcome counts for this receipt: this is kept as a note",
    "other_receipt": "the prediction names another receipt: this is kept as a note",
    NOTE: "this would move nothing alone, and another outcome counts for this receipt: it is kept"
    " as a note",
    OutcomeStatus.SUPERSEDED: "another outcome took the place of this one",
    "rolled_back": "what this had moved was withdrawn",
}
"""In words, why an outcome moves nothing. Left out: what counts in the outcome of its pair."""


def warn_of(
    outcome: Outcome,
    receipt: ReceiptContext,
    waiting: Iterable[Measure] = (),
    *,
    daily_limit: int | None,
) -> tuple[OutcomeWarning, ...]:
    """As it stands now; `waiting` are the measures of outcomes that may yet fix its category, and
    `daily_limit` is how often a day the key counts for one memory.
    """
    if outcome.reason is not None or outcome.evidence is Evidence.NONE:
        return _warn_of_reason(outcome.reason)
    found = [*_warn_of_silence(outcome, receipt, daily_limit)]
    others = {str(one) for one in waiting} - {str(Measure(outcome.metric, outcome.reward_kind))}
    if receipt.metric is None and others:
        detail = (
            f"outcomes measured by {' and by '.join(sorted(others))} wait in this category: the"
            " first that is applied fixes it, and those measured otherwise then move nothing"
        )
        found.append(OutcomeWarning("metric_contested", detail))
    return tuple(found)


def warn_of_used(policy: str, *, followed: bool) -> tuple[OutcomeWarning, ...]:
    """Of an outcome that names what was used, where this is kept and not gone by."""
    if not policy_named(policy).weighs_exposure:
        detail = f"{NOT_FOLLOWED}: under the policy {policy!r} all that was served counts alike"
    elif not followed:
        detail = (
            f"{NOT_FOLLOWED} yet: until 80 % of the last 50 outcomes of this agent in this"
            " category name it, similarity and verdicts say what a memory could have done"
        )
    else:
        return ()
    return (OutcomeWarning("used_not_followed", detail),)


def _warn_of_reason(reason: str | None) -> tuple[OutcomeWarning, ...]:
    detail = REASONS.get(reason or "")
    return () if reason is None or detail is None else (OutcomeWarning(reason, detail),)


def _warn_of_silence(
    outcome: Outcome, receipt: ReceiptContext, daily_limit: int | None
) -> Iterable[OutcomeWarning]:
    """Memories for which it does not count."""
    served = set(receipt.cited)
    limited, own = served & set(outcome.muted) - receipt.erased, served & set(outcome.authored)
    if limited:
        reports = _reports_of_a_day(daily_limit)
        kept = "that memory does not move" if len(limited) == 1 else "those memories do not move"
        yield OutcomeWarning(
            "daily_limit",
            f"This key has used {reports} for the day on {len(limited)} of the {len(served)}"
            f" memories served; {kept}.",
        )
    if own:
        weight = "its shared weight" if len(own) == 1 else "their shared weights"
        yield OutcomeWarning(
            "own_memory",
            f"You or your party wrote {len(own)} of the {len(served)} memories served; your report"
            f" does not move {weight}.",
        )


def _reports_of_a_day(limit: int | None) -> str:
    if limit is None:
        return "its reports"
    return "its one report" if limit == 1 else f"its {limit} reports"
