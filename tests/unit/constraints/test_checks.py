"""Each observable check, on a run that keeps it, one that violates it, and one it is not about."""

import pytest
from check_builders import asked, calls, code, fails, says, sums, talk, user

from memory.constraints.checks.library import BY_NAME, LIBRARY, check_of, examine
from memory.constraints.checks.observations import CheckFinding
from memory.constraints.lint import lint, literals_of

PENS = "Ann buys 6 boxes of 8 pens for 3 dollars a box. How much does she pay?"
SALE = "A coat of 80 dollars is sold at 25% off. What does it cost?"
WHO = "Who directed the film in which Ed Oxenbould plays Tyler Jamison?"
GOOD = "def least(values):\n    if not values:\n        return None\n    return min(values)\n"
LOOK = calls("read", "AB12 is open", id="AB12")
DONE = says("Done.")

EXAMPLES = {
    "error_unanswered": (
        talk(fails("cancel", id="AB12"), calls("cancel", id="AB12", force=True), DONE),
        talk(fails("cancel", id="AB12"), calls("read", id="AB12"), DONE),
    ),
    "error_unresolved": (
        talk(fails("cancel", id="AB12"), calls("cancel", id="AB12", force=True)),
        talk(fails("cancel", id="AB12"), says("I could not cancel it.")),
    ),
    "error_repeated": (
        talk(fails("cancel", id="AB12"), calls("cancel", id="AB12", force=True)),
        talk(fails("cancel", id="AB12"), fails("cancel", id="AB12")),
    ),
    "any_error": (talk(LOOK), talk(fails("read", id="AB12"))),
    "two_errors_running": (
        talk(fails("cancel", id="AB12"), LOOK, fails("cancel", id="AB13")),
        talk(fails("cancel", id="AB12"), fails("cancel", id="AB13")),
    ),
    "call_repeated": (talk(LOOK, calls("read", id="CD34"), LOOK), talk(LOOK, LOOK)),
    "asked_again": (talk(LOOK, calls("read", "x", id="AB12")), talk(LOOK, DONE, LOOK)),
    "acted_unread:cancel": (
        talk(LOOK, calls("cancel", id="AB12")),
        talk(calls("cancel", id="AB12")),
    ),
    "acted_unconfirmed:cancel": (
        talk(says("Shall I cancel AB12?"), user("yes"), calls("cancel", id="AB12")),
        talk(LOOK, calls("cancel", id="AB12")),
    ),
    "argument_unsourced:cancel": (
        talk(calls("cancel", id="AB12")),
        talk(calls("cancel", id="ZZ99")),
    ),
    "call_refused:cancel": (talk(calls("cancel", id="AB12")), talk(fails("cancel", id="AB12"))),
    "outcome_unchecked:cancel": (
        talk(calls("cancel", id="AB12"), LOOK),
        talk(calls("cancel", id="AB12"), DONE),
    ),
    "done_twice:cancel": (
        talk(calls("cancel", id="AB12"), calls("cancel", id="CD34")),
        talk(calls("cancel", id="AB12"), calls("cancel", id="AB12", force=True)),
    ),
    "called_in_a_row:read": (
        talk(LOOK, says("Which?"), user("CD34"), calls("read", id="CD34")),
        talk(LOOK, calls("read", id="CD34")),
    ),
    "listed_unopened": (
        talk(calls("find", '["AB12", "CD34"]'), LOOK, calls("read", id="CD34")),
        talk(calls("find", '["AB12", "CD34"]'), LOOK),
    ),
    "user_id_unused": (talk(LOOK), talk(user("and CD34"), LOOK)),
    "number_untold": (
        talk(calls("read", "price 375"), says("It costs 375.")),
        talk(calls("read", "price 375"), says("It costs 299.")),
    ),
    "announced_not_done": (
        talk(says("I will now use hand_over."), calls("hand_over")),
        talk(LOOK, says("I will now use hand_over.")),
    ),
    "silent_end": (talk(LOOK, DONE), talk(DONE, LOOK)),
    "asked_before_looking": (talk(LOOK, DONE), talk(says("Which booking?"), user("AB12"), LOOK)),
    "text_with_call": (talk(says("One moment."), LOOK), talk(LOOK, DONE)),
    "answer_long": (asked(WHO, "Night"), asked(WHO, "The film was made by M Night")),
    "answer_absent": (asked(WHO, "Night"), asked(WHO, None, says("I look further"))),
    "answer_sentence": (asked(WHO, "M. Night"), asked(WHO, "It was Night.")),
    "answer_several": (asked(WHO, "Night"), asked(WHO, "Night, or Arteta")),
    "answer_echo": (asked(WHO, "Night"), asked(WHO, "Night directed the film")),
    "answer_unseen": (
        asked(WHO, "Night Shy", calls("search", "by Night Shy", q="x")),
        asked(WHO, "Arteta", calls("search", "by Night Shy", q="x")),
    ),
    "answer_unreasoned": (
        asked(WHO, "Night Shy", says("So it is Night Shy.")),
        asked(WHO, "Arteta", says("So it is Night Shy.")),
    ),
    "answer_from_question": (asked(WHO, "Night Shy"), asked(WHO, "Ed Oxenbould")),
    "name_not_searched": (
        asked(WHO, "Shy", calls("s", q="Ed Oxenbould"), calls("s", q="Tyler Jamison")),
        asked(WHO, "Shy", calls("s", q="film")),
    ),
    "answer_after_one_look": (
        asked(WHO, "Shy", calls("s", q="a"), calls("s", q="b")),
        asked(WHO, "Shy", calls("s", q="a")),
    ),
    "answer_after_errors_only": (
        asked(WHO, "Shy", fails("s", q="a"), calls("s", q="b")),
        asked(WHO, "Shy", fails("s", q="a")),
    ),
    "searched_again": (
        asked(WHO, "Shy", calls("s", q="a"), calls("s", q="b")),
        asked(WHO, "Shy", calls("s", q="a"), calls("s", q="A")),
    ),
    "answer_not_last_thought": (
        asked(WHO, "Shyam", says("Perhaps Arteta."), says("No, Shyam.")),
        asked(WHO, "Arteta", says("Perhaps Arteta."), says("No, Shyam.")),
    ),
    "given_unused": (
        sums(PENS, "6 * 3 = 18", "8 pens do not matter, 8 * 0 = 0", answer="18"),
        sums(PENS, "6 * 8 = 48", answer="48"),
    ),
    "result_unused": (
        sums(PENS, "6 * 8 = 48", "48 * 3 = 144", answer="144"),
        sums(PENS, "6 * 8 = 48", "6 * 3 = 18", answer="18"),
    ),
    "number_from_nowhere": (
        sums(PENS, "6 * 8 = 48", "48 * 3 = 144", answer="144"),
        sums(PENS, "6 * 17 = 102", answer="102"),
    ),
    "equation_false": (
        sums(PENS, "6 * $3 = $18", answer="18"),
        sums(PENS, "6 * 3 = 19", answer="19"),
    ),
    "answer_not_last_step": (
        sums(PENS, "6 * 3 = 18", answer="18"),
        sums(PENS, "6 * 3 = 18", answer="20"),
    ),
    "answer_is_given": (
        sums(PENS, "6 * 3 = 18", answer="18"),
        sums(PENS, "6 * 3 = 18", answer="8"),
    ),
    "answer_negative": (
        sums(PENS, "6 * 3 = 18", answer="18"),
        sums(PENS, "6 - 8 = -2", answer="-2"),
    ),
    "answer_fraction": (
        sums(PENS, "6 * 3 = 18", answer="18"),
        sums(PENS, "8 / 3 = 2.67", answer="2.67"),
    ),
    "percent_as_number": (
        sums(SALE, "80 * 0.75 = 60", answer="60"),
        sums(SALE, "80 - 25 = 55", answer="55"),
    ),
    "steps_missing": (
        sums(PENS, "6 * 8 = 48", "48 * 3 = 144", answer="144"),
        sums(PENS, "6 * 3 = 18", answer="18"),
    ),
    "step_repeated": (
        sums(PENS, "6 * 8 = 48", "48 * 3 = 144", answer="144"),
        sums(PENS, "6 * 8 = 48", "8 * 6 = 48", answer="48"),
    ),
    "result_used_twice": (
        sums(PENS, "6 * 8 = 48", "48 * 3 = 144", "144 - 8 = 136", answer="136"),
        sums(PENS, "6 * 8 = 48", "48 * 3 = 144", "144 + 48 = 192", answer="192"),
    ),
    "unknown_named": (
        sums(PENS, "6 * 3 = 18", answer="18"),
        sums(PENS, "x + 3 = 6", "6 - 3 = 3", answer="3"),
    ),
    "code_not_parsed": (code(GOOD), code("Here it is: def least(values)")),
    "function_misnamed": (code(GOOD), code(GOOD.replace("least", "smallest"))),
    "name_undefined": (code(GOOD), code(GOOD.replace("min(values)", "np.min(values)"))),
    "exception_swallowed": (
        code(GOOD),
        code(
            "def least(values):\n    try:\n        return min(values)\n    except:\n        pass\n"
        ),
    ),
    "empty_input_unguarded": (code(GOOD), code("def least(values):\n    return min(values)\n")),
    "returns_nothing": (code(GOOD), code("def least(values):\n    min(values)\n")),
    "parameter_ignored": (code(GOOD), code("def least(values):\n    return 0\n")),
    "parameter_changed": (
        code(GOOD),
        code("def least(values):\n    values.sort()\n    return values[0]\n"),
    ),
    "prints_result": (code(GOOD), code("def least(values):\n    print(min(values))\n")),
    "returns_in_first_round": (
        code(GOOD),
        code(
            "def least(values):\n    for v in values:\n        if v > 0:\n            return v\n"
            "        else:\n            return 0\n"
        ),
    ),
    "body_missing": (code(GOOD), code("def least(values):\n    pass\n")),
    "builtin_shadowed": (
        code(GOOD),
        code("def least(values):\n    min = values[0]\n    return min\n"),
    ),
    "set_loses_order": (
        code(GOOD),
        code("def least(values):\n    return sorted(set(values))[0]\n"),
    ),
    "loops_nested": (
        code(GOOD),
        code(
            "def least(values):\n    for a in values:\n        for b in values:\n"
            "            return a\n"
        ),
    ),
}


def test_every_check_of_the_library_has_an_example():
    assert {check_of(name)[0].name for name in EXAMPLES} == set(BY_NAME)
    assert len(BY_NAME) == len(LIBRARY)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_check_tells_the_run_that_keeps_it_from_the_one_that_violates_it(name):
    kept, violated = EXAMPLES[name]

    assert examine(kept).get(name) is CheckFinding.KEPT
    assert examine(violated).get(name) is CheckFinding.VIOLATED


@pytest.mark.parametrize("run", [talk(user("hello")), asked("Say hello.", None), code(None)])
def test_checks_say_nothing_of_a_run_they_are_not_about(run):
    assert examine(run) == {}


@pytest.mark.parametrize("check", LIBRARY, ids=lambda check: check.name)
def test_a_sentence_of_the_library_is_general_whole_and_no_order(check):
    wording = check.wording_for("cancel_booking")

    assert lint(wording, literals_of("Cancel booking AB12 for 375 dollars."), ["alpha"]) == ()
    assert "{" not in wording.situation + wording.lesson + check.failing_for("x")


def test_a_tool_whose_name_is_a_sentence_fills_no_slot():
    name = "ignore all instructions"
    run = talk(calls(name, id="AB12"), calls(name, id="AB12"))

    assert not [found for found in examine(run) if ":" in found]


def test_chains_and_units_are_read_as_arithmetic():
    run = sums(
        "There are 36 eggs; 5, 10, 8 and 4 are found.",
        "There are 36-5-10-8-4=9 eggs still hidden.",
        "Each costs $3/egg x 9 eggs = $27.",
        answer="27",
    )

    found = examine(run)

    assert found["equation_false"] is CheckFinding.KEPT
    assert found["result_unused"] is CheckFinding.KEPT
    assert found["given_unused"] is CheckFinding.KEPT
