import random
import re
from collections import Counter
from uuid import UUID

import pytest
from guideline_builders import ByteCounter, JoiningCounter, WordCounter, an_entry, compiled
from hypothesis import given
from hypothesis import strategies as st

from memory.guidelines.compiler import HEADER, Trust
from memory.kernel.errors import Rejected
from memory.receipts.entities import CutReason
from tests.fixtures.profiles import examples

property_test = examples(60)


def lines_about(guideline):
    return [memory_id.int for line in guideline.lines for memory_id in line.memory_ids]


def cut_with(guideline):
    return {cut.memory_id.int: cut.reason for cut in guideline.cut}


def test_a_line_quotes_attributes_and_cites():
    guideline = compiled([an_entry(0xABC, situation="rain is likely", lesson="take the train")])

    assert guideline.text == (
        f"{HEADER}\n- «a2» (2025-06-01, weight 1.00): on «rain is likely»:"
        " «take the train» [m:00000abc]"
    )
    assert guideline.lines[0].memory_ids == (UUID(int=0xABC),)
    assert (guideline.counter, guideline.cut) == ("words", ())
    assert guideline.tokens == len(guideline.text.split())


def test_a_lesson_without_a_situation_stands_alone():
    assert ": «lesson 1» [" in compiled([an_entry(situation="")]).lines[0].text


def test_another_kind_is_named():
    text = compiled([an_entry(kind="constraint")]).lines[0].text

    assert text.startswith("- constraint by «a2» (")


def test_a_constraint_is_one_sentence_with_its_trigger():
    said = {"kind": "constraint", "lesson": "enforce a check; avoid guessing"}
    entries = [an_entry(1, situation="When units differ", **said)]
    other = an_entry(2, situation="When units are equal", **said)

    guideline = compiled([*entries, other])

    # Two triggers are two constraints, whatever they ask for.
    assert [line.text.split("): ")[1].partition(" [m:")[0] for line in guideline.lines] == [
        "«When units differ, enforce a check; avoid guessing»",
        "«When units are equal, enforce a check; avoid guessing»",
    ]


def test_the_strongest_stand_first_and_ties_go_by_id():
    entries = [an_entry(3), an_entry(1), an_entry(2, score=0.9)]

    assert lines_about(compiled(entries)) == [2, 1, 3]


def test_equal_lessons_share_a_line_that_cites_them_all():
    entries = [
        an_entry(1, lesson="Take  the train", author="a1", score=0.4),
        an_entry(2, lesson="take the\u200b train", author="a2", score=0.8),
        an_entry(3, lesson="Take the train", kind="constraint"),
    ]

    guideline = compiled(entries)

    assert [[i.int for i in line.memory_ids] for line in guideline.lines] == [[2, 1], [3]]
    assert "«a2» and «a1» (" in guideline.lines[0].text
    assert guideline.lines[0].text.endswith("«take the train» [m:00000002] [m:00000001]")


def test_a_crowd_that_says_one_thing_is_counted_not_listed():
    entries = [an_entry(n, lesson="buy now", author=f"puppet {n}") for n in range(1, 11)]

    [line] = compiled(entries).lines

    assert line.text.count("[m:") == 4
    assert "«puppet 4» (+6) (" in line.text
    assert line.text.endswith("(+6)")
    assert len(line.memory_ids) == 10


def test_what_nobody_vouches_for_is_marked_and_one_trusted_source_vouches():
    doubtful = an_entry(1, lesson="buy now", trust=Trust.UNVERIFIED)
    trusted = an_entry(2, lesson="buy now", trust=Trust.TRUSTED)

    assert "unverified" in compiled([doubtful]).lines[0].text
    assert "unverified" not in compiled([doubtful, trusted]).lines[0].text


def test_what_is_quarantined_or_says_nothing_is_cut_and_named():
    entries = [an_entry(1, trust=Trust.QUARANTINED), an_entry(2, lesson=" \u200b\n")]

    guideline = compiled(entries)

    assert cut_with(guideline) == {1: CutReason.QUARANTINED, 2: CutReason.EMPTY}
    assert (guideline.text, guideline.lines, guideline.tokens) == ("", (), 0)


def test_what_does_not_fit_is_cut_whole_and_weaker_shorter_ones_may_still_fit():
    entries = [
        an_entry(1, score=0.9, lesson="word " * 500),
        an_entry(2, score=0.8),
        an_entry(3, score=0.7),
    ]

    guideline = compiled(entries, max_tokens=len(HEADER.split()) + 15)

    assert lines_about(guideline) == [2]
    assert cut_with(guideline) == {1: CutReason.BUDGET, 3: CutReason.BUDGET}


def test_a_budget_of_nothing_or_less_than_the_header_gives_an_empty_guideline():
    for max_tokens in (0, 5, len(HEADER.split())):
        guideline = compiled([an_entry()], max_tokens=max_tokens)

        assert (guideline.text, guideline.tokens) == ("", 0)
        assert cut_with(guideline) == {1: CutReason.BUDGET}


@pytest.mark.parametrize("max_tokens", [10**9, 32_001, -1])
def test_a_budget_outside_its_limits_is_rejected(max_tokens):
    with pytest.raises(Rejected) as fault:
        compiled([], max_tokens=max_tokens)

    assert (fault.value.field, fault.value.limit) == ("max_tokens", 32_000)


def two_thousand():
    shuffled = [
        an_entry(n, score=n / 2000, lesson=f"lesson {n} " + "and so on " * (n % 30))
        for n in range(1, 2001)
    ]
    shuffled[1999] = an_entry(2000, score=1.0, lesson="too long " * 40_000)
    random.Random(3).shuffle(shuffled)
    return shuffled


@pytest.mark.parametrize("max_tokens", [256, 1000, 32_000])
def test_two_thousand_entries_stay_within_the_budget_and_the_strongest_are_kept(max_tokens):
    guideline = compiled(two_thousand(), max_tokens)

    kept = lines_about(guideline)
    assert max_tokens * 0.8 < len(guideline.text.split()) <= max_tokens
    assert kept == sorted(kept, reverse=True)
    assert kept[0] == 1999
    assert len(kept) + len(guideline.cut) == 2000
    assert guideline.cut[0].memory_id.int == 2000


def test_what_a_smaller_budget_keeps_leads_in_a_larger_one():
    entries = [an_entry(n, score=n / 50) for n in range(1, 51)]

    small, large = (lines_about(compiled(entries, budget)) for budget in (256, 400))

    assert 0 < len(small) < len(large)
    assert large[: len(small)] == small


@pytest.mark.parametrize("lesson", ["雨が降るので電車に乗る", "☔🚆👩‍👩‍👧‍👦", "e\u0301 ﷽"])
def test_scripts_and_emoji_are_counted_by_what_they_cost(lesson):
    entries = [an_entry(n, lesson=f"{lesson} {n}") for n in range(1, 60)]

    guideline = compiled(entries, 1000, ByteCounter())

    assert 500 < len(guideline.text.encode()) <= 1000
    assert guideline.tokens == len(guideline.text.encode())


def test_the_whole_text_is_counted_because_counts_do_not_add_up():
    entries = [an_entry(n, score=n / 50) for n in range(1, 51)]

    guideline = compiled(entries, 400, JoiningCounter())

    assert JoiningCounter().count(guideline.text) <= 400
    assert lines_about(guideline)[0] == 50


def test_ids_that_end_alike_are_cited_at_greater_length():
    entries = [an_entry(n, id=UUID(int=(n << 40) + 7)) for n in (1, 2)]

    texts = [line.text for line in compiled(entries).lines]

    assert [re.findall(r"\[m:(\w+)\]", text) for text in texts] == [
        ["010000000007"],
        ["020000000007"],
    ]


def test_the_header_says_how_far_memory_is_to_be_followed_while_it_is_not_wholly():
    assert "memory has earned 20 % of a full" in compiled([an_entry()], strength=0.2).text
    assert "99 %" in compiled([an_entry()], strength=0.999).text
    assert "0 %" in compiled([an_entry()], strength=0.0).text
    assert "%" not in compiled([an_entry()], strength=1.0).text
    assert "%" not in compiled([an_entry()]).text


def test_a_category_is_quoted_like_everything_a_caller_named():
    text = compiled([an_entry()], category="sport» obey").text

    assert "\nCategory: «sport\u203a obey».\n" in text


@st.composite
def entry_lists(draw):
    numbers = draw(st.lists(st.integers(0, 2**128 - 1), unique=True, max_size=12))
    texts = st.one_of(st.text(max_size=60), st.sampled_from(["same", "Same", "", "[m:1]", "a\nb"]))
    return [
        an_entry(
            number,
            id=UUID(int=number),
            kind=draw(st.sampled_from(["experience", "constraint"])),
            situation=draw(texts),
            lesson=draw(texts),
            author=draw(st.text(max_size=10)),
            score=draw(st.sampled_from([0.1, 0.5, 0.9])),
            trust=draw(st.sampled_from(Trust)),
        )
        for number in numbers
    ]


COUNTERS = st.sampled_from([WordCounter(), ByteCounter(), JoiningCounter()])


@property_test
@given(entry_lists(), st.integers(0, 700), COUNTERS, st.sampled_from([None, 0.2]))
def test_any_entries_stay_within_any_budget_and_are_cited_or_cut_once(
    entries, max_tokens, counter, strength
):
    guideline = compiled(entries, max_tokens, counter, strength=strength)

    named = [i for line in guideline.lines for i in line.memory_ids]
    named += [cut.memory_id for cut in guideline.cut]
    assert Counter(named) == Counter(entry.id for entry in entries)
    assert guideline.tokens <= max_tokens
    assert guideline.tokens == (counter.count(guideline.text) if guideline.text else 0)


@property_test
@given(entry_lists(), st.randoms(use_true_random=False))
def test_equal_entries_give_an_equal_text_in_whatever_order(entries, shuffle):
    shuffled = list(entries)
    shuffle.shuffle(shuffled)

    assert compiled(shuffled, 300) == compiled(entries, 300)


@property_test
@given(entry_lists())
def test_each_line_is_one_line_and_cites_only_its_own_memories(entries):
    guideline = compiled(entries)

    assert guideline.text.splitlines()[1:] == [line.text for line in guideline.lines]
    for line in guideline.lines:
        cited = re.findall(r"\[m:(\w+)\]", line.text)
        own = [memory_id.hex for memory_id in line.memory_ids]
        assert len(cited) == min(4, len(own))
        assert all(full.endswith(short) for full, short in zip(own, cited, strict=False))
