"""Cuts long texts into windows that a model can read, and groups texts of like length."""

from collections.abc import Sequence
from itertools import pairwise

from memory.inference.loading import Pieces


def cut(text: str, pieces: Pieces, window: int) -> list[str]:
    """The text in windows of at most `window` pieces, about equally long, cut between words.

    Equal lengths keep the last window from being a stub that counts as much as a full one. A word
    longer than half a window is cut inside.
    """
    count = len(pieces.ids)
    if count <= window:
        return [text]
    starts = [0]
    while count - starts[-1] > window:
        remaining = count - starts[-1]
        starts.append(_word_start(pieces.word_ids, starts[-1], remaining, window))
    edges = [pieces.offsets[start][0] for start in starts[1:]]
    return [text[a:b] for a, b in pairwise([0, *edges, len(text)])]


def _word_start(words: Sequence[int | None], start: int, remaining: int, window: int) -> int:
    windows_left = -(-remaining // window)
    aim = start + -(-remaining // windows_left)
    lowest = start + window // 2
    for place in range(aim, lowest, -1):
        if words[place] is None or words[place] != words[place - 1]:
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
