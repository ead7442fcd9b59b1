"""Which stream the demonstration takes."""

import pytest
from demo_builders import a_row, written

from clients.demo.arguments import SAMPLE, choose, parse
from clients.demo.streams import BadStream


def test_a_named_folder_comes_before_the_environment(tmp_path):
    folder = written(tmp_path, [a_row()])

    stream = choose(parse(["--data", str(folder), "--stream", "test"]), "/nowhere")

    assert [question.id for question in stream.questions] == ["d-1"]


def test_the_environment_names_a_folder(tmp_path):
    folder = written(tmp_path, [a_row()])

    assert choose(parse(["--stream", "test"]), str(folder)).name == "test"


def test_a_folder_that_was_named_and_is_not_there_is_no_reason_to_take_another(tmp_path):
    with pytest.raises(BadStream, match="nowhere"):
        choose(parse(["--data", str(tmp_path / "nowhere"), "--stream", "dataset"]), None)


def test_the_weather_is_taken_when_it_is_asked_for_whatever_else_there_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    for environment in (None, "/nowhere"):
        stream = choose(parse(["--stream", "weather"]), environment)

        assert "vega_datasets" in stream.description


def test_a_stream_that_lies_nowhere_is_not_replaced_by_another(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(BadStream, match="dataset"):
        choose(parse(["--stream", "dataset"]), None)


def test_without_a_stream_tasks_are_done_and_nothing_is_replayed():
    asked = parse(["--seed", "7", "--exit"])

    assert (asked.stream, asked.seed, asked.leave) == (None, 7, True)


@pytest.mark.parametrize("words", [["--data", "."], ["--full"]])
def test_what_belongs_to_a_stream_needs_its_name(words, capsys):
    with pytest.raises(SystemExit):
        parse(words)
    assert "need --stream" in capsys.readouterr().err


def test_a_stream_in_the_folder_data_is_found(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    written(tmp_path / "data", [a_row()])
    monkeypatch.chdir(tmp_path)

    assert choose(parse(["--stream", "test"]), None).name == "test"


def test_the_sample_is_taken_unless_all_is_asked_for(tmp_path):
    rows = [a_row(id=f"d-{n}", event_id=f"e-{n}") for n in range(SAMPLE + 5)]
    words = ["--data", str(written(tmp_path, rows)), "--stream", "test"]

    assert len(choose(parse(words), None).questions) == SAMPLE
    assert len(choose(parse([*words, "--full"]), None).questions) == SAMPLE + 5


def test_a_server_by_address_needs_its_key(monkeypatch):
    monkeypatch.delenv("MEMLIFT_KEY", raising=False)

    with pytest.raises(SystemExit):
        parse(["--url", "http://127.0.0.1:1"])
