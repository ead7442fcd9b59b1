"""Cutting long texts and grouping texts of like length."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from memory.inference.windows import TextWindow, cut, groups_of_like_length


@dataclass(frozen=True)
class Characters:
    """One piece a character; words are what stands between blanks."""

    text: str

    @property
    def _places(self) -> list[int]:
        return [place for place, character in enumerate(self.text) if character != " "]

    @property
    def ids(self) -> list[int]:
        return [ord(self.text[place]) for place in self._places]

    @property
    def offsets(self) -> list[tuple[int, int]]:
        return [(place, place + 1) for place in self._places]

    @property
    def word_ids(self) -> list[int | None]:
        return [self.text[:place].count(" ") for place in self._places]


def texts(windows: list[TextWindow]) -> list[str]:
    return [window.text for window in windows]


def test_a_text_that_fits_is_left_whole():
    assert texts(cut(" to be ", Characters(" to be "), 4)) == [" to be "]


def test_a_long_text_is_cut_between_words_into_like_lengths():
    text = "aaa bbb ccc ddd"

    windows = cut(text, Characters(text), 7)

    assert texts(windows) == ["aaa bbb ", "ccc ddd"]
    assert not any(window.inside_word for window in windows)


def test_a_word_longer_than_the_window_is_cut_inside():
    windows = cut("aaaaaaaaaa", Characters("aaaaaaaaaa"), 4)

    assert texts(windows) == ["aaaa", "aaa", "aaa"]
    assert all(window.inside_word for window in windows)


@given(text=st.text(alphabet="ab ", max_size=200), window=st.integers(2, 20))
def test_no_window_is_too_long_and_no_character_is_lost(text: str, window: int):
    windows = cut(text, Characters(text), window)

    assert "".join(texts(windows)) == text
    assert all(len(one.ids) <= window for one in windows)
    assert all(one.ids == Characters(one.text).ids for one in windows)


@given(lengths=st.lists(st.integers(0, 300)), budget=st.integers(1, 2_000))
def test_groups_hold_every_text_once_and_little_padding(lengths: list[int], budget: int):
    groups = groups_of_like_length(lengths, budget)

    assert sorted(place for group in groups for place in group) == list(range(len(lengths)))
    for group in groups:
        longest = max(lengths[place] for place in group)
        shortest = min(lengths[place] for place in group)
        assert longest <= 2 * shortest + 16
        assert len(group) == 1 or len(group) * longest <= budget
