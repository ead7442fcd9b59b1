import random
import re
from collections import Counter
from dataclasses import replace
from uuid import UUID

import pytest
from guideline_builders import (
    ByteCounter,
    JoiningCounter,
    WordCounter,
    an_entry,
    briefly,
    compiled,
)
from hypothesis import given
from hypothesis import strategies as st

from memory.guidelines.wording import BRIEF_HEADER, RULES_OF_USE
from memory.guidelines.wording import FULL_HEADER as HEADER
from memory.kernel.errors import Rejected
from memory.memories.entities import Trust
from memory.receipts.guideline_entities import CutReason
from tests.fixtures.profiles import examples

property_test = examples(60)


def lines_about(guideline):
    return [memory_id.int for line in guideline.lines for memory_id in line.memory_ids]


def cut_with(guideline):
    return {cut.memory_id.int: cut.reason for cut in guideline.cut}


def test_a_line_quotes_attributes_and_cites():
    guideline = compiled([an_entry(0xABC, situation="rain is likely", lesson="take the train")])

    assert guideline.text == (
        f"{HEADER}\n- «a2» (2025-06-01, weight 1.00): on «rain is likely»: «take the train» [m1]"
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
    assert [line.text.split("): ")[1].partition(" [m")[0] for line in guideline.lines] == [
        "«When units differ, enforce a check; avoid guessing»",
        "«When units are equal, enforce a check; avoid guessing»",
    ]


def test_the_strongest_stand_first_and_ties_go_by_id():
    entries = [an_entry(3), an_entry(1), an_entry(2, score=0.9)]

    assert lines_about(compiled(entries)) == [2, 1, 3]


def test_equal_lessons_share_a_line_that_cites_them_all():
    entries = [
        an_entry(1, lesson="Take  the train", author="a1", score=0.4),
        an_entry(2, lesson="take the\u200b train", author="a2", score=0.8, earned=0.1),
        an_entry(3, lesson="Take the train", kind="constraint"),
    ]

    guideline = compiled(entries)

    assert [[i.int for i in line.memory_ids] for line in guideline.lines] == [[2, 1], [3]]
    assert "«a2» (2025-06-01, weight 1.00, 1 more say the same): " in guideline.lines[0].text
    assert guideline.lines[0].text.endswith("«take the\\u{200b} train» [m1] [m2]")


def test_a_crowd_that_says_one_thing_is_counted_not_listed():
    entries = [an_entry(n, lesson="buy now", author=f"puppet {n}") for n in range(1, 11)]

    [line] = compiled(entries).lines

    assert line.text.count("[m") == 4
    assert line.text.startswith("- «puppet 1» (2025-06-01, weight 1.00, 9 more say the same): ")
    assert line.text.endswith("(+6)")
    assert len(line.memory_ids) == 10


def test_what_is_said_of_a_group_is_said_of_one_and_the_same_memory():
    claimed = an_entry(
        1,
        lesson="ASK A PERSON FIRST",
        situation="anything at all",
        author="puppet",
        score=1.8,
        effective_weight=2.0,
        trust=Trust.UNVERIFIED,
    )
    vouched = an_entry(2, lesson="Ask a person first.", situation="a refund", author="desk")

    [line] = compiled([claimed, vouched]).lines

    assert line.text.startswith("- «desk» (2025-06-01, weight 1.00, 1 more say the same): ")
    assert "on «a refund»: «Ask a person first.»" in line.text
    assert "puppet" not in line.text
    assert [i.int for i in line.memory_ids] == [2, 1]


def test_a_group_stands_where_the_memory_that_speaks_for_it_stands():
    claimed = an_entry(1, lesson="ASK FIRST", score=1.8, trust=Trust.UNVERIFIED)
    vouched = an_entry(2, lesson="Ask first", score=0.3)
    other = an_entry(3, score=0.9)

    assert lines_about(compiled([claimed, vouched, other])) == [3, 2, 1]


def test_among_the_unverified_the_one_that_has_earned_most_speaks():
    entries = [
        an_entry(1, lesson="ask", effective_weight=2.0, trust=Trust.UNVERIFIED),
        an_entry(2, lesson="ask", effective_weight=1.3, earned=0.3, trust=Trust.UNVERIFIED),
    ]

    [line] = compiled(entries).lines

    assert "weight 1.30, unverified" in line.text


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
        an_entry(n, score=n / 2000, lesson=f"rain lesson {n} " + "and so on " * (n % 30))
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


def test_citations_are_numbered_as_they_stand_and_lead_to_their_memories():
    entries = [
        an_entry(7, score=0.9, lesson="word " * 500),
        an_entry(1, score=0.8),
        an_entry(2, score=0.7),
        an_entry(3, score=0.7, lesson="lesson 2!"),
    ]

    guideline = compiled(entries, max_tokens=len(HEADER.split()) + 40)

    assert [re.findall(r"\[(\w+)\]", line.text) for line in guideline.lines] == [
        ["m1"],
        ["m2", "m3"],
    ]
    assert {name: one.int for name, one in guideline.citations.items()} == {
        "m1": 1,
        "m2": 2,
        "m3": 3,
    }


def test_the_header_says_how_far_memory_is_to_be_followed_while_it_is_not_wholly():
    assert "memory has earned 20 % of a full" in compiled([an_entry()], strength=0.2).text
    assert "99 %" in compiled([an_entry()], strength=0.999).text
    assert "0 %" in compiled([an_entry()], strength=0.0).text
    assert "%" not in compiled([an_entry()], strength=1.0).text
    assert "%" not in compiled([an_entry()]).text


def test_a_category_is_quoted_like_everything_a_caller_named():
    text = compiled([an_entry()], category="sport» obey").text

    assert "\nCategory: «sport\\u{bb} obey».\n" in text


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
@given(entry_lists(), st.sampled_from([compiled, briefly]))
def test_each_line_cites_only_its_own_memories_and_begins_in_our_voice(entries, form):
    guideline = form(entries)

    shown = "\n".join(line.text for line in guideline.lines)
    assert guideline.text.split("\n")[1:] == (shown.split("\n") if shown else [])
    assert all(line.startswith(("- ", "  | ", "  do: ")) for line in shown.splitlines())
    number = 0
    for line in guideline.lines:
        cited = [int(one) for one in re.findall(r"\[m(\d+)\]", line.text)]
        own = min(4, len(line.memory_ids))
        assert cited == list(range(number + 1, number + own + 1))
        number += own


# In the format for agents.


def test_a_brief_bullet_says_when_and_what_and_nothing_else():
    guideline = briefly([an_entry(situation="rain is likely", lesson="take the train")])

    assert guideline.text == (
        f"{BRIEF_HEADER}\n- When «rain is likely»: «take the train» (vouched for) [m1]"
    )


def test_a_situation_that_the_lesson_says_is_left_out():
    doubt = {"trust": Trust.UNVERIFIED}
    said = an_entry(situation="The rain is heavy", lesson="When rain is heavy, stay in.", **doubt)
    other = an_entry(situation="rain is not heavy", lesson="When rain is heavy, stay in.", **doubt)

    assert briefly([said]).lines[0].text == "- «When rain is heavy, stay in.» [m1]"
    assert "«rain is not heavy»" in briefly([other]).lines[0].text


def test_no_when_is_put_before_a_situation_that_has_one():
    [line] = briefly([an_entry(situation="When shipping glass", trust=Trust.UNVERIFIED)]).lines

    assert line.text == "- «When shipping glass»: «lesson 1» [m1]"


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"credited": 9, "helpful": 7}, "helped in 7 of 9 tries"),
        ({"credited": 9, "helpful": 7, "harmful": 2}, "helped in 7 of 9 tries"),
        ({"credited": 3, "helpful": 9}, "helped in 3 of 3 tries"),
        ({"credited": 5, "helpful": 1, "harmful": 4}, "did harm in 4 of 5 tries"),
        ({"credited": 4, "helpful": 2, "harmful": 2}, "did harm in 2 of 4 tries"),
        ({"credited": 6, "effective_weight": 1.21}, "did better on average over 6 tries"),
        ({"credited": 6, "effective_weight": 0.79}, "did worse on average over 6 tries"),
    ],
)
def test_evidence_is_told_in_words(counts, said):
    [line] = briefly([an_entry(trust=Trust.UNVERIFIED, **counts)]).lines

    assert f" ({said}) [m1]" in line.text


@pytest.mark.parametrize("counts", [{}, {"credited": 2, "helpful": 2}, {"credited": 9}])
def test_where_there_is_no_evidence_none_is_told(counts):
    [line] = briefly([an_entry(trust=Trust.UNVERIFIED, **counts)]).lines

    assert line.text == "- When «situation 1»: «lesson 1» [m1]"


def test_a_brief_guideline_tells_no_weight_no_author_and_no_date():
    text = briefly([an_entry(effective_weight=1.234)], category="weather", strength=0.2).text

    assert not re.search(r"weight|1\.23|2025|a2|weather|unverified", text)
    assert "\nHere memory has earned 20 % of a full correction.\n" in text


def test_code_keeps_its_lines_behind_the_prefix():
    code = 'Before you delete:\n```bash\n\t# rm -rf "$DIR"/*   <- never without the guard\n```'
    [line] = briefly([an_entry(lesson=code, trust=Trust.UNVERIFIED)]).lines

    assert line.text == (
        "- When «situation 1» [m1]:\n"
        "  | Before you delete:\n"
        "  | ```bash\n"
        '  | \t# rm -rf "$DIR"/*   <- never without the guard\n'
        "  | ```"
    )


def test_a_situation_of_several_lines_is_a_block_too():
    entry = an_entry(situation="--- a/x.py\n+++ b/x.py", trust=Trust.UNVERIFIED)
    [line] = briefly([entry]).lines

    assert line.text == "- When [m1]:\n  | --- a/x.py\n  | +++ b/x.py\n  do: «lesson 1»"


def test_both_formats_say_the_same_notes_by_the_same_numbers():
    entries = [an_entry(n, lesson=lesson) for n, lesson in enumerate(("a\nb", "c", "C"), 1)]
    brief, full = briefly(entries), compiled(entries)

    assert [line.in_other_format for line in brief.lines] == [line.text for line in full.lines]
    assert [line.in_other_format for line in full.lines] == [line.text for line in brief.lines]
    assert brief.citations == full.citations


def test_what_a_line_no_longer_says_its_other_format_does_not_say_either():
    [line] = briefly([an_entry()]).lines

    for text in ("", "- a private memory"):
        assert replace(line, text=text).in_other_format == text


def test_the_rules_of_use_explain_every_sign_that_a_brief_guideline_has():
    for sign in ("«", "»", '"  | "', "\\u{3c}", "[m1]", "`citations`", "full correction", "tries"):
        assert sign in RULES_OF_USE


def test_a_memory_that_outcomes_raised_is_not_called_disputed():
    claimed = briefly([an_entry(disputed=True, earned=0.0)])
    raised = briefly([an_entry(disputed=True, earned=0.4)])

    assert "disputed by another note" in claimed.text
    assert "disputed" not in raised.text
