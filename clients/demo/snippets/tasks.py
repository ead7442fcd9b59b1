"""Deals notes and tasks: the same for the same seed, others for another."""

from random import Random

from clients.demo.snippets import collection_topics, number_topics, sql_topics, text_topics
from clients.demo.snippets.topic import Note, Task, Topic

TOPICS: tuple[Topic, ...] = (
    *text_topics.TOPICS,
    *number_topics.TOPICS,
    *collection_topics.TOPICS,
    *sql_topics.TOPICS,
)
HARD = 0.8
"""The share of tasks in which the wrong note is found out; in the rest it does as well."""

AUTHORS = ("wiki", "chat", "review", "blog", "course")
THINGS = (
    "garden tools",
    "bicycle parts",
    "second-hand books",
    "board games",
    "kitchen tiles",
    "concert tickets",
    "tea and coffee",
    "winter coats",
    "school supplies",
    "bird food",
    "fishing gear",
    "old records",
    "house plants",
    "camera lenses",
    "running shoes",
    "party hats",
)


def deal_notes(seed: int) -> list[Note]:
    """Three notes a topic in a shuffled order. Which of two wordings of the situation stands over
    the right note, and who wrote what, is left to chance: neither tells right from wrong.
    """
    random = Random(f"notes {seed}")  # noqa: S311 - a seed that anybody may know
    notes: list[Note] = []
    for topic in TOPICS:
        over_right, over_wrong = random.sample(topic.situations, 2)
        authors = [random.choice(AUTHORS) for _ in range(3)]
        beside, lesson = topic.beside
        notes += [
            Note(topic.key, topic.language, "right", authors[0], over_right, topic.right),
            Note(topic.key, topic.language, "wrong", authors[1], over_wrong, topic.wrong),
            Note(topic.key, topic.language, "beside", authors[2], beside, lesson),
        ]
    random.shuffle(notes)
    return notes


def deal_tasks(seed: int, number: int) -> list[Task]:
    """Rounds over all topics, each round in an order of its own."""
    random = Random(f"tasks {seed}")  # noqa: S311 - a seed that anybody may know
    tasks: list[Task] = []
    while len(tasks) < number:
        for topic in random.sample(TOPICS, len(TOPICS)):
            tasks.append(deal_task(topic, random, len(tasks), hard=random.random() < HARD))
    return tasks[:number]


def deal_task(topic: Topic, random: Random, place: int, *, hard: bool) -> Task:
    """One task of a topic."""
    drawn = topic.draw(random, hard=hard)
    things = random.choice(THINGS)
    words = {"things": things, "Things": things.capitalize(), **drawn.words}
    return Task(
        key=f"task-{place + 1}",
        topic=topic.key,
        hard=hard,
        language=topic.language,
        text=random.choice(topic.wordings).format(**words),
        parameters=topic.parameters,
        schema=topic.schema,
        first_idea=topic.first_idea,
        checks=drawn.checks,
    )
