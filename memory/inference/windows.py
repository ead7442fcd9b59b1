"""Cuts long texts into windows that a model can read, and groups texts of like length."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory.inference.loading import Pieces


@dataclass(frozen=True, slots=True)
class TextWindow:
    """A part of a text and the ids of its pieces. `inside_word`: it begins or ends inside a word,
    so that tokenised alone it would have other pieces.
    """

    text: str
    ids: list[int]
    inside_word: bool = False


def cut(text: str, pieces: Pieces, window: int) -> list[TextWindow]:
    """The text in windows of at most `window` pieces, about equally long, cut between words.

    Equal lengths keep the last window from being a stub that counts as much as a full one. A word
    longer than half a window is cut inside.
    """
    ids, count = pieces.ids, len(pieces.ids)
    if count <= window:
        return [TextWindow(text, ids)]
    words = pieces.word_ids
    starts = [0]
    while count - starts[-1] > window:
        remaining = count - starts[-1]
        starts.append(_word_start(words, starts[-1], remaining, window))
    split = {start for start in starts[1:] if _is_inside(words, start)}
    offsets = pieces.offsets
    edges = [0, *(offsets[start][0] for start in starts[1:]), len(text)]
    return [
        TextWindow(text[a:b], ids[start:end], bool(split & {start, end}))
        for (a, b), (start, end) in zip(pairwise(edges), pairwise([*starts, count]), strict=True)
    ]


def _is_inside(words: Sequence[int | None], place: int) -> bool:
    return words[place] is not None and words[place] == words[place - 1]


def _word_start(words: Sequence[int | None], start: int, remaining: int, window: int) -> int:
    windows_left = -(-remaining // window)
    aim = start + -(-remaining // windows_left)
    lowest = start + window // 2
    for place in range(aim, lowest, -1):
        if not _is_inside(words, place):
            return place
    return aim


def groups_of_like_length(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Places grouped so that a group's padded size stays within `budget` pieces.

    In order of length, and none more than twice as long as the shortest of its group, so that
    little is spent on padding.
    """
    groups: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        group = groups[-1] if groups else []
        if group and _fits(lengths, group, place, budget):
            group.append(place)
        else:
            groups.append([place])
    return groups


def _fits(lengths: Sequence[int], group: Sequence[int], place: int, budget: int) -> bool:
    longest = lengths[place]
    return (len(group) + 1) * longest <= budget and longest <= 2 * lengths[group[0]] + 16
