"""What the demonstration makes of its attempts."""

import io
import json
import re
from dataclasses import replace
from math import sqrt
from pathlib import Path
from statistics import stdev

import pytest
from memlift_client import WeightEvent
from snippet_builders import an_attempt

from benchmarks.__main__ import main
from benchmarks.demo import curve, figures, suite
from clients.demo.snippets import session, summary
from clients.demo.snippets.curves import COLUMNS, MARKS, Screen, chart
from clients.demo.snippets.play import (
    ARMS,
    MEMLIFT,
    NONE,
    SIMILARITY,
    Attempt,
    open_memories,
    play,
)
from clients.demo.snippets.tasks import deal_notes, deal_tasks
from tests.acceptance.servers import Server
from tests.fixtures.answers import made

WRONG, RIGHT = "prefix/wrong", "prefix/right"


def rounds(number: int, topics: tuple[str, ...] = ("prefix", "csv", "zip")) -> list[Attempt]:
    """No memory fails all; similarity passes every other task; MemLift learns after the first half,
    and then serves the right note only.
    """
    attempts: list[Attempt] = []
    for place in range(number):
        topic, late = topics[place % len(topics)], place >= number // 2
        both = (f"{topic}/wrong", f"{topic}/right")
        found = dict.fromkeys(ARMS, place % 2 == 0) | {NONE: False}
        served = {NONE: (), SIMILARITY: both, MEMLIFT: both}
        if late:
            found[MEMLIFT], served[MEMLIFT] = True, both[1:]
        attempts += [
            an_attempt(
                place,
                arm,
                topic,
                passed=found[arm],
                served=served[arm],
                followed=next(iter(served[arm]), None),
                receipt=f"r-{place}" if arm == MEMLIFT else None,
            )
            for arm in ARMS
        ]
    return attempts


def test_success_counts_the_tasks_of_an_arm_from_where_it_is_asked() -> None:
    plays = {(0, 0): rounds(24)}

    assert summary.success(plays, NONE).mean == 0.0
    assert summary.success(plays, MEMLIFT).mean == 0.75
    assert summary.success(plays, MEMLIFT, 12).mean == 1.0
    assert summary.success(plays, MEMLIFT, 12).tasks == 12
    assert summary.gain(plays, MEMLIFT, SIMILARITY, 12).mean == 0.5


def test_topics_are_the_units_of_an_interval_however_many_tasks_they_have() -> None:
    """Two topics, one always solved and one never: a thousand tasks tell no more than two."""

    def split(tasks: int) -> summary.Estimate:
        attempts = [
            an_attempt(place, topic="ab"[place % 2], passed=place % 2 == 0)
            for place in range(tasks)
        ]
        return summary.success({(0, 0): attempts}, MEMLIFT)

    few, many = split(10), split(1000)

    assert few.mean == many.mean == 0.5
    assert few.high is not None
    assert few.high == pytest.approx(many.high)
    assert few.high > 1.0


def test_the_interval_is_that_of_the_topics_means() -> None:
    values = [0.0, 0.25, 0.5, 1.0]
    attempts = [
        an_attempt(4 * topic + n, topic=str(topic), passed=n < share * 4)
        for topic, share in enumerate(values)
        for n in range(4)
    ]

    found = summary.success({(0, 0): attempts}, MEMLIFT)

    # Four means: standard error .21347, Student's t with three degrees 3.182.
    assert found.mean == 0.4375
    assert found.low is not None
    assert (found.mean - found.low) / 0.21347 == pytest.approx(3.182, abs=0.001)


def test_many_units_have_the_point_of_their_degrees() -> None:
    attempts = [an_attempt(n, topic=str(n), passed=n % 2 == 0) for n in range(24)]

    found = summary.success({(0, 0): attempts}, MEMLIFT)

    # Half of 24 pass: standard error sqrt(.25 / 23), t with 23 degrees 2.0687.
    assert found.high is not None
    assert (found.high - 0.5) / sqrt(0.25 / 23) == pytest.approx(2.0687, abs=0.001)


def test_one_topic_alone_has_no_interval() -> None:
    found = summary.success({(0, 0): [an_attempt(0), an_attempt(1)]}, MEMLIFT)

    assert (found.low, found.high) == (None, None)


def test_the_same_topic_under_another_seed_is_another_unit_and_played_again_is_not() -> None:
    seeds = {(seed, 0): [an_attempt(0, passed=seed == 1)] for seed in (1, 2)}
    repeats = {(0, repeat): [an_attempt(0, passed=repeat == 1)] for repeat in (1, 2)}

    assert summary.success(seeds, MEMLIFT).low is not None
    assert summary.success(repeats, MEMLIFT).low is None
    assert summary.success(repeats, MEMLIFT).mean == 0.5


def test_between_plays_the_play_is_the_unit() -> None:
    gained = {(0, 0): rounds(24), (0, 1): rounds(24)[:54], (1, 0): rounds(24)[:36]}

    found = summary.gain_by_play(gained, MEMLIFT, SIMILARITY)

    parts = [summary.gain({play: a}, MEMLIFT, SIMILARITY).mean for play, a in gained.items()]
    assert found.mean == pytest.approx(sum(parts) / 3)
    assert found.low is not None
    assert (found.mean - found.low) / (stdev(parts) / sqrt(3)) == pytest.approx(4.303)


def test_a_note_has_gone_when_only_plain_similarity_serves_it() -> None:
    attempts = rounds(24)

    assert summary.find_gone(attempts, "wrong") == ["prefix/wrong", "csv/wrong", "zip/wrong"]
    assert summary.find_gone(attempts, "right") == []


def test_a_note_that_is_never_served_or_not_found_either_way_has_not_gone() -> None:
    never = [
        an_attempt(place, arm, served=(WRONG,) if arm == SIMILARITY else ())
        for place in range(6)
        for arm in ARMS
    ]
    nowhere = [
        an_attempt(place, arm, served=(WRONG,) if place < 3 else ())
        for place in range(6)
        for arm in ARMS
    ]

    assert summary.find_gone(never, "wrong") == []
    assert summary.find_gone(nowhere, "wrong") == []


def test_served_and_followed_are_counted_by_worth() -> None:
    plays = {(0, 0): rounds(24)}

    assert summary.count_served(plays, SIMILARITY, "wrong", 12) == 12
    assert summary.count_served(plays, MEMLIFT, "wrong", 12) == 0
    assert summary.count_followed(plays, MEMLIFT, "wrong") == 12
    assert summary.count_followed(plays, MEMLIFT, "right", 12) == 12
    assert summary.count_followed(plays, NONE, "wrong") == 0


def test_a_curve_looks_back_over_its_window() -> None:
    attempts = [an_attempt(place, passed=place >= 2) for place in range(4)]

    assert summary.curves(attempts, window=2)[MEMLIFT] == [0.0, 0.0, 0.5, 1.0]


def test_a_chart_shows_every_arm_at_its_height() -> None:
    picture = chart({NONE: [0.2] * 60, SIMILARITY: [0.6] * 60, MEMLIFT: [1.0] * 30}, 60)

    assert picture[0] == f"100% │{MARKS[MEMLIFT] * 30}{' ' * 30}"
    assert picture[8] == f" 60% │{MARKS[SIMILARITY] * COLUMNS}"
    assert picture[16] == f" 20% │{MARKS[NONE] * COLUMNS}"
    assert "similarity only 60%" in picture[-1]


def test_what_is_no_terminal_gets_a_line_a_day_and_the_picture_at_the_end() -> None:
    file = io.StringIO()
    screen = Screen(file, 24)
    screen.show(rounds(24))
    days = file.getvalue()
    screen.finish()

    assert days == "    24 tasks  no memory 0%  similarity only 50%  MemLift 75%\n"
    assert "\x1b" not in file.getvalue()
    assert file.getvalue().count("│") == 17


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_one_picture_that_is_drawn_again(monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    file = Terminal()
    screen = Screen(file, 24)
    screen.show(rounds(24)[:36])
    screen.show(rounds(24)[36:])
    screen.finish()

    assert file.getvalue().count("\x1b[20F\x1b[J") == 1
    assert file.getvalue().count("24 tasks") == 2


def test_what_gave_a_note_away_is_the_failure_that_cost_it_most() -> None:
    attempts = [
        an_attempt(0, followed=WRONG, passed=False, receipt="r-0", detail="a little"),
        an_attempt(1, followed=WRONG, passed=False, receipt="r-1", detail="a lot"),
        an_attempt(2, followed=RIGHT, passed=False, receipt="r-2", detail="of another note"),
        an_attempt(3, followed=WRONG, passed=True, receipt="r-3", detail=""),
    ]
    events = [
        made(
            WeightEvent,
            subject="memory",
            retrieval_id=f"r-{n}",
            weight_before=1.0,
            weight_after=after,
        )
        for n, after in enumerate((0.9, 0.6, 0.1, 0.2))
    ]

    betrayal = session.find_betrayal(events, WRONG, attempts)

    assert betrayal is not None
    assert betrayal.detail == "a lot"
    assert session.find_betrayal([], WRONG, attempts) is None


def weights(right: float, wrong: float) -> list[dict[str, object]]:
    return [
        {"seed": 0, "repeat": 0, "note": RIGHT, "weight": right},
        {"seed": 0, "repeat": 0, "note": WRONG, "weight": wrong},
        {"seed": 0, "repeat": 0, "note": "prefix/beside", "weight": 1.0},
    ]


@pytest.mark.parametrize(("right", "wrong", "auc"), [(2, 1, 1.0), (1, 2, 0.0), (1, 1, 0.5)])
def test_weights_are_compared_on_one_topic(right: float, wrong: float, auc: float) -> None:
    assert figures.separation(weights(right, wrong)) == auc


def test_targets_are_met_by_a_server_that_learns_and_missed_by_one_that_does_not() -> None:
    learned = {(0, 0): rounds(48), (1, 0): rounds(48)}
    same = [
        an_attempt(one.place, one.arm, one.topic, passed=one.passed, served=one.served)
        for one in rounds(48)
        if one.place < 24
    ]

    met = figures.targets(figures.numbers(learned, weights(2, 1)))
    missed = figures.targets(figures.numbers({(0, 0): same}, weights(1, 1)))

    assert [target.status for target in met] == ["met", "met", "met"]
    assert met[0].measured == 0.5
    assert set(met[0].parts.values()) == {0.5}
    assert [target.status for target in missed] == ["missed", "missed", "missed"]
    assert [target.status for target in figures.targets({})] == ["not_run"] * 3


def test_the_picture_is_drawn_for_light_and_dark_pages_and_is_the_same_again() -> None:
    plays = {(0, 0): rounds(60), (1, 0): rounds(60)}

    drawn = curve.draw(plays)

    assert set(drawn) == {"light", "dark"}
    assert drawn["light"] != drawn["dark"]
    assert drawn == curve.draw(plays)
    assert b"<svg" in drawn["light"]


def test_the_suite_plays_over_http_and_writes_what_it_measured(
    shared_server: Server, tmp_path: Path, capsys
) -> None:
    words = ["run", "demo", "--out", str(tmp_path), "--seeds", "100", "--tasks", "60"]
    where = [
        "--url",
        shared_server.url,
        "--key",
        shared_server.home.operator_key.read_text().strip(),
    ]

    assert main([*words, *where]) == 0

    rows = [json.loads(line) for line in (tmp_path / suite.ATTEMPTS).read_text().splitlines()]
    assert len(rows) == 3 * 60
    assert {row["arm"] for row in rows} == set(ARMS)
    assert any(row["followed"] for row in rows if row["arm"] == MEMLIFT)
    assert all(not row["served"] for row in rows if row["arm"] == NONE)
    kept = [json.loads(line) for line in (tmp_path / suite.WEIGHTS).read_text().splitlines()]
    assert len(kept) == 72
    assert any(row["weight"] != 1.0 for row in kept)
    written = json.loads((tmp_path / "summary.json").read_text())
    assert written["numbers"] == suite.summary(tmp_path).numbers
    assert written["settings"]["seeds"] == [100]
    assert 0.0 < written["numbers"][f"{SIMILARITY}, all tasks"] < 1.0
    assert "target 0.15" in capsys.readouterr().out
    assert (tmp_path / "curve-dark.svg").stat().st_size > 0


def test_similarity_alone_learns_nothing_and_the_other_is_told_what_was_followed(
    shared_server: Server, monkeypatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(session, "TASKS", 30)

    namespace = session.demonstrate(
        shared_server.url, shared_server.home.operator_key.read_text().strip(), 100, said.append
    )

    text = "\n".join(said)
    assert "last 15" in text
    assert "Stopped serving" in text
    assert "A guideline as the agent reads it" in text
    assert namespace.endswith("-memlift")
    with shared_server.client() as client:
        frozen = client.within(namespace.replace("-memlift", "-similarity-only"))
        learned = client.within(namespace)
        assert {row.effective_weight for row in frozen.each_weight()} == {1.0}
        assert len({row.effective_weight for row in learned.each_weight()}) > 2
        outcomes = list(learned.each_outcome())
        assert len(outcomes) == 30
        assert all(one.reward_without is not None for one in outcomes)


def test_a_note_that_has_gone_is_told_with_the_receipt_that_gave_it_away_and_its_page(
    shared_server: Server, monkeypatch
) -> None:
    monkeypatch.setattr(summary, "LATELY", 1)
    with shared_server.client() as client:
        memories = open_memories(client, deal_notes(100))
        attempts = play(memories, deal_tasks(100, 60), lambda _: None)
        learned = memories[-1]
        failed = next(
            one
            for one in attempts
            if one.arm == MEMLIFT and not one.passed and str(one.followed).endswith("/wrong")
        )
        last = max(one.place for one in attempts if one.topic == failed.topic)
        served = {SIMILARITY: (str(failed.followed),), MEMLIFT: ()}
        changed = [
            replace(one, served=served[one.arm])
            if one.place == last and one.arm in served
            else replace(one, served=(str(failed.followed),))
            if one.receipt == failed.receipt
            else one
            for one in attempts
        ]

        text = "\n".join(session.tell_gone(learned, changed, "PAGE"))

        ids = {note.name: memory_id for memory_id, note in learned.notes.items()}
        assert f"PAGE/memories/{ids[str(failed.followed)]}" in text
        receipts = re.findall(r"PAGE/receipts/(\S+)", text)
        told = {one.receipt: one for one in attempts}
        assert failed.followed in {told[one].followed for one in receipts}
        assert not any(told[one].passed for one in receipts)
        assert all(told[one].detail[:20] in text for one in receipts)
        assert all(learned.client.get_retrieval(one).agent == "coder" for one in receipts)
