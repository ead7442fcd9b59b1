"""What of the suite `attack` can be tested without a server: its texts, budget and arithmetic."""

import unicodedata
from random import Random
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.attack import suite
from benchmarks.attack.bank import AUTHORS, FRESH, SIZE, notes, rewards, task
from benchmarks.attack.front_door import CROWDED, QUIET, request
from benchmarks.attack.lookalikes import DISGUISES, LESSON, disguise
from benchmarks.attack.measures import AIMS, targets
from benchmarks.attack.siege import area, fall_of_shares
from benchmarks.attack.wire import Answer, Budget, BudgetSpent, Caller
from benchmarks.metrics import Row, Target


def figure(name: str, value: float, attack: str = "lies", seed: int = 0) -> Row:
    return {
        "operation": f"{attack}/{seed}/{name}",
        "value": value,
        "unit": "",
        "attack": attack,
        "seed": seed,
        "figure": name,
    }


def asked(operation: str, *times: float, ok: bool = True) -> list[Row]:
    return [
        {"operation": operation, "concurrency": 1, "at": 0.0, "ms": ms, "ok": ok} for ms in times
    ]


def found(rows: list[Row], name: str) -> Target:
    [target] = [target for target in targets(rows) if name in target.name]
    return target


class Silent(Caller):
    """A caller whose every request is answered with one status."""

    status = 200

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        return Answer(self.status, {}, "")


def test_half_of_the_bank_is_good_and_so_is_half_of_what_comes_late():
    bank = notes(3)

    assert len(bank) == SIZE
    assert sum(note.good for note in bank) == SIZE / 2
    assert [note.good for note in bank if note.fresh] == [True, False] * (FRESH // 2)
    assert len({(note.situation, note.lesson) for note in bank}) == SIZE
    assert {note.author for note in bank} == set(AUTHORS)


def test_a_seed_makes_the_same_bank_again_and_another_makes_another():
    assert notes(1) == notes(1)
    assert notes(1) != notes(2)
    assert task(notes(1)[0], 1, 5) == task(notes(1)[0], 1, 5)
    assert task(notes(1)[0], 1, 5) != task(notes(1)[0], 1, 6)


def test_a_run_earns_what_its_memories_are_worth():
    chance = Random(0)
    runs = [rewards(chance, [0.2, 0.2]) for _ in range(400)]

    assert sum(on for on, _ in runs) / 400 == pytest.approx(0.9, abs=0.02)
    assert sum(off for _, off in runs) / 400 == pytest.approx(0.5, abs=0.02)
    assert all(0 <= reward <= 1 for pair in runs for reward in pair)


def test_an_adversary_has_a_hundred_requests_and_honest_agents_work_in_between():
    rounds: list[int] = []
    budget = Budget(lambda: rounds.append(budget.spent))
    caller = Silent("token", ["http://nowhere"])
    for _ in range(100):
        budget.ask(caller, "GET", "/")

    assert rounds == [25, 50, 75, 100]
    with pytest.raises(BudgetSpent):
        budget.ask(caller, "GET", "/")
    budget.finish()
    assert len(rounds) == 4


def test_honest_agents_work_on_where_the_adversary_is_done_early():
    rounds: list[int] = []
    budget = Budget(lambda: rounds.append(budget.spent))
    refusing = Silent("token", ["http://nowhere"])
    refusing.status = 403
    for _ in range(30):
        budget.ask(refusing, "GET", "/")
    budget.finish()

    assert rounds == [25, 30, 30, 30]
    assert budget.refused == 30


def test_disguised_text_looks_the_same_and_is_another_each_time():
    chance = Random(1)
    copies = {disguise(LESSON, number, chance) for number in range(len(DISGUISES))}

    assert len(copies) == len(DISGUISES)
    assert LESSON not in copies
    assert any(unicodedata.normalize("NFKC", copy) == LESSON for copy in copies)


def test_the_area_counts_ties_half():
    assert area([2.0, 1.0], [1.0, 0.5]) == 7 / 8
    assert area([1.0], [1.0]) == 0.5
    assert area([0.1], [2.0]) == 0.0


def test_the_fall_of_shares_is_the_mean_over_the_memories_run_down():
    peace = {"share_down_0": 1.0, "share_down_1": 0.8, "share_up_0": 0.1}
    shares = {"share_down_0": 0.5, "share_down_1": 0.9, "share_up_0": 0.9}

    assert fall_of_shares(shares, peace, 2) == pytest.approx(0.2)


def test_the_largest_move_of_any_attack_and_seed_decides():
    rows = [figure("move", 0.2), figure("move", 0.51, "claims", 1), figure("move", 9.0, "none")]

    target = found(rows, "largest move")

    assert (target.measured, target.status) == (0.51, "missed")
    assert target.parts == {"lies 0": 0.2, "claims 1": 0.51}
    assert found(rows[:1], "largest move").status == "met"


def test_a_share_is_the_worst_attack_in_the_mean_of_its_seeds():
    rows = [
        *(figure("share_fall", fall, "lies", seed) for seed, fall in enumerate((0.0, 0.18))),
        *(figure("share_fall", 0.05, "claims", seed) for seed in range(2)),
    ]

    target = found(rows, "fall of the share")

    assert (target.measured, target.status) == (pytest.approx(0.09), "met")


def test_no_constraint_activated_says_nothing_where_honest_runs_make_none_either():
    activated = figure("constraints_activated", 0.0)

    assert found([activated], "constraints").status == "not_run"
    without = found([activated, figure("constraints_honest", 0.0)], "constraints")
    assert without.status == "not_run"
    made = figure("constraints_honest", 2.0)
    assert found([activated, made], "constraints").status == "met"
    fooled = figure("constraints_activated", 1.0)
    assert found([fooled, made], "constraints").status == "missed"


def test_the_front_door_is_held_to_twice_the_quiet_time_or_200_ms():
    quick = [*asked(QUIET, *[20.0] * 20), *asked(CROWDED, *[190.0] * 20)]
    slow = [*asked(QUIET, *[150.0] * 20), *asked(CROWDED, *[450.0] * 20)]

    assert found(quick, "p95").measured == pytest.approx(0.95)
    assert found(slow, "p95").measured == pytest.approx(1.5)
    assert found(slow, "p95").status == "missed"
    assert found(quick, "refused").status == "met"


def test_a_refused_call_is_counted_and_has_no_time():
    rows = [
        *asked(QUIET, 20.0),
        *asked(CROWDED, *[100.0] * 3),
        *asked(CROWDED, 9_000.0, ok=False),
    ]

    assert found(rows, "refused").measured == 1.0
    assert found(rows, "p95").status == "met"


def test_what_was_not_measured_is_not_run():
    assert {target.status for target in targets([])} == {"not_run"}
    assert len(targets([])) == len(AIMS) + 3


def test_none_of_the_crowd_has_a_key():
    for number in range(4):
        head, _, body = request(number, "127.0.0.1:1").partition(b"\r\n\r\n")
        assert b"Connection: close" in head
        sized = [line for line in head.split(b"\r\n") if line.startswith(b"Content-Length")]
        assert [int(line.split()[1]) for line in sized] == ([len(body)] if body else [])


@pytest.mark.parametrize(("words", "seeds"), [("3", [3]), ("0-2", [0, 1, 2])])
def test_seeds_are_one_or_a_range(words: str, seeds: list[int]):
    assert suite.seeds_of(words) == seeds


def test_seeds_to_choose_by_are_not_those_reported():
    assert not set(suite.seeds_of(suite.TUNING)) & set(suite.seeds_of(suite.REPORTED))


def test_a_summary_has_every_figure_by_seed_and_attack():
    rows = [figure("move", 0.2), figure("move", 0.3, seed=1), *asked(QUIET, 20.0)]

    summary: Any = suite.summarise(rows)

    assert summary["by_seed"] == {"0": {"lies": {"move": 0.2}}, "1": {"lies": {"move": 0.3}}}
    assert any("lies" in line and "0.300" in line for line in suite.told(summary))


def test_the_suite_can_be_named(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        main(["run", "attack", "--help"])

    assert end.value.code == 0
    assert suite.TUNING in capsys.readouterr().out
