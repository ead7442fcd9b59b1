"""Predictions and settlements as nouns: what they refuse, and which revision counts."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.forecasts.entities import Forecast, PredictionState, RevisedPrediction, Revision, Window
from memory.kernel.errors import Rejected, TooLarge
from memory.kernel.ids import new_id
from tests.fixtures.builders import a_forecast, a_prediction, a_settlement, a_window, yes_or_no

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize("p", [-0.01, 1.01, float("nan"), float("inf"), True, "0.5", 10**400])
def test_what_is_no_number_from_0_to_1_is_no_probability(p: float) -> None:
    with pytest.raises(Rejected) as refused:
        Forecast(probabilities={"yes": p})

    assert refused.value.field == "probabilities.yes"


@pytest.mark.parametrize("size", [0, 257])
def test_a_forecast_has_1_to_256_outcomes(size: int) -> None:
    with pytest.raises(Rejected) as refused:
        Forecast(probabilities={f"o{n}": 0.5 for n in range(size)})

    assert (refused.value.field, refused.value.limit) == ("probabilities", 256)
    assert len(Forecast(probabilities={f"o{n}": 0.5 for n in range(256)}).probabilities) == 256


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"baseline_probabilities": {"yes": 0.5}}, "baseline_probabilities"),
        ({"full_probabilities": {"yes": 0.5, "maybe": 0.5}}, "full_probabilities"),
        ({"answers": {"flat/none": {"no": 0.5}}}, "answers.flat/none"),
    ],
)
def test_all_forecasts_of_a_prediction_name_the_same_outcomes(
    changes: dict[str, object], field: str
) -> None:
    with pytest.raises(Rejected) as refused:
        a_forecast(0.5, **changes)

    assert refused.value.field == field


def test_names_that_are_one_name_once_they_are_clean_are_refused() -> None:
    with pytest.raises(Rejected, match="twice"):
        Forecast(probabilities={"é": 0.5, "e\u0301": 0.5})


def test_minus_nothing_is_nothing() -> None:
    assert str(Forecast(probabilities={"yes": -0.0}).probabilities["yes"]) == "0.0"


@pytest.mark.parametrize(
    "named", [{"task": a_window(), "task_id": new_id()}, {"task": None}], ids=["two", "none"]
)
def test_a_prediction_is_for_one_task(named: dict[str, object]) -> None:
    with pytest.raises(Rejected, match="give one of"):
        a_prediction(**named)


def test_a_reason_has_a_limit() -> None:
    with pytest.raises(TooLarge):
        a_prediction(rationale="x" * 16_001)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"resolutions": {}}, "resolutions"),
        ({"resolutions": {"yes": "true"}}, "resolutions.yes"),
        ({"windows": ()}, "windows"),
        ({"crowd": {"yes": 2}}, "crowd.yes"),
        ({"event": " "}, "event"),
    ],
)
def test_a_settlement_says_yes_no_or_void(changes: dict[str, object], field: str) -> None:
    with pytest.raises(Rejected) as refused:
        a_settlement(**changes)

    assert refused.value.field == field


def test_a_window_closes_at_a_time_with_a_zone() -> None:
    with pytest.raises(Rejected, match="time zone"):
        a_window(closes_at=datetime(2026, 3, 1, 12))  # noqa: DTZ001 - the zone is what is missing


def test_a_window_without_a_key_goes_by_its_id() -> None:
    task_id = new_id()

    assert Window(task_id, None, "rain", None, None).name == str(task_id)
    assert Window(task_id, "rain#1", "rain", None, None).name == "rain#1"


def a_revised(closes_at: datetime | None, *times: datetime) -> RevisedPrediction:
    revisions = tuple(
        Revision(
            revision=number,
            probabilities=yes_or_no(0.5),
            retrieval_id=None,
            rationale=None,
            known_at=known_at,
            recorded_at=START,
            key_id=None,
        )
        for number, known_at in enumerate(times, 1)
    )
    names = (new_id(), "solver", new_id(), "rain#1", "rain", PredictionState.PENDING)
    return RevisedPrediction(new_id(), *names, closes_at, revisions, None)


MOMENTS = st.integers(0, 20).map(lambda n: START + n * MICROSECOND)


@given(st.lists(MOMENTS, min_size=1, max_size=6), st.none() | MOMENTS, MOMENTS)
def test_the_last_revision_from_before_the_earlier_end_counts(
    times: list[datetime], closes_at: datetime | None, settled_at: datetime
) -> None:
    prediction = a_revised(closes_at, *sorted(times))
    ends = [end for end in (closes_at, settled_at) if end is not None]

    found = prediction.find_counting(settled_at)

    in_time = [r for r in prediction.revisions if all(r.known_at < end for end in ends)]
    assert found == (in_time[-1] if in_time else None)
