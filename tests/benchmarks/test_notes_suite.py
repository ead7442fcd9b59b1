"""The suites `notes` and `lessons`: dealing, votes, figures, the model's seat, and runs by HTTP."""

import json
import os
import sys
from pathlib import Path

import pytest
from notes_builders import done, weigh, write_data

from benchmarks.__main__ import main
from benchmarks.lessons import suite as lessons
from benchmarks.notes import curve, figures, model, model_worker, stage
from benchmarks.notes.arms import ARMS, MEMLIFT, NONE, ORACLE, RANKERS, SIMILARITY, USED
from benchmarks.notes.data import KINDS, Note, Question, Rule, deal, read, write_note
from benchmarks.notes.figures import Play, Played
from benchmarks.notes.model import Model, ModelFailed, prompt, read_kind
from benchmarks.notes.vote import Asked, Rates, Voice, choose, loss, mix, vote
from tests.acceptance.servers import Server

EVEN: dict[str, float] = dict.fromkeys(KINDS, 1 / 6)
RULES = {name: Rule(name, kind, "", "") for name, kind in (("a", "human"), ("b", "entity"))}
STAND_IN = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"text": " h" if "asks for: human" in asked["prompt"] else " e"}))
    sys.stdout.flush()
"""


def voice(says: str, strength: float) -> Voice:
    return Voice("m", "n", "who is it ?", says, strength)


def played(gain: float, *, tasks: int = 200, whole: bool = True, right: bool = True) -> Played:
    """Tasks that lose `gain` less than .4, with a spread between dates."""
    rows = [
        done(place, loss=0.4 - gain * (1 + 0.1 * (-1) ** (place // 50)), right=right)
        for place in range(tasks)
    ]
    return Played(rows, [weigh("n0", 1.0, 1.0)], whole=whole)


def test_a_note_says_what_most_of_its_rules_say_and_belongs_to_the_first_of_them() -> None:
    question = Question("q", "who ?", "human", ("b", "a", "a"))

    note = write_note(question, RULES)

    assert (note.says, note.author, note.right) == ("human", "a", True)
    tie = write_note(Question("q", "who ?", "human", ("b", "a")), RULES)
    assert (tie.says, tie.author, tie.right) == ("entity", "b", False)


def test_an_order_deals_notes_and_tasks_apart_the_same_each_time(tmp_path: Path) -> None:
    data = read(write_data(tmp_path / "notes"))

    first, again, other = deal(data, 20, 1), deal(data, 20, 1), deal(data, 20, 2)

    assert first == again
    assert first.tasks != other.tasks
    assert len(first.notes) == 20
    assert len(first.tasks) == 28
    assert {note.id for note in first.notes}.isdisjoint(task.id for task in first.tasks)
    assert deal(data, 10, 1).notes == first.notes[:10]
    assert read(tmp_path) == data


def test_a_folder_without_questions_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"holds no questions\.jsonl\.gz"):
        read(tmp_path)


def test_a_vote_of_one_kind_weighs_against_the_running_rates() -> None:
    shares = vote(EVEN, [voice("human", 0.5), voice("human", 0.5), voice("entity", 1.0)])

    assert shares["human"] == pytest.approx((1 / 6 + 1) / 3)
    assert shares["entity"] == pytest.approx((1 / 6 + 1) / 3)
    assert shares["number"] == pytest.approx(1 / 18)
    assert sum(shares.values()) == pytest.approx(1)
    assert vote(EVEN, []) == pytest.approx(EVEN)
    assert choose(vote(EVEN, [voice("number", 0.1)])) == "number"


def test_answers_are_mixed_by_the_shares_of_who_gave_them() -> None:
    answers = {"a": model.only("human"), "b": vote(EVEN, [])}

    mixed = mix(answers, {"a": 0.75, "b": 0.25})

    assert mixed["human"] == pytest.approx(0.75 + 0.25 / 6)
    assert mixed["number"] == pytest.approx(0.25 / 6)


def test_a_single_answer_loses_nothing_or_all() -> None:
    assert loss(model.only("human"), "human") == 0
    assert loss(model.only("human"), "entity") == 1
    assert loss(EVEN, "human") == pytest.approx(((5 / 6) ** 2 + 5 / 36) / 2)


def test_rates_count_what_was_true_so_far() -> None:
    rates = Rates()

    rates.learn(["human", "human"])

    assert rates.shares()["human"] == pytest.approx(3 / 8)
    assert rates.shares()["number"] == pytest.approx(1 / 8)


def test_the_area_is_the_share_of_pairs_in_which_the_right_note_weighs_more() -> None:
    assert figures.area([2.0, 1.0], [1.0, 0.5]) == pytest.approx((1 + 1 + 0.5 + 1) / 4)


def test_a_gain_is_the_mean_difference_with_dates_as_its_units() -> None:
    found = figures.pool([(played(0.05).tasks, played(0.0).tasks)], figures.score)

    assert found.mean == pytest.approx(0.05)
    assert found.low is not None
    assert found.high is not None
    # Four dates of .055, .045, .055 and .045: a standard error of .005 / sqrt(3), t = 3.182.
    assert found.high - found.low == pytest.approx(2 * 3.182 * 0.005 / 3**0.5, rel=1e-3)
    with pytest.raises(ValueError, match="the same tasks"):
        figures.pool([(played(0.0).tasks[:1], played(0.0).tasks[1:2])], figures.score)


def test_the_targets_are_judged_on_reported_orders_that_both_arms_have_finished() -> None:
    arms = {MEMLIFT: played(0.05), SIMILARITY: played(0.0)}

    def judge(order: int, arms: dict[str, Played]) -> list[str]:
        summary = figures.summarise({Play(1000, order): arms}, model=False)
        return [target.status for target in summary.targets]

    assert judge(1, arms) == ["met", "met", "met"]
    assert judge(0, arms) == ["not_run", "not_run", "not_run"]
    assert judge(1, {**arms, SIMILARITY: played(0.0, whole=False)}) == ["not_run"] * 3
    assert judge(2, {**arms, MEMLIFT: played(0.02, right=False)}) == ["missed", "missed", "met"]


def test_a_language_model_is_judged_by_what_it_answered_right_in_the_last_halves() -> None:
    rows = [done(place, loss=1.0, right=False) for place in range(200)]
    better = [done(place, loss=0.0, right=place >= 150) for place in range(200)]
    half = {MEMLIFT: Played(better, (), whole=True), SIMILARITY: Played(rows, (), whole=True)}

    summary = figures.summarise({Play(150, 1): half, Play(150, 2): half}, model=True)

    gained, low = summary.targets
    assert (gained.measured, gained.status) == (pytest.approx(0.5), "met")
    assert low.status == "missed"


def test_figures_tell_weights_apart_and_name_what_retired() -> None:
    weights = [weigh("a", 1.5, 1.0), weigh("b", 0.2, 0.0, retired=True), weigh("c", 0.3, 1.0)]
    arm = Played(played(0.0).tasks, weights, whole=True)

    numbers = figures.describe({Play(1000, 1): {MEMLIFT: arm}})

    named = {name.removeprefix("bank-1000-order-1, memlift, "): v for name, v in numbers.items()}
    assert named["AUC of weights"] == 1.0
    assert (named["retired"], named["retired that are right"]) == (1.0, 0.0)
    assert named["right among served, last half"] == 0.5


def test_the_curve_is_drawn_for_both_pages_and_is_the_same_each_time() -> None:
    arms = {MEMLIFT: played(0.05), SIMILARITY: played(0.0, right=False)}

    drawn = curve.draw(arms)

    assert set(drawn) == {"light", "dark"}
    assert drawn == curve.draw(arms)
    assert figures.curve(played(0.0).tasks, 100) == [1.0] * 101


def test_a_prompt_has_the_notes_in_their_order_and_ends_where_the_answer_begins() -> None:
    asked = Asked(Question("q", "where ?", "location", ()), EVEN, [voice("human", 1.0)])

    text = prompt(asked)

    assert text.index("Question: who is it ?\nIt asks for: human") < text.index("where ?")
    assert text.endswith("Question: where ?\nIt asks for:")


def test_an_answer_is_read_by_its_beginning_and_nothing_else_is_taken_for_one() -> None:
    assert [read_kind(f" {kind[:2]}") for kind in KINDS] == list(KINDS)
    with pytest.raises(ModelFailed, match="names none of"):
        read_kind(" ")


def test_a_token_may_add_what_leaves_an_answer_possible_and_nothing_else() -> None:
    vocabulary = {"Ġ": 1, "Ġh": 2, "Ġhuman": 3, "h": 4, "human": 5, "Ġhumans": 6, "Ġx": 7, "Ġen": 8}

    first = model_worker.continuations("", model.ANSWERS, vocabulary)
    second = model_worker.continuations(" ", model.ANSWERS, vocabulary)

    assert first == {" ": 1, " h": 2, " human": 3, " en": 8}
    assert second == {"h": 4, "human": 5}
    assert [model_worker.is_open(said, model.ANSWERS) for said in ("", " ", " h", " human")] == [
        True,
        True,
        False,
        False,
    ]
    assert model_worker.grammar([" human", " entity"]) == 'root ::= " human" | " entity"'


def test_the_answer_of_highest_score_is_reached_token_by_token_whatever_scores_higher() -> None:
    vocabulary = {"Ġ": 1, "human": 2, "entity": 3, "Ġloc": 4, "location": 5, "!": 0}
    order = {"h": [9.0, 2.0, 3.0, 1.0, 1.0, 8.0], "l": [9.0, 2.0, 0.0, 0.0, 3.0, 8.0]}
    seat = object.__new__(model_worker.Torch)
    seat._tokenizer = lambda text: {"input_ids": [ord(text)]}
    seat._vocabulary = vocabulary
    seat._scores = lambda tokens: [order[chr(row[0])] for row in tokens]
    asked = [{"prompt": one, "answers": [" human", " entity", " location"]} for one in "hl"]

    assert seat.answer(asked) == [" location", " loc"]
    asked = [{"prompt": one, "answers": [" human", " entity"]} for one in "hl"]
    assert seat.answer(asked) == [" human", " entity"]


def test_lines_that_wait_are_one_batch_and_a_part_of_a_line_waits_for_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read, write = os.pipe()
    monkeypatch.setattr(model_worker, "STDIN", read)
    os.write(write, b'{"prompt": "a"}\n{"prompt": "b"}\n{"pro')
    given = model_worker.batches()

    assert next(given) == [{"prompt": "a"}, {"prompt": "b"}]
    os.write(write, b'mpt": "c"}\n')
    os.close(write)
    assert list(given) == [[{"prompt": "c"}]]
    os.close(read)


def test_the_model_is_asked_no_prompt_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "stand_in.py"
    stand_in.write_text(STAND_IN)
    monkeypatch.setattr(model, "WORKER", stand_in)
    python, kept = Path(sys.executable), tmp_path / "answers.jsonl"
    question = Question("q", "where ?", "location", ())
    asked = [Asked(question, EVEN, [voice("human", 1.0)]), Asked(question, EVEN)]

    with Model(python, 2, kept) as seat:
        answers = [choose(shares) for shares in seat.answer([*asked, *asked])]
    stand_in.write_text("raise SystemExit(3)")
    with Model(python, 1, kept) as seat:
        again = [choose(shares) for shares in seat.answer(asked)]
        with pytest.raises(ModelFailed, match="status 3"):
            seat.answer([Asked(Question("r", "when ?", "number", ()), EVEN)])

    assert answers == ["human", "entity", "human", "entity"]
    assert again == ["human", "entity"]
    assert len(kept.read_text().splitlines()) == 2


def test_a_lesson_fits_the_questions_of_its_rule_alone_and_is_worth_what_it_gets_right() -> None:
    asked = [
        Question("q", "who ?", "human", ("a",)),
        Question("r", "which who ?", "entity", ("a", "b")),
        Question("s", "why ?", "description", ()),
    ]

    note = lessons.write_lesson(Rule("a", "human", "who", "Who is it ?"), asked)

    assert [note.fits(one) for one in asked] == [True, True, False]
    assert note.worth == 0.5
    assert not note.right
    assert Note("n", "s", "l", "human", "a", 1.0).fits(asked[2])


def test_lessons_are_judged_with_and_without_word_of_what_was_used() -> None:
    plays = {Play(68, 1): {SIMILARITY: played(0), MEMLIFT: played(0.01), USED: played(0.03)}}

    summary = lessons.summarise(plays)

    assert [target.status for target in summary.targets] == ["met", "missed"]
    assert lessons.correlate([weigh("a", 0.5, 0.1), weigh("b", 1.5, 0.9)]) == pytest.approx(1.0)
    assert lessons.correlate([weigh("a", 1.0, 0.1), weigh("b", 1.0, 0.9)]) is None


def test_every_suite_has_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["run", "--help"])

    listed = capsys.readouterr().out
    assert all(name in listed for name in ("notes", "lessons", "demo", "stream", "soak"))


def test_notes_are_played_over_http_and_a_run_that_was_ended_goes_on(
    shared_server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = write_data(tmp_path / "data" / "notes"), tmp_path / "out"
    words = ["run", "notes", "--data", str(data.parent), "--out", str(out), "--order", "0"]
    words += ["--bank", "20", *_where(shared_server)]

    assert main(words) == 0

    plays = stage.read_plays(out)
    [(play, arms)] = plays.items()
    assert (play, set(arms)) == (Play(20, 0), set(ARMS))
    assert {len(played.tasks) for played in arms.values()} == {28}
    assert len({tuple(one.id for one in played.tasks) for played in arms.values()}) == 1
    assert all(one.served == 0 for one in arms[NONE].tasks)
    assert all(one.served_right == one.served for one in arms[ORACLE].tasks)
    assert {one.weight for one in arms[SIMILARITY].weights} == {1.0}
    assert {one.weight for one in arms[ORACLE].weights} == {2.0, 0.1}
    assert len({one.weight for one in arms[MEMLIFT].weights}) > 2
    assert any(one.served > 0 for one in arms[SIMILARITY].tasks)
    assert any(len(one.losses) > 1 for one in arms[RANKERS].tasks)
    assert {len(one.losses) for one in arms[MEMLIFT].tasks} == {1}
    written = json.loads((out / "summary.json").read_text())
    assert written["numbers"] == figures.describe(plays)
    assert {target["status"] for target in written["targets"]} == {"not_run"}
    assert "not run" in capsys.readouterr().out

    # As if it had been ended before the first date of this arm was whole.
    ended = out / str(play) / MEMLIFT
    (ended / stage.WEIGHTS).unlink()
    rows = (ended / stage.TASKS).read_text().splitlines(keepends=True)
    (ended / stage.TASKS).write_text("".join(rows[:7]))
    untouched = (out / str(play) / SIMILARITY / stage.TASKS).read_bytes()

    assert main(words) == 0

    assert (out / str(play) / SIMILARITY / stage.TASKS).read_bytes() == untouched
    assert len(stage.read_plays(out)[play][MEMLIFT].tasks) == 28
    with pytest.raises(SystemExit, match="another run"):
        main([*words, "--tasks", "5"])


def test_lessons_are_played_over_http_and_what_does_not_fit_is_not_used(
    shared_server: Server, tmp_path: Path
) -> None:
    data, out = write_data(tmp_path / "data"), tmp_path / "out"
    words = ["run", "lessons", "--data", str(data), "--out", str(out), "--order", "0"]

    assert main([*words, "--arms", *_arms(), *_where(shared_server)]) == 0

    [(play, arms)] = stage.read_plays(out).items()
    assert (play.bank, set(arms)) == (3, set(_arms()))
    learned = arms[MEMLIFT]
    assert len(learned.weights) == 3
    assert (
        0 < sum(len(one.used) for one in learned.tasks) < sum(one.served for one in learned.tasks)
    )
    assert all(len(one.used) <= one.served for one in learned.tasks)
    # Two rules are always right and one hardly ever: who says what was used can tell.
    told = {one.note: one.weight for one in arms[USED].weights}
    assert min(told["r0"], told["r1"]) > told["r2"]


def _where(server: Server) -> list[str]:
    return ["--url", server.url, "--key", server.home.operator_key.read_text().strip()]


def _arms() -> list[str]:
    return [NONE, SIMILARITY, MEMLIFT, USED]
