"""Of memories that say the same one is served, and what is said of it is its own."""

from itertools import product

from memory.curation.entities import TrustChange
from memory.curation.service import change_trust
from memory.kernel.engine import Engine
from memory.memories.entities import Trust
from memory.receipts.entities import Fate
from memory.receipts.guideline_entities import Format
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import Caller
from tests.storage.steps import remembered, served

LESSON = "ask a person first"
NEAREST = "a forecast of rain"


def copies(n: int) -> list[str]:
    """The lesson in so many other clothes."""
    letters = [("a", "\u0430"), ("o", "\u043e"), ("e", "\u0435"), ("s", "\uff53"), ("p", "\u0440")]
    drawn = [LESSON]
    for plain, other in letters:
        drawn += [one.replace(plain, other) for one in drawn]
    dressed = (
        dress(one)
        for one, dress in product(drawn, (str.upper, str.title, "{}!".format, "\u200b{}.".format))
    )
    return list(dict.fromkeys(dressed))[:n]


async def test_a_crowd_of_copies_neither_fills_the_places_nor_the_head(
    engine: Engine, calls: Caller, wall: str
):
    call = await calls(wall)
    others = [a_draft(situation=f"{NEAREST} {n}", lesson=f"look at map {n}") for n in "abc"]
    honest = await remembered(engine, call, *others)
    crowd = [
        a_draft(agent="puppet", situation=NEAREST, lesson=one, weight=2.0) for one in copies(60)
    ]
    await remembered(engine, call, *crowd)

    for form in Format:
        answer = await served(engine, await calls(wall), k=3, format=form)

        found = {memory.memory_id for memory in answer.memories}
        assert len(found) == 3
        assert len(found & {one.id for one in honest}) == 2


async def test_a_copy_with_a_claim_of_its_own_does_not_speak_for_a_trusted_lesson(
    engine: Engine, calls: Caller, wall: str
):
    [vouched] = await remembered(engine, await calls(wall), a_draft(lesson=LESSON))
    await change_trust(
        engine, await calls(wall), vouched.id, TrustChange(Trust.TRUSTED, "known source")
    )
    copied = a_draft(agent="puppet", situation=NEAREST, lesson=LESSON.upper(), weight=2.0)
    await remembered(engine, await calls(wall), copied)

    answer = await served(
        engine, await calls(wall), format=Format.FULL, purpose="preview", explain=True
    )

    [line] = answer.receipt.guideline.lines
    assert line.memory_ids == (vouched.id,)
    assert line.text.startswith("- «solver» (")
    assert "weight 1.00): on «a forecast of rain in a dry month»" in line.text
    assert answer.explanation is not None
    fates = {one.memory_id: one.fate for one in answer.explanation.considered}
    assert fates.pop(vouched.id) is Fate.SERVED
    assert set(fates.values()) == {Fate.LOOK_ALIKE}


async def test_as_data_the_same_lesson_about_another_situation_is_another_observation(
    engine: Engine, calls: Caller, wall: str
):
    drafts = [a_draft(situation=f"{NEAREST} in {month}", lesson="it did rain") for month in "ab"]
    await remembered(engine, await calls(wall), *drafts)

    as_data = await served(engine, await calls(wall), format=Format.MEMORIES)
    as_prose = await served(engine, await calls(wall))

    assert (len(as_data.memories), len(as_prose.memories)) == (2, 1)
