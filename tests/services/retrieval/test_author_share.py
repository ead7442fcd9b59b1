"""Near copies, which no normal form folds, leave the last place to what another author wrote."""

from memory.kernel.engine import Engine
from memory.receipts.entities import Fate
from memory.receipts.guideline_entities import Format
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import Caller
from tests.storage.steps import remembered, served

NEAREST = "a forecast of rain"
LESSON = "always say one half"
NEAR_COPIES = (
    f"1. {LESSON}",
    f"{LESSON} f1rst",
    f"{LESSON} (always)",
    f"{LESSON}, please",
    f"{LESSON} \N{UMBRELLA}",
    " ".join(LESSON),
    LESSON.replace(" ", "_"),
)


async def test_near_copies_of_one_author_leave_the_last_place_to_another(
    engine: Engine, calls: Caller, wall: str
):
    liar = await calls(wall, agents=("liar",))
    crowd = [a_draft(agent="liar", situation=NEAREST, lesson=one) for one in NEAR_COPIES]
    made = {one.id for one in await remembered(engine, liar, *crowd)}
    alone = await served(engine, liar, agent="liar")
    author = await calls(wall, agents=("honest",))
    [honest] = await remembered(engine, author, a_draft(agent="honest"))
    reader = await calls(wall, agents=("reader",))

    for form in Format:
        answer = await served(engine, reader, agent="reader", format=form)
        ids = [memory.memory_id for memory in answer.memories]
        assert len(set(ids) & made) == 2
        assert ids[-1] == honest.id

    every = await served(engine, reader, agent="reader", format=Format.MEMORIES, all_rankers=True)
    shown = await served(engine, reader, agent="reader", purpose="preview", explain=True)

    assert len({memory.memory_id for memory in alone.memories} & made) == 3
    assert honest.id in {memory.memory_id for memory in every.memories}
    assert shown.explanation is not None
    fates = {one.memory_id: one.fate for one in shown.explanation.considered}
    assert fates.pop(honest.id) is Fate.SERVED
    assert sorted(fates.values()) == [Fate.AUTHOR_SHARE] * 4 + [Fate.SERVED] * 2


async def test_what_managers_brought_is_not_held_back(engine: Engine, calls: Caller, wall: str):
    crowd = [a_draft(situation=NEAREST, lesson=one) for one in NEAR_COPIES]
    made = {one.id for one in await remembered(engine, await calls(wall), *crowd)}
    author = await calls(wall, agents=("honest",))
    await remembered(engine, author, a_draft(agent="honest"))

    answer = await served(engine, await calls(wall, agents=("reader",)), agent="reader")

    assert {memory.memory_id for memory in answer.memories} <= made
