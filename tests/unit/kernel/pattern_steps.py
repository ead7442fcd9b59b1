"""Counts what a backtracking matcher does: the same number on every machine, unlike a time.

A pattern is taken apart as Python does it and walked the plain way, without the shortcuts that
Python knows; so the count is an upper bound. Finite bounds count as small ones: what is at most two
hundred characters is looked through as often, and that is no growth.
"""

import re
from collections.abc import Callable, Sequence
from re import _constants as ops  # pyright: ignore[reportAttributeAccessIssue] - Python's own
from re import _parser as parser  # pyright: ignore[reportAttributeAccessIssue] - Python's own
from typing import Any

FEW = 6
"""What any finite bound counts as, beyond the least number."""
MOST = 50_000
"""Whoever takes more steps over a few dozen characters takes as many as one likes."""

Then = Callable[[int], "int | None"]
Node = tuple[Any, Any]
ONE = frozenset({ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN})
REPEATS = frozenset({ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT})
CATEGORIES: dict[Any, Callable[[str], bool]] = {
    ops.CATEGORY_DIGIT: str.isdecimal,
    ops.CATEGORY_NOT_DIGIT: lambda c: not c.isdecimal(),
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    ops.CATEGORY_WORD: lambda c: c == "_" or c.isalnum(),
    ops.CATEGORY_NOT_WORD: lambda c: not (c == "_" or c.isalnum()),
}


def steps_of(pattern: re.Pattern[str], text: str) -> int:
    """The steps of finding every match of `pattern` in `text`."""
    walk = _Walk(text, pattern.flags)
    nodes: list[Node] = list(parser.parse(pattern.pattern, pattern.flags))
    start = 0
    try:
        while start <= len(text):
            end = walk.run(nodes, 0, start, lambda at: at)
            start = end if end is not None and end > start else start + 1
    except TooManySteps:
        return MOST
    return walk.steps


class TooManySteps(Exception):
    """There is no need to count on."""


class _Walk:
    def __init__(self, text: str, flags: int) -> None:
        self.text = text
        self.folds = bool(flags & re.IGNORECASE)
        self.dots = bool(flags & re.DOTALL)
        self.steps = 0

    def run(self, nodes: Sequence[Node], index: int, at: int, then: Then) -> int | None:
        """Where a match ends that goes on from here, None where none does."""
        self.steps += 1
        if self.steps > MOST:
            raise TooManySteps
        if index == len(nodes):
            return then(at)
        op, value = nodes[index]

        def rest(place: int) -> int | None:
            return self.run(nodes, index + 1, place, then)

        if op in ONE:
            return rest(at + 1) if self._is(op, value, at) else None
        if op in REPEATS:
            return self._repeat(op, value, at, rest)
        return self._other(op, value, at, rest)

    def _other(self, op: Any, value: Any, at: int, rest: Then) -> int | None:
        if op is ops.AT:
            return rest(at) if self._stands(value, at) else None
        if op is ops.SUBPATTERN:
            return self.run(list(value[3]), 0, at, rest)
        if op is ops.BRANCH:
            ends = (self.run(list(one), 0, at, rest) for one in value[1])
            return next((end for end in ends if end is not None), None)
        if op is ops.ATOMIC_GROUP:
            end = self.run(list(value), 0, at, lambda place: place)
            return None if end is None else rest(end)
        assert op in (ops.ASSERT, ops.ASSERT_NOT), op
        found = self._looks(value, at)
        return rest(at) if found == (op is ops.ASSERT) else None

    def _looks(self, value: Any, at: int) -> bool:
        direction, inner = value
        width = inner.getwidth()[0] if direction < 0 else 0
        start = at - width
        return start >= 0 and self.run(list(inner), 0, start, lambda place: place) is not None

    def _repeat(self, op: Any, value: Any, at: int, rest: Then) -> int | None:
        least, most, inner = value
        most = most if most is ops.MAXREPEAT else min(most, least + FEW)
        nodes: list[Node] = list(inner)
        if len(nodes) == 1 and nodes[0][0] in ONE:
            return self._run_of(op, (least, most), nodes[0], at, rest)
        if op is ops.POSSESSIVE_REPEAT:
            end = self._again(nodes, 0, (least, most), at, lambda place: place)
            return None if end is None else rest(end)
        return self._again(nodes, 0, (least, most), at, rest, lazy=op is ops.MIN_REPEAT)

    def _run_of(
        self, op: Any, bounds: tuple[int, Any], node: Node, at: int, rest: Then
    ) -> int | None:
        least, most = bounds
        end = at
        while end - at < most and self._is(*node, end):
            self.steps += 1
            end += 1
        if end - at < least:
            return None
        places = range(end, at + least - 1, -1)
        if op is ops.POSSESSIVE_REPEAT:
            places = range(end, end + 1)
        elif op is ops.MIN_REPEAT:
            places = range(at + least, end + 1)
        found = (rest(place) for place in places)
        return next((place for place in found if place is not None), None)

    def _again(
        self,
        nodes: Sequence[Node],
        done: int,
        bounds: tuple[int, Any],
        at: int,
        rest: Then,
        *,
        lazy: bool = False,
    ) -> int | None:
        least, most = bounds

        def once_more() -> int | None:
            if done >= most:
                return None

            def after(place: int) -> int | None:
                if place == at and done >= least:
                    return None
                return self._again(nodes, done + 1, bounds, place, rest, lazy=lazy)

            return self.run(nodes, 0, at, after)

        if done < least:
            return once_more()
        first, second = (lambda: rest(at), once_more) if lazy else (once_more, lambda: rest(at))
        end = first()
        return second() if end is None else end

    def _stands(self, value: Any, at: int) -> bool:
        size = len(self.text)
        if value in (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING):
            return at == 0
        if value is ops.AT_END:
            return at == size or (at == size - 1 and self.text[at] == "\n")
        if value is ops.AT_END_STRING:
            return at == size
        word = CATEGORIES[ops.CATEGORY_WORD]
        before = at > 0 and word(self.text[at - 1])
        behind = at < size and word(self.text[at])
        return (before != behind) == (value is ops.AT_BOUNDARY)

    def _is(self, op: Any, value: Any, at: int) -> bool:
        if at >= len(self.text):
            return False
        character = self.text[at]
        if op is ops.ANY:
            return self.dots or character != "\n"
        if op is ops.IN:
            return self._is_in(value, character)
        return self._same(value, character) == (op is ops.LITERAL)

    def _is_in(self, items: Sequence[Node], character: str) -> bool:
        negated = items[0][0] is ops.NEGATE
        return any(self._fits(item, character) for item in items[negated:]) != negated

    def _fits(self, item: Node, character: str) -> bool:
        op, value = item
        if op is ops.LITERAL:
            return self._same(value, character)
        if op is ops.CATEGORY:
            return CATEGORIES[value](character)
        assert op is ops.RANGE, op
        kinds = {character, character.lower(), character.upper()} if self.folds else {character}
        return any(value[0] <= ord(one) <= value[1] for one in kinds if len(one) == 1)

    def _same(self, value: int, character: str) -> bool:
        if self.folds:
            return chr(value).lower() == character.lower()
        return chr(value) == character
