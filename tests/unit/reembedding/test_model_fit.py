"""A model that does not fit the texts of a namespace is refused, each time with its figure."""

import numpy as np
import pytest

from memory.reembedding.rules import MIN_COMPARED, SituationSample, judge_fit

CHANCE = np.random.default_rng(7)


def a_sample(rows: np.ndarray, q99: float = 0.3, unread: float = 0.0) -> SituationSample:
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return SituationSample(units.astype(np.float32), q99, unread)


@pytest.fixture
def rows() -> np.ndarray:
    """Sixty situations about six subjects."""
    return np.repeat(CHANCE.normal(size=(6, 48)), 10, axis=0) + CHANCE.normal(size=(60, 48)) / 3


def test_the_same_model_agrees_with_itself(rows: np.ndarray) -> None:
    turned = rows @ np.linalg.qr(CHANCE.normal(size=(48, 48)))[0]

    fit = judge_fit(0.3, a_sample(rows), a_sample(turned))

    assert fit.misfits == ()
    assert fit.agreement == pytest.approx(1.0, abs=0.01)
    assert (fit.compared, fit.reach_before, fit.reach) == (60, 1.0, 1.0)


def test_a_model_that_finds_other_things_alike_is_refused(rows: np.ndarray) -> None:
    fit = judge_fit(0.3, a_sample(rows), a_sample(CHANCE.normal(size=(60, 48)), q99=0.05))

    assert fit.agreement == pytest.approx(0.0, abs=0.15)
    assert len(fit.misfits) == 1
    assert fit.misfits[0].endswith("beyond chance, and at least 20% is asked for")


def test_a_gate_that_lets_little_by_is_refused(rows: np.ndarray) -> None:
    fit = judge_fit(0.94, a_sample(rows), a_sample(rows, q99=0.999))

    [misfit] = fit.misfits
    assert misfit.startswith("0% of the memories have another one above the gate, where it was")
    assert misfit.endswith("100%; at least 50% is asked for")


def test_a_model_that_tells_no_sentences_apart_is_refused_whatever_is_stored() -> None:
    assert judge_fit(0.999, None, None).misfits == (
        (
            "unrelated sentences have a cosine of up to 0.999 (99th percentile), and at most 0.95 "
            "tells them apart"
        ),
    )


def test_a_script_that_only_the_model_before_knew_is_told(rows: np.ndarray) -> None:
    fit = judge_fit(0.3, a_sample(rows, unread=0.01), a_sample(rows, unread=0.4))

    assert fit.misfits == (
        "40% of the texts are in a script that the model does not know, where it was 1%",
    )


def test_of_too_few_memories_nothing_is_said_of_neighbours(rows: np.ndarray) -> None:
    few = rows[: MIN_COMPARED - 1]

    fit = judge_fit(0.3, a_sample(few), a_sample(CHANCE.normal(size=few.shape)))

    assert (fit.agreement, fit.reach, fit.misfits) == (None, None, ())
