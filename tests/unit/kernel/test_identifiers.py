"""What is found as it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.kernel.identifiers import (
    LONGEST,
    find_identifiers,
    find_names_to_look_for,
    find_raw_terms,
    find_shared_runs,
)


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("Look into /var/log/app.log, then stop.", {"/var/log/app.log"}),
        ("It failed with E1234 (ECONNREFUSED).", {"e1234", "econnrefused"}),
        ("TypeError in parse_config at v1.2.3", {"typeerror", "parse_config", "v1.2.3"}),
        ("pass --no-cache and edit .env", {"--no-cache", ".env"}),
        ("std::move, a.b@c.org", {"std::move", "a.b@c.org"}),
        ("A well-known rule isn't one; 42 of them.", set()),
        ("", set()),
    ],
)
def test_names_are_told_from_words(text: str, identifiers: set[str]):
    assert find_identifiers(text) == identifiers


def test_a_script_without_spaces_gives_pairs_of_characters():
    assert find_raw_terms("东京的天气") == ["东京", "京的", "的天", "天气"]
    assert find_raw_terms("京") == ["京"]
    assert find_raw_terms("ไทย") == ["ไท", "ทย"]


def test_words_beyond_latin_are_terms_and_counted():
    assert find_raw_terms("сбой и снова Сбой") == ["сбой", "и", "снова", "сбой"]


@given(st.text(max_size=300))
def test_any_text_has_terms_and_identifiers_of_bounded_length(text: str):
    found = [*find_raw_terms(text), *find_identifiers(text), *find_names_to_look_for(text)]

    assert all(0 < len(term) <= 3 * LONGEST for term in found)


def test_a_long_run_takes_no_longer_than_its_length_asks_for():
    assert find_raw_terms("a." * 50_000) == []
    assert find_raw_terms("-/" * 50_000) == []


def test_a_word_only_in_capitals_is_not_looked_for() -> None:
    text = "Do NOT retry fooBar on E4012 in src/API, says the API"

    assert find_names_to_look_for(text) == {"foobar", "e4012", "src/api"}
    assert find_identifiers(text) - find_names_to_look_for(text) == {"not", "api"}


@pytest.mark.parametrize(
    "written",
    [
        "./src/app.py",
        "../src/app.py",
        "src/app.py:12",
        "src/app.py:12:4",
        r"src\app.py",
        r".\src\app.py:7",
        "src/app.py.",
    ],
)
def test_a_path_is_one_name_however_it_is_written(written: str) -> None:
    assert find_identifiers(f"look into {written} first") == {"src/app.py"}


@pytest.mark.parametrize(
    "written", ["a/src/app.py", "./src/app.py:3", r"C:\src\app.py", "src/app.py"]
)
def test_a_path_is_looked_for_by_its_ends(written: str) -> None:
    assert {"src/app.py", "app.py"} <= find_names_to_look_for(f"it fails in {written}")


@pytest.mark.parametrize("name", ["localhost:8080", "std::move", "v1.2.3", "12:30:10"])
def test_what_is_no_path_stays_as_it_is(name: str) -> None:
    assert find_names_to_look_for(name) | {name} == {name}


@pytest.mark.parametrize(
    ("asked", "text", "rare", "runs"),
    [
        ("清空重排队列", "先清空重排队列再登录", {"重排"}, ("清空重排队列",)),
        ("清空重排队列", "先清空重排队列再登录", {"登录"}, ()),
        ("队列很慢", "清空队列", {"队列"}, ()),
        ("แคชเต็ม", "ล้างแคชก่อน", {"แค"}, ()),
        ("ปฏิกิริยาช้า", "ตรวจปฏิกิริยา", {"ฏิ"}, ("ปฏิกิริยา",)),
        ("plain words", "plain words", {"pl"}, ()),
        ("日本語の辞書と東京駅前", "東京駅前で日本語を", {"本語", "京駅"}, ("日本語", "東京駅前")),
    ],
)
def test_runs_that_two_texts_share(asked: str, text: str, rare: set[str], runs: tuple[str, ...]):
    assert find_shared_runs(asked, text, rare) == runs
