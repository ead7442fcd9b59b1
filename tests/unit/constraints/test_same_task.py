"""Runs that carry the wrong task id are found by what they are about."""

from check_builders import calls, user

from memory.constraints.checks.observations import ObservedRun
from memory.constraints.checks.same_task import (
    OTHER_RUN,
    OTHER_TASK,
    expected_ids,
    find_odd,
    find_stray,
    subjects_of,
)

TASK = "You are ann_lee_12 and cancel booking AB12."


def about(customer, booking, task=TASK):
    read = calls("read_user", f"bookings of {customer}: {booking}", user=customer)
    return ObservedRun(task, (user("hello"), read, calls("cancel", booking=booking)))


def test_runs_about_the_same_customer_are_of_one_task():
    run = about("ann_lee_12", "AB12")

    assert find_stray(run) is None
    assert find_odd([subjects_of(run), subjects_of(about("ann_lee_12", "CD34"))]) == {}


def test_a_run_about_another_customer_is_refused_with_the_evidence():
    found = find_stray(about("bob_ray_77", "XY98"))

    assert found is not None
    assert found.reason == OTHER_TASK
    assert found.text == "other_task: bob_ray_77, xy98 against ab12, ann_lee_12"


def test_where_the_task_names_nobody_the_other_runs_decide():
    ours = subjects_of(about("bob_ray_77", "XY98", task="Cancel it."))
    theirs = subjects_of(about("ann_lee_12", "AB12", task="Cancel it."))
    found = find_odd([theirs, ours, theirs])

    assert list(found) == [1]
    assert found[1].reason == OTHER_RUN
    assert found[1].text == "other_subject: bob_ray_77, xy98 against ab12, ann_lee_12"
    assert set(find_odd([ours, theirs])) == {0, 1}


def test_expected_actions_say_what_a_task_is_about():
    expected = expected_ids(
        {
            "expected_actions": [
                {"tool": "cancel", "arguments": {"user": "eve_1", "booking": "QQ11"}}
            ]
        }
    )

    assert expected == {"eve_1", "qq11"}
    assert find_stray(about("ann_lee_12", "AB12", task="Cancel it."), expected) is not None


def test_runs_that_ask_for_little_are_not_refused():
    silent = ObservedRun(TASK, (user("hello"),))

    assert find_stray(silent) is None
    assert find_odd([subjects_of(about("ann_lee_12", "AB12")), subjects_of(silent)]) == {}
