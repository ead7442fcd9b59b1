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
        choose(parse(["--data", str(tmp_path / "nowhere")]), None)


def test_without_a_folder_the_weather_is_taken_and_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    stream = choose(parse([]), None)

    assert "vega_datasets" in stream.description


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
