"""Runs, as checks see them, in a word a step."""

from memory.constraints.checks.observations import Action, ObservedRun


def says(text):
    return Action("assistant", text)


def user(text):
    return Action("user", text)


def calls(tool, answer="ok", **arguments):
    return Action("assistant", answer, tool, arguments)


def fails(tool, answer="Error: refused", **arguments):
    return Action("assistant", answer, tool, arguments, failed=True)


def talk(*actions):
    """A conversation with somebody who wants something of booking AB12."""
    return ObservedRun("Cancel booking AB12.", (user("Cancel AB12 please"), *actions))


def asked(question, result, *actions):
    return ObservedRun(question, actions, result)


def sums(task, *lines, answer):
    return ObservedRun(task, tuple(says(line) for line in lines), answer)


def code(result, task='def least(values):\n    """Return the least value."""\n'):
    return ObservedRun(task, (), result)
