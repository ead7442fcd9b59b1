"""Suite `lessons`: 68 rules as memories, of which an agent uses those that fit its question.

A rule is found by the example that it was written from, and most of what is found for a question
does not fit it: the agent goes by the few that do, wholly, so each votes with its weight. The gates
are open, ten rules are served for every question. The arm `used` says in its reports which of them
the agent went by, the arm `memlift` does not. What is written where: `benchmarks.notes.stage`.
"""

import argparse
from collections.abc import Mapping, Sequence
from statistics import StatisticsError, correlation, fmean

from benchmarks.notes import stage
from benchmarks.notes.arms import MEMLIFT, NONE, OPEN, PLAIN, SIMILARITY, STILL, USED, Arm, by_fit
from benchmarks.notes.data import Data, Deal, Note, Question, Rule, read, shuffle
from benchmarks.notes.figures import (
    REPORTED,
    Play,
    Played,
    Plays,
    Summary,
    aim_at_least,
    describe,
    gain,
    pair_reported,
)
from benchmarks.notes.player import Weight
from benchmarks.notes.stage import Part, Say, Stage
from benchmarks.notes.vote import Voter

NAME = "lessons"
ARMS: Mapping[str, Arm | None] = {
    NONE: None,
    SIMILARITY: Arm(SIMILARITY, learning="frozen", settings=STILL | OPEN, listen=by_fit),
    MEMLIFT: Arm(MEMLIFT, settings=PLAIN | OPEN, listen=by_fit),
    USED: Arm(USED, settings=PLAIN | OPEN, listen=by_fit, tells_used=True),
}
GAINED_USED, GAINED = 0.023, 0.016


def options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    stage.options(parser)
    parser.add_argument("--arms", nargs="+", choices=ARMS, help="these arms alone")


def run(given: argparse.Namespace, say: Say) -> None:
    """Play what is not played yet, and say what everything in the folder amounts to."""
    data = read(given.data)
    running = Stage(
        name=NAME,
        given=given,
        deal=lambda play: deal(data, play.order, given.tasks),
        settings={"tasks": given.tasks},
        say=say,
    )
    orders = REPORTED[: 1 + given.full] if given.order is None else (given.order,)
    plays = [Play(len(data.rules), order) for order in orders]
    arms = {name: ARMS[name] for name in given.arms or ARMS}
    running.run(Voter(), [Part(play, name, arm) for play in plays for name, arm in arms.items()])
    running.conclude(summarise)


def deal(data: Data, order: int, tasks: int | None = None) -> Deal:
    """Every rule is a memory; the tasks are all questions but the examples, shuffled."""
    examples = {rule.example.lower() for rule in data.rules.values()}
    asked = [one for one in data.questions if one.text.lower() not in examples]
    notes = [write_lesson(rule, asked) for _, rule in sorted(data.rules.items())]
    return Deal(notes, shuffle(asked, order)[:tasks])


def write_lesson(rule: Rule, questions: Sequence[Question]) -> Note:
    """The example with the rule; its worth is how often it is right where it fits."""
    fitting = [one for one in questions if rule.id in one.rules]
    return Note(
        id=rule.id,
        situation=rule.example,
        lesson=f"Whatever fits the pattern `{rule.pattern}` asks for: {rule.kind}",
        says=rule.kind,
        author=rule.id,
        worth=fmean(one.kind == rule.kind for one in fitting) if fitting else 0.0,
        rule=rule.id,
    )


def summarise(plays: Plays) -> Summary:
    """Figures of every play, and both targets over the reported orders."""
    numbers = describe(plays)
    for play, arms in sorted(plays.items()):
        for name, played in arms.items():
            numbers |= {f"{play}, {name}, {k}": v for k, v in _lessons(played).items()}
    bank = max((play.bank for play in plays), default=0)
    name = f"{SIMILARITY}, reported orders: gain"
    return Summary(
        numbers,
        [
            aim_at_least(f"{USED} - {name}", GAINED_USED, gain(pair_reported(plays, bank, USED))),
            aim_at_least(f"{MEMLIFT} - {name}", GAINED, gain(pair_reported(plays, bank, MEMLIFT))),
        ],
    )


def _lessons(played: Played) -> dict[str, float]:
    """How many of those served the agent goes by, and whether weights know what rules are worth."""
    served = sum(one.served for one in played.tasks)
    if not served:
        return {}
    found = {"used of those served": sum(len(one.used) for one in played.tasks) / served}
    agreement = correlate(played.weights)
    if agreement is not None:
        found["correlation of weight and worth"] = agreement
    return found


def correlate(weights: Sequence[Weight]) -> float | None:
    """Pearson's coefficient of weight and worth; None where either is the same for all."""
    try:
        return correlation([one.weight for one in weights], [one.worth for one in weights])
    except StatisticsError:
        return None
