"""A note says what a run shows plainly, in a sentence of fixed shape, or nothing."""

import pytest

from memory.tasks.run_entities import Step
from memory.verification.failure_notes import failure_note, kind_of

PYTEST = """
    def test_median():
>       assert median([]) == 0
E       IndexError
E       assert None == 0
tests/test_median.py:4: AssertionError
"""
TRACEBACK = """Traceback (most recent call last):
  File "/tmp/x/solution.py", line 12, in <module>
    assert candidate([3, 1]) == 1
AssertionError
"""


def call(tool: str, error: str | None = None, **arguments: object) -> tuple[Step, Step]:
    """A call and its answer, in steps of their own."""
    answer = {"error": error} if error else {"result": "done"}
    return (
        Step(role="assistant", tool=tool, arguments=arguments),
        Step(role="tool", tool=tool, **answer),
    )


SAID = Step("I am done.", role="assistant")


@pytest.mark.parametrize(
    ("steps", "note"),
    [
        (
            (*call("pay", "Error: card 77123 is blocked", card="77123", by=1), SAID),
            (
                'When `pay` fails with "card <card> is blocked", change the call or say'
                " that it did not work: it was not tried again, and the task failed."
            ),
        ),
        (
            (*call("pay", "no funds", card="a", of=1), *call("pay", card="b", of=1), SAID),
            (
                'When `pay` fails with "no funds", change `card`, as from "a" to "b": '
                "here it went through."
            ),
        ),
        (
            (*call("get", "503 Service Unavailable", id="a"), *call("get", id="a"), SAID),
            (
                'When `get` fails with "503 Service Unavailable", send the same call '
                "again: here it went through the next time."
            ),
        ),
        (
            (*call("pay", "no funds", card="a"), *call("pay", "no funds", card="a"), SAID),
            (
                'When `pay` fails with "no funds", do not send the same call again: it '
                "failed 2 times unchanged. Change the arguments, or say that it cannot "
                "be done."
            ),
        ),
        (
            (*call("pay", "no funds", card="a"), *call("mail", to="x"), SAID),
            (
                'When `pay` fails with "no funds", change the call or say that it did '
                "not work: here the run went on with `mail`, and the task failed."
            ),
        ),
        (
            call("poll", id="a") * 3,
            (
                "Do not repeat a call that brings nothing new: this run sent the same "
                "call of `poll` 3 times until it ended without an answer."
            ),
        ),
        (
            (*call("a", q="1"), *call("b", q="2"), *call("find", "nothing found", q="3")),
            (
                "Answer with what is known before the steps run out: this run made 3 "
                "calls, the last `find`, 1 with an error, and ended without an answer."
            ),
        ),
        (
            (Step(role="tool", tool="run_tests", result=PYTEST), SAID),
            (
                "Check `assert median([]) == 0` before you hand in: it failed at "
                "test_median.py, line 4, and the run ended with it failing."
            ),
        ),
        (
            (Step(TRACEBACK, role="tool"),),
            (
                "Check `assert candidate([3, 1]) == 1` before you hand in: it failed at"
                " solution.py, line 12, and the run ended with it failing."
            ),
        ),
    ],
)
def test_what_a_run_shows_becomes_one_sentence(steps: tuple[Step, ...], note: str) -> None:
    assert failure_note(steps, None, None) == note


def test_a_right_answer_in_a_wrong_form_is_told_by_its_form() -> None:
    note = failure_note((), "No, the one is American, while the other is French.", "no")

    assert note is not None
    assert note.startswith("Give the answer alone, here one word, with no sentence around it")


@pytest.mark.parametrize(
    ("steps", "result", "truth"),
    [
        ((), None, None),
        ((SAID,), "Paris", "Rome"),
        ((SAID,), "It is Paris", "Paris"),
        (call("get", id="a"), None, None),
        ((*call("get", id="a"), *call("transfer", to="a person")), None, None),
        # Another object is not another try, and so long before the end an error explains nothing.
        ((*call("get", "gone", id="#1"), *call("get", id="#2") * 4, SAID), "done", None),
        # A test that failed and then passed is no failure of the run.
    ],
)
def test_a_run_that_shows_nothing_plainly_has_no_note(
    steps: tuple[Step, ...], result: str | None, truth: str | None
) -> None:
    assert failure_note(steps, result, truth) is None


def test_an_assertion_that_held_in_the_end_is_no_failure() -> None:
    steps = (
        Step(role="tool", tool="run_tests", result=PYTEST),
        Step(role="tool", tool="run_tests", result="3 passed"),
        SAID,
    )

    assert failure_note(steps, None, None) is None


@pytest.mark.parametrize(
    ("steps", "metric", "kind"),
    [
        ((SAID,), "brier", "forecast"),
        ((Step(TRACEBACK),), "reward", "code"),
        (call("get", id="a"), "reward", "tool_use"),
        ((SAID,), "reward", "question"),
    ],
)
def test_the_kind_of_a_task_is_read_off_its_run(
    steps: tuple[Step, ...], metric: str, kind: str
) -> None:
    assert kind_of(steps, None, metric) == kind


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
KEY = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ"


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ({"password": "hunter2"}, {"password": "horse-9"}, "denied"),
        ({"dbPassword": "hunter2"}, {"dbPassword": "horse-9"}, "hunter2 is wrong"),
        ({"headers": {"X-Api-Key": "hunter2"}}, {"headers": {"X-Api-Key": "x"}}, "no hunter2"),
        ({"access_token": "hunter2"}, {"access_token": "horse-9"}, "bad token hunter2"),
        ({"value": JWT}, {"value": JWT[:-1] + "Q"}, f"cannot read {JWT}"),
        ({"value": KEY}, {"value": KEY[:-1] + "Q"}, "denied"),
        ({"url": "https://bob:hunter2@x.org/a"}, {"url": "https://bob:horse-9@x.org/b"}, "denied"),
        ({"body": '{"password": "hunter2"}'}, {"body": '{"password": "horse-9"}'}, "denied"),
        ({"value": "pass\u200bword=hunter2"}, {"value": "password=horse-9"}, "denied"),
    ],
)
def test_a_note_has_no_secret_of_the_run_and_no_part_of_one(
    first: dict[str, object], second: dict[str, object], error: str
) -> None:
    steps = (*call("log_in", error, **first, user=1), *call("log_in", None, **second, user=1), SAID)

    note = failure_note(steps, None, None)

    assert note is not None
    assert note.startswith("When `log_in` fails with")
    assert "change `" in note
    for secret in ("hunter2", "horse-9", JWT[:12], KEY[:12]):
        assert secret not in note


def test_a_secret_of_one_call_is_none_in_the_error_of_another() -> None:
    steps = (
        *call("log_in", secret={"user": "bob77", "value": ["correct horse"]}),
        *call("pay", "no session for bob77 with correct horse", of=1),
        SAID,
    )

    note = failure_note(steps, None, None)

    assert note is not None
    assert '"no session for (redacted) with (redacted)"' in note


def test_an_assertion_and_an_answer_are_told_without_secrets() -> None:
    output = PYTEST.replace("assert median([]) == 0", 'assert config.password == "hunter2"')
    note = failure_note((Step(role="tool", tool="run_tests", result=output),), None, None)
    assert note is not None
    assert "hunter2" not in note

    answer = f"With the key {KEY} that I was given the answer should be no"
    note = failure_note((), answer, "no")
    assert note is not None
    assert KEY[:12] not in note


def test_what_changed_is_shown_however_long_the_value_is() -> None:
    path = "/srv/projects/deployments/production/europe/settings"
    steps = (
        *call("read", "no such file", path=f"{path}.yml", mode=1),
        *call("read", path=f"{path}.toml", mode=1),
        SAID,
    )

    note = failure_note(steps, None, None)

    assert note is not None
    assert note.endswith(
        'change `path`, as from "…pe/settings.yml" to "…pe/settings.toml": here it went through.'
    )


def test_further_changes_are_counted() -> None:
    steps = (
        *call("f", "bad", a="1", b="1", c="1", d="1", e="1"),
        *call("f", a="2", b="2", c="2", d="2", e="1"),
        SAID,
    )

    note = failure_note(steps, None, None)

    assert note is not None
    assert note.endswith('`b`, as from "1" to "2" and 2 more arguments: here it went through.')


def test_what_nobody_sees_does_not_come_into_a_note() -> None:
    steps = (
        *call("pay\u202e", "no\u202efunds\x07", **{"card\u2066": "a\u202eb", "of": "1"}),
        *call("pay\u202e", None, **{"card\u2066": "c\u200bd", "of": "1"}),
        SAID,
    )

    assert failure_note(steps, None, None) == (
        'When `pay` fails with "nofunds", change `card`, as from "ab" to "cd":'
        " here it went through."
    )
