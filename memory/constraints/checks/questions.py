"""Checks of answered questions: is there an answer, of what form, and from where."""

from collections.abc import Mapping

from memory.constraints.checks.observations import (
    CheckFinding,
    ObservableCheck,
    ObservedRun,
    contains,
    only,
    words_of,
)
from memory.constraints.entities import Wording

SHORT = 5
"""An answer of more words says more than was asked (seen on recorded questions)."""


OPINION = 3
"""An answer of so few characters (yes, no, 7) need not stand anywhere."""


MOST = 2_000
"""So many characters of an answer are looked at."""


_LISTING = (",", ";", " / ", " - ")


def _asks(run: ObservedRun) -> bool:
    """Whether the task is a question that one line answers."""
    text = run.task.rstrip()
    code = "def " in text or "\n" in (run.result or "").strip()
    return text.endswith("?") and not run.is_dialogue and not code


def _answer(run: ObservedRun) -> tuple[str, ...]:
    return words_of((run.result or "")[:MOST])


def _long(run: ObservedRun) -> Mapping[str, CheckFinding]:
    answer = _answer(run)
    return only(applies=_asks(run) and bool(answer), violated=len(answer) > SHORT)


def _absent(run: ObservedRun) -> Mapping[str, CheckFinding]:
    return only(applies=_asks(run), violated=not _answer(run))


def _sentence(run: ObservedRun) -> Mapping[str, CheckFinding]:
    text = (run.result or "").strip()
    ends = text.endswith(".") and len(_answer(run)) > 2  # noqa: PLR2004 - initials end in stops
    return only(applies=_asks(run) and bool(text), violated=ends)


def _several(run: ObservedRun) -> Mapping[str, CheckFinding]:
    text = run.result or ""
    listed = any(mark in text for mark in _LISTING)
    return only(applies=_asks(run) and bool(_answer(run)), violated=listed)


def _echo(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The answer says three words of the question again, one after the other."""
    answer, question = _answer(run), words_of(run.task)
    parts = (answer[i : i + 3] for i in range(len(answer) - 2))
    return only(
        applies=_asks(run) and bool(answer), violated=any(contains(question, p) for p in parts)
    )


def _unseen(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The answer stands in nothing that was found."""
    answer = _answer(run)
    applies = _asks(run) and bool(run.calls) and len("".join(answer)) > OPINION
    return only(applies=applies, violated=not contains(words_of(run.observed), answer))


def _unreasoned(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The answer stands in nothing that the agent said before."""
    answer = _answer(run)
    said = words_of(run.said)
    applies = _asks(run) and bool(said) and len("".join(answer)) > OPINION
    return only(applies=applies, violated=not contains(said, answer))


def _asked_back(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The answer is a piece of the question."""
    answer = _answer(run)
    applies = _asks(run) and len("".join(answer)) > OPINION
    return only(applies=applies, violated=contains(words_of(run.task), answer))


def _names_of(task: str) -> list[tuple[str, ...]]:
    """Runs of capitalised words that do not open the question."""
    names: list[list[str]] = []
    open_name = False
    for place, word in enumerate(task.split()):
        capital = word.strip("\"'(").istitle() and place > 0
        if capital and open_name:
            names[-1].append(word)
        elif capital:
            names.append([word])
        open_name = capital and word[-1:] not in ",;?"
    return [words_of(" ".join(name)) for name in names]


def _not_searched(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """Something that the question names was never asked for."""
    asked = words_of(" ".join(str(call.arguments) for call in run.calls))
    names = _names_of(run.task)
    applies = _asks(run) and bool(run.calls) and bool(names)
    return only(applies=applies, violated=not all(any(w in asked for w in name) for name in names))


def _one_look(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """Answered after a single call."""
    applies = _asks(run) and bool(run.calls) and bool(_answer(run))
    return only(applies=applies, violated=len(run.calls) == 1)


def _without_look(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """Every call failed, and it answered all the same."""
    applies = _asks(run) and any(call.failed for call in run.calls) and bool(_answer(run))
    return only(applies=applies, violated=all(call.failed for call in run.calls))


def _searched_again(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The same was asked of a tool twice."""
    signatures = [call.signature.casefold() for call in run.calls]
    return only(
        applies=_asks(run) and len(signatures) > 1,
        violated=len(set(signatures)) < len(signatures),
    )


def _changed_mind(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """What was said last does not name the answer, though something before did."""
    answer = _answer(run)
    said = [one.text for one in run.actions if one.is_said]
    applies = _asks(run) and len(said) > 1 and len("".join(answer)) > OPINION
    return only(applies=applies, violated=not contains(words_of(said[-1] if said else ""), answer))


QUESTIONS = (
    ObservableCheck(
        "answer_long",
        Wording(
            "a question asks for a name, a number, a date or a yes or no",
            "answering with that alone, in five words or fewer",
            "an explanation or a whole sentence in the answer",
        ),
        "answered with more than five words",
        _long,
    ),
    ObservableCheck(
        "answer_absent",
        Wording(
            "a question has to be answered within a limited number of steps",
            "giving the best answer that the findings allow before the steps run out",
            "going on searching until there is no step left to answer",
        ),
        "stopped without an answer",
        _absent,
    ),
    ObservableCheck(
        "answer_sentence",
        Wording(
            "a question asks for one fact",
            "the bare fact as the answer",
            "a full sentence that ends with a full stop",
        ),
        "answered with a full sentence",
        _sentence,
    ),
    ObservableCheck(
        "answer_several",
        Wording(
            "a question asks for one thing",
            "deciding on one answer",
            "several candidates, or an answer with additions behind a comma",
        ),
        "answered with several things at once",
        _several,
    ),
    ObservableCheck(
        "answer_echo",
        Wording(
            "a question is answered",
            "giving only what the question does not say itself",
            "repeating the words of the question in the answer",
        ),
        "repeated the question in its answer",
        _echo,
    ),
    ObservableCheck(
        "answer_unseen",
        Wording(
            "an answer is to be found by searching",
            "an answer in the words of a text that was found",
            "an answer that stands in nothing that was found",
        ),
        "gave an answer that stood in nothing it had found",
        _unseen,
    ),
    ObservableCheck(
        "answer_unreasoned",
        Wording(
            "an answer follows from what was thought before",
            "stating the answer in the reasoning first, in the words in which it is then given",
            "an answer that the reasoning never names",
        ),
        "gave an answer that its reasoning never named",
        _unreasoned,
    ),
    ObservableCheck(
        "answer_from_question",
        Wording(
            "the question describes something by its properties",
            "naming the thing that is described",
            "an answer that only takes words out of the question",
        ),
        "answered with words taken from the question",
        _asked_back,
    ),
    ObservableCheck(
        "name_not_searched",
        Wording(
            "a question names several people, works or places",
            "looking up each of them before answering",
            "an answer while one of them was never looked up",
        ),
        "never looked up something that the question names",
        _not_searched,
    ),
    ObservableCheck(
        "answer_after_one_look",
        Wording(
            "a question links two facts",
            "a second search for the second fact",
            "an answer after the first thing that was found",
        ),
        "answered after a single search",
        _one_look,
    ),
    ObservableCheck(
        "answer_after_errors_only",
        Wording(
            "a search finds nothing",
            "trying another name, or the names that were suggested, until something is found",
            "an answer from memory while every search failed",
        ),
        "answered although every search had failed",
        _without_look,
    ),
    ObservableCheck(
        "searched_again",
        Wording(
            "a search did not bring what was needed",
            "changing its words before searching again",
            "the same search a second time",
        ),
        "made the same search twice",
        _searched_again,
    ),
    ObservableCheck(
        "answer_not_last_thought",
        Wording(
            "the reasoning has reached an answer",
            "handing in what the last thought names",
            "an answer that differs from what was concluded last",
        ),
        "handed in something that its last thought does not name",
        _changed_mind,
    ),
)
