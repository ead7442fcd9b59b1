"""Words for the 16 topics, so that a model finds the memories of a topic by what they say."""

from benchmarks.kernels.credit.world import MEMORIES, PER_TOPIC

TOPICS = {
    "databases": (
        "a slow SQL query on a large table",
        "a schema migration that locks a table",
        "restoring a Postgres backup",
        "a connection pool that runs dry under load",
    ),
    "kitchen": (
        "baking sourdough bread",
        "making a mayonnaise that does not split",
        "searing a steak in a pan",
        "tempering dark chocolate",
    ),
    "travel": (
        "booking a long-haul flight",
        "renting a car abroad",
        "planning a hike in the mountains",
        "finding a hotel in a crowded city",
    ),
    "forecasts": (
        "forecasting the price of crude oil",
        "predicting the winner of an election",
        "estimating a company's quarterly revenue",
        "forecasting next month's inflation",
    ),
}
OCCASIONS = (
    "the first attempt went wrong",
    "time was short",
    "the usual advice did not fit",
    "somebody else had started the work",
    "the result had to be explained",
    "conditions changed half-way",
)
ADVICE = (
    "begin with what is cheapest to check",
    "leave out every step that is not needed",
    "ask what is different this time before you copy a recipe",
    "look at what was done already and undo the last change",
    "write down the reasons while you work",
    "stop, measure again, and plan from there",
)
DETAILS = (
    "what should I do first?",
    "which mistake is the most likely?",
    "how do I know that it worked?",
    "I have one hour.",
    "last time it did not go well.",
)
CATEGORIES = tuple(TOPICS)
_PHRASES = tuple(phrase for phrases in TOPICS.values() for phrase in phrases)


def situation(memory: int) -> str:
    topic, place = divmod(memory, PER_TOPIC)
    return f"{_PHRASES[topic].capitalize()}, when {OCCASIONS[place]}."


def lesson(memory: int) -> str:
    topic, place = divmod(memory, PER_TOPIC)
    return f"For {_PHRASES[topic]}: {ADVICE[place]}."


def task_text(task: int, topic: int) -> str:
    return f"Case {task}: {_PHRASES[topic]}; {DETAILS[task % len(DETAILS)]}"


SITUATIONS = tuple(situation(memory) for memory in range(MEMORIES))
