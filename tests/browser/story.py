"""A small shop whose agents remember, and what was reported of one memory that made it fall.

`porter` and `clerk` are of one family, `sprinter` of another. A memory of the porter's is served to
all three; runs of the sprinter say that it did harm, so its weight falls.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memlift_client import ExperienceFields, MemLift, NamespaceSettingsFields

# The header offers the first of all namespaces, and others make many on this server.
SHOP = "a-shop"
BANK = "bank"
MANY = 137
PLAIN = NamespaceSettingsFields(control_rate=0.0, slot_rate=0.0, coins=False, meta_guidelines=False)
# Only what is about the task is served, also once it is believed to do harm.
NEAR = PLAIN | NamespaceSettingsFields(raw_gate=0.35, score_floor=0.01)

SITUATION = "A customer wants to cancel an order that the carrier has already picked up"
LESSON = "Offer the return label first, because a parcel that is on its way cannot be called back"
TASK = "Cancel order {}: the carrier picked the parcel up {} hours ago"
HOSTILE = (
    "<script>document.title = 'taken over'</script> ![pixel](https://elsewhere.test/p.png) "
    "<img src=https://elsewhere.test/i.png onerror=\"document.title = 'taken over'\"> "
    "\u202eback to front\u202c שלום \U0001f469\u200d\U0001f680"
)

TOPICS = {
    "staff": ("a cook who asks for a free day", "a waiter who is ill on a holiday"),
    "refunds": ("a refund for a broken cup", "a refund that did not arrive at the bank"),
    "stock": ("a chair that is out of stock", "a delivery with fewer plates than were counted"),
    "invoices": ("an invoice without a tax number", "an invoice in the wrong currency"),
    "rooms": ("a window that does not close", "a lamp that flickers in the hall"),
}
LESSONS = ("Read the terms aloud before answering", "Ask for the number before anything else")
RUNS = (
    (
        [
            {"text": "Each box costs 3 dollars."},
            {"text": "The total price is 6 * 3 = 18 dollars."},
        ],
        1.0,
    ),
    (
        [
            {"text": "There are 6 * 8 = 48 pens."},
            {"text": "The total price is 48 * 3 = 144 dollars."},
        ],
        0.0,
    ),
)
QUESTION = "Ann buys 6 boxes of 8 pens at 3 dollars a box. How much does she pay in all?"


@dataclass(frozen=True)
class Story:
    """What tests need to know of it: ids, and weights before and after the memory fell."""

    memory_id: str
    hostile_id: str
    risen: float
    fallen: float
    outcomes: Sequence[str]
    receipts: Sequence[str]


def told(server_client: MemLift) -> Story:
    """Fill the shop. Every call goes through the client, as an agent's would."""
    server_client.create_namespace(SHOP, settings=NEAR)
    shop = server_client.within(SHOP)
    for name, family in (("porter", "north"), ("clerk", "north"), ("sprinter", "south")):
        shop.add_agent(name, family=family)
    memory_id, hostile_id = _remembered(shop)
    _contrasted(shop)
    helped = [_run(shop, number, "clerk", 0.8, 0.5) for number in range(4)]
    risen = shop.get_weight(memory_id).effective_weight
    harmed = [_run(shop, 10 + number, "sprinter", 0.25, 0.75) for number in range(6)]
    fallen = shop.get_weight(memory_id).effective_weight
    _tried(shop)
    return Story(
        memory_id,
        hostile_id,
        risen,
        fallen,
        [outcome for outcome, _ in (*helped, *harmed)],
        [receipt for _, receipt in (*helped, *harmed)],
    )


def _remembered(shop: MemLift) -> tuple[str, str]:
    """The porter's memory, trusted, so that another family sees it; and some thirty around it."""
    made = shop.remember(agent="porter", situation=SITUATION, lesson=LESSON, category="orders")
    shop.change_trust(made.id, "trusted", "checked by the shop")
    for item in shop.remember_all(
        [
            ExperienceFields(
                agent=agent, situation=f"A question about {topic}", lesson=lesson, category=category
            )
            for category, topics in TOPICS.items()
            for topic in topics
            for agent, lesson in zip(("clerk", "sprinter"), LESSONS, strict=True)
        ]
        + [
            ExperienceFields(
                agent="clerk",
                situation=f"Closing the books of month {month}",
                lesson=f"Count the till twice before month {month} ends",
                category="books",
            )
            for month in range(1, 10)
        ]
    ):
        item.unwrap()
    hostile = shop.remember(agent="clerk", situation=HOSTILE, lesson=HOSTILE, category="books")
    return made.id, hostile.id


def _run(shop: MemLift, number: int, agent: str, reward: float, without: float) -> tuple[str, str]:
    """A task that is run with the memory and without; ids of its outcome and receipt."""
    text = TASK.format(100 + number, 2 + number)
    served = shop.retrieve(
        agent=agent, task={"text": text, "category": "orders"}, purpose="paired", k=1
    )
    reported = shop.report(
        served.receipt, reward=reward, without={"reward": without}, verifier="test"
    )
    shop.apply_outcomes()
    return reported.outcome_id, served.receipt


def _contrasted(shop: MemLift) -> None:
    """A constraint from a right and a wrong run of one task, and two words that contradict."""
    task = {"text": QUESTION, "key": "pens", "category": "invoices"}
    runs = [
        shop.add_trajectory(agent=agent, task=task, steps=steps, reward=reward, verifier="test")
        for agent, (steps, reward) in zip(("clerk", "sprinter"), RUNS, strict=True)
    ]
    shop.contrast(trajectory_ids=[run.id for run in runs])
    trigger = "an invoice lists prices in several currencies"
    first = "converting every price to the currency of the invoice before adding them up"
    other = "adding the prices up as they stand and converting the total at the end"
    for enforce, avoid in ((first, other), (other, first)):
        shop.add_constraint(
            agent="clerk",
            trigger=trigger,
            enforce=enforce,
            avoid=avoid,
            task={"text": "What does the invoice come to?", "category": "invoices"},
        )


def _tried(shop: MemLift) -> None:
    """A candidate on trial."""
    task = {"text": "Refund the broken cup of order 7", "key": "cup", "category": "refunds"}
    served = shop.retrieve(agent="clerk", task=task)
    shop.report(served.receipt, reward=0.4, verifier="test")
    shop.apply_outcomes()
    shop.remember(
        agent="clerk",
        situation="A refund for something that broke on the way",
        lesson="Ask for a picture of the parcel before refunding",
        category="refunds",
        task=task,
        verify=True,
    )


def many(server_client: MemLift) -> list[str]:
    """137 memories of two agents in a namespace of their own; only the first two are suspended,
    so that in a list of newest first they stand past the first page. Ids, oldest first.
    """
    server_client.create_namespace(BANK, settings=PLAIN)
    bank = server_client.within(BANK)
    ids: list[str] = []
    for number in range(MANY):
        made = bank.remember(
            agent=("left", "right")[number % 2],
            situation=f"Opening drawer {number} of the cabinet",
            lesson=f"Turn the key of drawer {number} to the left",
            category="drawers",
            weight=0.5 + number / 200,
        )
        ids.append(made.id)
    for memory_id in ids[:2]:
        bank.suspend(memory_id, "the drawer is stuck")
    return ids
