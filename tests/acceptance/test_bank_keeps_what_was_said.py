"""Over HTTP, with the real embedder: what says the opposite stays two, and a correction is kept."""

from collections.abc import Callable

import pytest
from memlift_client import MemLift

from tests.acceptance.servers import Home, Server
from tests.fixtures.like_texts import APART, MIGRATION, ONE

SITUATION = "Releasing a new version of the service in the evening"
NIGHT = "Rolling out a migration of the orders database at night"
THAI = [
    "ล้างแคชก่อนปล่อยรุ่นใหม่",
    "ถามลูกค้าก่อนคืนเงิน",
    "ตรวจยอดรวมสองครั้ง",
    "สำรองข้อมูลทุกคืน",
    "อย่าลบไฟล์บันทึก",
    "แจ้งทีมก่อนเริ่มงาน",
    "ใช้สกุลเงินเดียวกัน",
    "เขียนการทดสอบก่อน",
]


@pytest.fixture(scope="module")
def memory(home: Home, begin: Callable[..., Server]) -> MemLift:
    return begin(home).await_ready().client()


def test_opposites_stay_two_and_the_same_in_other_clothes_becomes_one(memory: MemLift) -> None:
    """Each pair in a category of its own, so that it is compared with itself alone."""
    ids: dict[int, tuple[str, str]] = {}
    pairs = [*APART, *ONE]
    for number, pair in enumerate(pairs):
        first, second = (
            memory.remember(
                agent="solver", situation=SITUATION, lesson=lesson, category=f"pair {number}"
            )
            for lesson in pair
        )
        ids[number] = (str(first.id), str(second.id))

    memory.run_job("merge")

    found = [pair for number, pair in enumerate(pairs) if was_merged(memory, ids[number])]
    assert [pair for pair in found if pair in APART] == []
    assert [pair for pair in ONE if pair not in found] == []


def was_merged(memory: MemLift, pair: tuple[str, str]) -> bool:
    return "merged" in {memory.get_memory(memory_id).status_reason for memory_id in pair}


def test_a_script_that_the_embedder_does_not_know_is_kept_and_said(memory: MemLift) -> None:
    answers = [
        memory.remember(agent="solver", situation=SITUATION, lesson=lesson, category="thai")
        for lesson in THAI
    ]

    memory.run_job("merge")

    assert {memory.get_memory(answer.id).status for answer in answers} == {"active"}
    assert {warning.code for answer in answers for warning in answer.warnings} == {"unknown_script"}
    [plain] = [memory.remember(agent="solver", situation=SITUATION, lesson="Warm up the cache.")]
    assert plain.warnings == ()


def test_a_correction_of_what_was_served_is_stored_and_named(memory: MemLift) -> None:
    lesson = memory.remember(agent="solver", situation=NIGHT, lesson=MIGRATION, category="release")
    advice = memory.retrieve(
        agent="solver",
        task={"text": NIGHT, "category": "release"},
        arm="on",
        explore=False,
    )
    assert lesson.id in {item.memory_id for item in advice.memories}
    cited = f"[m:{lesson.id[-8:]}]"

    def said(text: str):
        return memory.remember(agent="solver", situation=NIGHT, lesson=text, category="release")

    again = said(MIGRATION.upper())
    kept = [
        said(f"Do not {MIGRATION[0].lower()}{MIGRATION[1:]}: it crashed twice"),
        said(f"The note {cited} is wrong: migrate before restarting"),
        said(MIGRATION.replace("online", "offline")),
        said(f"{MIGRATION}, 5 minutes apart"),
    ]

    assert (again.echo, again.id) == (True, lesson.id)
    assert [(answer.echo, answer.deduplicated) for answer in kept] == [(False, False)] * 4
    assert [answer.contradicts for answer in kept] == [(lesson.id,), (lesson.id,), (), ()]
    assert memory.get_memory(kept[0].id).contradicts == (lesson.id,)
    guideline = memory.retrieve(
        agent="solver",
        task={"text": NIGHT, "category": "release"},
        arm="on",
        k=8,
        explore=False,
    )
    assert "disputed by another note" in (guideline.guideline.text or "")
    reworded = memory.edit_experience(kept[0].id, version=1, lesson="Wait for a quiet hour")
    assert reworded.contradicts == ()


def test_what_says_nothing_waits_until_it_is_edited(memory: MemLift) -> None:
    junk = memory.remember(agent="solver", situation="test", lesson="ok")

    assert (junk.memory_status, junk.warnings[0].code) == ("proposed", "says_nothing")
    edited = memory.edit_experience(junk.id, version=1, lesson="ask the owner before a test")
    assert (edited.status, edited.status_reason) == ("active", None)
