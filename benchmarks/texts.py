"""Experiences and tasks in quantity: made from templates and lists of words, all different, the
same for the same seed.

Made text has fewer turns of phrase than people have, so neighbours lie closer than in a grown bank;
what is timed (embedding, exact search over all rows, a receipt) does not depend on that.
"""

from collections.abc import Iterator
from random import Random

AREAS = {
    "orders": ("order", "parcel", "return label", "pickup slot", "gift card", "backorder"),
    "billing": ("invoice", "refund", "subscription", "credit note", "direct debit", "tax line"),
    "deploys": ("rollout", "migration", "feature flag", "canary", "container image", "rollback"),
    "data": ("nightly export", "schema change", "backfill", "partition", "index build", "snapshot"),
    "forecasts": ("close price", "vote count", "river level", "visitor number", "rainfall", "rate"),
}
PEOPLE = ("a customer", "the on-call engineer", "an auditor", "a supplier", "a new colleague")
TROUBLES = (
    "was changed twice within an hour",
    "does not match what the system shows",
    "has been waiting since the weekend",
    "failed half-way and was started again",
    "belongs to two accounts at once",
    "is larger than the limit allows",
    "was approved by somebody who has left",
)
ADVICE = (
    "Check the {thing} against its source before touching anything else",
    "Ask for the number of the {thing} and look up its history first",
    "Stop, write down the state of the {thing}, and only then retry",
    "Do not promise a date for the {thing}; give a range and say why",
    "Split the {thing} into parts that can be undone one by one",
    "Prefer the older record of the {thing}: the newer one is often a copy",
)
REASONS = (
    "the first answer was wrong in {n} of {m} cases",
    "a retry made it worse on {n} occasions",
    "it saved about {n} minutes each time",
    "nobody had noticed for {n} days",
    "the limit is {n} and the system does not say so",
)
CITIES = ("Lyon", "Osaka", "Quito", "Turku", "Leeds", "Accra", "Boston", "Porto", "Kraków", "Hue")


def experiences(count: int, seed: int) -> Iterator[dict[str, object]]:
    """As `POST /experiences` takes them."""
    chance = Random(seed)  # noqa: S311 - text for a measurement, no secret
    for number in range(count):
        area, thing, situation = _situation(chance, number)
        advice = chance.choice(ADVICE).format(thing=thing)
        reason = chance.choice(REASONS).format(n=chance.randint(2, 90), m=chance.randint(91, 400))
        yield {
            "agent": f"agent-{number % 8}",
            "situation": situation,
            "lesson": f"{advice}; {reason}.",
            "category": area,
            "metadata": {"number": number},
        }


def tasks(count: int, seed: int) -> Iterator[str]:
    """Tasks that none of the experiences repeats, so that no embedding is known beforehand."""
    chance = Random(seed)  # noqa: S311 - text for a measurement, no secret
    for number in range(count):
        _, _, situation = _situation(chance, number)
        yield f"Case {seed}-{number}. {situation} What should be done first?"


def _situation(chance: Random, number: int) -> tuple[str, str, str]:
    area = chance.choice(sorted(AREAS))
    thing = chance.choice(AREAS[area])
    person, trouble, city = chance.choice(PEOPLE), chance.choice(TROUBLES), chance.choice(CITIES)
    reference = f"{city[:2].upper()}{number:05d}"
    return (
        area,
        thing,
        f"{person.capitalize()} in {city} reports that {thing} {reference} {trouble}.",
    )
