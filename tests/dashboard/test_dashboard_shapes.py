"""Numbers, times and links as pages write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.kernel.errors import Rejected
from memory.kernel.ids import new_id
from memory.kernel.postgres.leadership import JobRun
from server.dashboard.forms import MAX_FIELDS, read_form
from server.dashboard.jobs import view_of
from server.dashboard.rendering import ENVIRONMENT, MINUS, moment, number, percent, signed, span

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "not known yet"),
        (1234, "1,234"),
        (-3, f"{MINUS}3"),
        (0.12345, "0.123"),
        (-0.0001, "0.000"),
    ],
)
def test_a_number_is_written_for_people(value, shown):
    assert number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.5, "+0.500"), (-0.5, f"{MINUS}0.500"), (0.0, "0.000")]
)
def test_a_difference_carries_its_sign(value, shown):
    assert signed(value) == shown


@given(st.floats(-1e6, 1e6, allow_nan=False))
def test_a_number_can_be_read_back(value):
    assert float(number(value).replace(MINUS, "-")) == pytest.approx(value, abs=5.1e-4)


def test_a_share_is_a_percentage():
    assert (percent(0.125, 1), percent(None)) == ("12.5 %", "not known yet")


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        (None, "under way"),
        (timedelta(milliseconds=12), "12 ms"),
        (timedelta(seconds=1.25), "1.2 s"),
        (timedelta(minutes=3), "3 min"),
        (timedelta(hours=24), "24 h"),
        (timedelta(days=7), "7 days"),
    ],
)
def test_a_duration_has_the_unit_that_fits(length, shown):
    assert span(length) == shown


def test_a_time_is_told_in_utc_wherever_it_comes_from():
    there = NOON.astimezone(timezone(timedelta(hours=9)))

    assert moment(there) == moment(NOON)
    assert str(moment(NOON)) == '<time datetime="2026-03-01T12:00:00Z">2026-03-01 12:00 UTC</time>'
    assert moment(None) == "never"


def test_a_plot_is_data_that_no_text_breaks_out_of():
    source = '{% import "macros.html" as ui with context %}{{ ui.plot(told, "weight") }}'
    hostile = {"notes": ['"></div><script>alert(1)</script>']}

    drawn = ENVIRONMENT.from_string(source).render(told=hostile, viewer=None)

    assert "<script>" not in drawn
    assert drawn.count("</div>") == 1


def test_a_form_keeps_every_ticked_row_and_the_last_of_the_rest():
    form = read_form(b"id=1&id=2&name=one&name=two&blank=+")

    assert form.all("id") == ["1", "2"]
    assert form.get("name") == "two"
    assert form.given("blank") is None
    assert form.given("missing") is None


@pytest.mark.parametrize("body", [b"\xff=1", b"name=%ff", b"&".join([b"a=1"] * (MAX_FIELDS + 1))])
def test_a_form_that_cannot_be_read_is_refused(body):
    with pytest.raises(Rejected):
        read_form(body)


def test_a_run_tells_each_memory_that_would_change_and_by_how_much():
    result = {
        "examined": 3,
        "differing": ["m4", "m5"],
        "evidence": {"paired": 2},
        "changes": [
            {"memory_id": "m1", "change": "faded", "weight_before": 1.4, "weight_after": 1.2},
            {"memory_id": "m2", "change": "merged", "into": "m3"},
        ],
    }
    run = JobRun(
        id=new_id(),
        job="decay",
        period="2026-03-01",
        dry_run=True,
        state="done",
        now=NOON,
        started_at=NOON,
        finished_at=NOON,
        result=result,
    )

    view = view_of(run)

    assert view.n_changes == 2
    assert view.counts == {"examined": "3", "differing": "2"}
    first, second = view.changes
    assert (second.effect, second.more) == ("merged", "into m3")
    assert view_of(run, limit=1).changes == [first]
    assert (first.memory_id, first.before, first.after) == ("m1", 1.4, 1.2)
