"""Worked sums, made for the pictures of the dashboard: three agents, one of them hasty.

`careful` and `steady` are of one family, `hasty` of another. Where they part on a sum, the careful
one says what to keep to; what the hasty one reports of a memory makes that memory fall.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memlift_client import MemLift

AGENTS = {"careful": "north", "steady": "north", "hasty": "south"}
QUESTIONS = {
    "pens": (
        "Ann buys 6 boxes of 8 pens at 3 dollars a box. How much does she pay in all?",
        ("Each box costs 3 dollars.", "The total price is 6 * 3 = 18 dollars."),
        ("There are 6 * 8 = 48 pens.", "The total price is 48 * 3 = 144 dollars."),
    ),
    "eggs": (
        "A farm sells 9 trays of 30 eggs at 5 dollars a tray. How much does it earn in all?",
        ("Each tray costs 5 dollars.", "The total price is 9 * 5 = 45 dollars."),
        ("There are 9 * 30 = 270 eggs.", "The total price is 270 * 5 = 1350 dollars."),
    ),
    "miles": (
        "Tom rides 12 miles a day for 5 days and rests for 2. How many miles does he ride in all?",
        ("He rides on 5 days.", "The total distance is 12 * 5 = 60 miles."),
        ("There are 5 + 2 = 7 days.", "The total distance is 12 * 7 = 84 miles."),
    ),
}
TRIGGER = "a sum of parts is asked for and the parts are given in several different units"
ENFORCE = "converting every part to the unit of the answer before adding any of them up"
AVOID = "adding the parts up as they stand in the text and converting the total afterwards"
LEARNED: Mapping[str, str] = {
    "trigger": "a count and a rate are given beside a number that the question does not ask about",
    "enforce": "multiplying only what the rate is counted in",
    "avoid": "bringing the number in that nothing is paid or counted by",
}
SITUATION = "A price is given for a box, a tray or another pack, and the number of packs is known"
TURNS = (("steady", 0.9, 0.5),) * 4 + (("hasty", 0.3, 0.7),) * 5
"""Who asks, and the reward with the memory and without."""

OTHERS = {
    "A speed and a time are given": "Bring both to hours before multiplying",
    "A share of a whole is asked for": "Name the whole before dividing",
    "An age in some years is asked for": "Write down whose age it is, and when",
    "A train leaves before another": "Draw both on one line",
}
FIRST = datetime(2026, 3, 2, 9, tzinfo=UTC)
WEEK = timedelta(days=7)
LESSON = "Multiply the price by the number of packs; what is in a pack does not change the price"


@dataclass(frozen=True, slots=True)
class Brought:
    """Ids of what the pictures show."""

    constraint_id: str
    contradiction_id: str


def bring_sums(memory: MemLift) -> Brought:
    """Fill a namespace."""
    for name, family in AGENTS.items():
        memory.add_agent(name, family=family)
    for key, (text, right, wrong) in QUESTIONS.items():
        task = memory.add_task(text=text, key=key, category="mathematics")
        for agent in AGENTS:
            memory.add_trajectory(
                agent=agent,
                task_id=task.id,
                steps=[{"text": step} for step in (wrong if agent == "hasty" else right)],
                reward=0.0 if agent == "hasty" else 1.0,
                verifier="test",
            )
        memory.contrast(task_id=task.id)
        memory.add_constraint(
            agent="careful",
            task_id=task.id,
            trigger=LEARNED["trigger"],
            enforce=LEARNED["enforce"],
            avoid=LEARNED["avoid"],
        )
    [learned] = memory.list_constraints(limit=200).items
    _opposed(memory)
    return Brought(
        learned.id,
        memory.list_contradictions(limit=1).items[0].id,
    )


def _opposed(memory: MemLift) -> None:
    """Two agents' words that cannot both hold."""
    for agent, enforce, avoid in (("careful", ENFORCE, AVOID), ("hasty", AVOID, ENFORCE)):
        memory.add_constraint(
            agent=agent,
            trigger=TRIGGER,
            enforce=enforce,
            avoid=avoid,
            task={
                "text": "Ada rides 40 minutes and walks 2 hours. How long in all?",
                "category": "mathematics",
            },
        )


def bring_packs(memory: MemLift) -> tuple[str, str]:
    """A memory that helps one agent, until another reports that it does harm: its id, and the last
    receipt. One run a week, in a namespace with the replay clock.
    """
    for name, family in AGENTS.items():
        memory.add_agent(name, family=family)
    made = memory.remember(
        agent="careful",
        situation=SITUATION,
        lesson=LESSON,
        category="mathematics",
        learned_at=FIRST,
    )
    memory.change_trust(made.id, "trusted", "checked by hand")
    for situation, lesson in OTHERS.items():
        memory.remember(
            agent="careful",
            situation=situation,
            lesson=lesson,
            category="mathematics",
            learned_at=FIRST,
        )
    receipt = ""
    for number, (agent, reward, without) in enumerate(TURNS):
        text = f"{number + 3} packs of {number + 7} cards, {number + 2} dollars each: what is due?"
        day = FIRST + (number + 1) * WEEK
        served = memory.retrieve(
            agent=agent,
            task={"text": text, "category": "mathematics"},
            purpose="paired",
            k=1,
            as_of=day,
        )
        receipt = served.receipt
        memory.report(
            receipt, reward=reward, without={"reward": without}, verifier="test", known_at=day
        )
        memory.apply_outcomes()
    return made.id, receipt
