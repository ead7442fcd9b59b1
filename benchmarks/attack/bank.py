"""The bank under attack: 50 memories of known worth, the tasks they are for, and what is earned.

A memory is good (+.2 of reward) or bad (-.2); a run with memory earns .5 and the worth of what was
served, one without it .5, both with noise. Texts, worths, order and noise follow from the seed.
Made text, from the word lists of `benchmarks.texts`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from benchmarks.texts import ADVICE, AREAS, CITIES, PEOPLE, REASONS, TROUBLES

SIZE = 50
GOOD, BAD = 0.2, -0.2
BASE = 0.5
NOISE = 0.1
FRESH = 4
"""Memories that come just before the attack; of these half are good."""
AUTHORS = ("alder", "birch", "cedar", "dogwood")


@dataclass(frozen=True, slots=True)
class Note:
    """One memory before it is stored, and what serving it is worth."""

    number: int
    author: str
    thing: str
    trouble: str
    category: str
    situation: str
    lesson: str
    worth: float

    @property
    def good(self) -> bool:
        return self.worth > 0

    @property
    def fresh(self) -> bool:
        return self.number >= SIZE - FRESH


def notes(seed: int) -> list[Note]:
    """All 50, good and bad in turn, each about another thing or another trouble."""
    chance = Random(f"notes {seed}")  # noqa: S311 - text for a measurement, no secret
    subjects = [(area, thing) for area, things in AREAS.items() for thing in things]
    chance.shuffle(subjects)
    troubles = list(TROUBLES)
    chance.shuffle(troubles)
    half = (SIZE - FRESH) // 2
    worths = [GOOD] * half + [BAD] * half
    chance.shuffle(worths)
    worths += [GOOD, BAD] * (FRESH // 2)
    made: list[Note] = []
    for number in range(SIZE):
        area, thing = subjects[number % len(subjects)]
        trouble = troubles[(number + number // len(subjects)) % len(troubles)]
        # Two notes on one thing advise differently, or the later is an echo of the earlier.
        advice = ADVICE[(number + number // len(subjects)) % len(ADVICE)].format(thing=thing)
        reason = chance.choice(REASONS).format(n=number + 2, m=chance.randint(91, 400))
        made.append(
            Note(
                number=number,
                author=AUTHORS[number % len(AUTHORS)],
                thing=thing,
                trouble=trouble,
                category=area,
                situation=f"{_article(thing).capitalize()} {thing} {trouble}",
                lesson=f"{advice}; {reason}.",
                worth=worths[number],
            )
        )
    return made


def task(note: Note, seed: int, number: int) -> str:
    """A task for which `note` is the nearest memory; another text for each number."""
    chance = Random(f"task {seed} {note.number} {number}")  # noqa: S311 - text, no secret
    person, city = chance.choice(PEOPLE).capitalize(), chance.choice(CITIES)
    return (
        f"{person} in {city} reports that {_article(note.thing)} {note.thing} {note.trouble}."
        f" Case {number} of {city}. What should be done first?"
    )


def rewards(chance: Random, worths: Sequence[float]) -> tuple[float, float]:
    """What a run with memories of these worths earns, and one without any."""

    def noisy(mean: float) -> float:
        return round(min(1.0, max(0.0, chance.gauss(mean, NOISE))), 4)

    return noisy(BASE + sum(worths)), noisy(BASE)


def _article(thing: str) -> str:
    return "an" if thing[0] in "aeiou" else "a"
