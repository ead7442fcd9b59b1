"""How the three parts of a constraint are put into sentences."""

import pytest

from memory.constraints.entities import Wording


@pytest.mark.parametrize(
    ("trigger", "situation"),
    [
        ("a parcel left the warehouse", "When a parcel left the warehouse"),
        ("When a parcel left the warehouse", "When a parcel left the warehouse"),
        ("if: a parcel left the warehouse", "When a parcel left the warehouse"),
        ("WHEN, as it happens, it rains", "When as it happens, it rains"),
        ("when-issued bonds are priced", "When when-issued bonds are priced"),
        ("iffy data comes in", "When iffy data comes in"),
    ],
)
def test_a_trigger_that_begins_with_when_or_if_does_not_say_it_twice(trigger, situation):
    wording = Wording(trigger, enforce="offer the return label")

    assert wording.situation == situation
    assert wording.trigger == trigger
