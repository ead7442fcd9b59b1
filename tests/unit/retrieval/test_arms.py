import pytest
from retrieval_builders import FixedChance

from memory.receipts.entities import Arm, Purpose, Reason
from memory.retrieval.arms import ArmRequest, assign_arm

LUCKY, UNLUCKY = 0.999, 0.0


def an_ask(**changes):
    fields = {"arm": "auto", "purpose": Purpose.ACT, "eligible": True, "control_outcomes": 30}
    return ArmRequest(**{**fields, **changes})


@pytest.mark.parametrize(
    ("ask", "arm", "reason"),
    [
        (an_ask(arm="on"), Arm.FORCED_ON, Reason.CALLER_WANTS_ON),
        (an_ask(arm="off"), Arm.FORCED_OFF, Reason.CALLER_WANTS_OFF),
        (an_ask(arm="off", eligible=False), Arm.FORCED_OFF, Reason.CALLER_WANTS_OFF),
        (an_ask(arm="off", purpose=Purpose.PAIRED), Arm.FORCED_OFF, Reason.CALLER_WANTS_OFF),
        (an_ask(eligible=False), Arm.EMPTY, Reason.NOTHING_TO_SERVE),
        (an_ask(arm="on", eligible=False), Arm.EMPTY, Reason.NOTHING_TO_SERVE),
        (an_ask(purpose=Purpose.PAIRED, eligible=False), Arm.EMPTY, Reason.NOTHING_TO_SERVE),
        (an_ask(purpose=Purpose.PAIRED), Arm.PAIRED, Reason.CALLER_PAIRS),
        (an_ask(arm="on", purpose=Purpose.PAIRED), Arm.PAIRED, Reason.CALLER_PAIRS),
        (an_ask(purpose=Purpose.PREVIEW), Arm.ON, Reason.PREVIEW),
    ],
)
def test_an_arm_that_is_not_left_to_chance_is_certain(ask, arm, reason):
    assignment = assign_arm(ask, FixedChance(UNLUCKY))

    assert (assignment.arm, assignment.propensity, assignment.reason) == (arm, 1.0, reason)


@pytest.mark.parametrize("purpose", [Purpose.ACT, Purpose.REPLAY])
@pytest.mark.parametrize(
    ("control_outcomes", "override", "rate"),
    [(29, None, 0.2), (30, None, 0.05), (0, 0.5, 0.5), (99, 0.5, 0.5)],
)
def test_chance_sends_a_known_share_to_control(purpose, control_outcomes, override, rate):
    ask = an_ask(purpose=purpose, control_outcomes=control_outcomes, control_rate=override)

    below, at = assign_arm(ask, FixedChance(rate - 1e-9)), assign_arm(ask, FixedChance(rate))

    assert (below.arm, below.propensity) == (Arm.CONTROL, rate)
    assert (at.arm, at.propensity) == (Arm.ON, 1 - rate)


def test_a_rate_of_zero_turns_the_control_arm_off():
    assignment = assign_arm(an_ask(control_rate=0, control_outcomes=0), FixedChance(UNLUCKY))

    assert (assignment.arm, assignment.propensity) == (Arm.ON, 1)


def test_most_retrievals_are_served():
    assert assign_arm(an_ask(), FixedChance(LUCKY)).arm is Arm.ON
