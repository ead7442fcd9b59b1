"""Reads the calculations of a run: what is combined with what, each number told by where it comes
from.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memory.contrast.quantities import Quantities, fold
from memory.contrast.steps import Step

_PIECE = re.compile(
    r"(?P<number>\d[\d,]*(?:\.\d+)?|\.\d+)|(?P<operator>[-+*/=()\u00d7\u00f7\u2013\u2212])"
    r"|(?P<word>[^\W\d_]+(?:'s)?)|(?P<sign>[$\u00a3\u20ac%])|(?P<break>[^\s])"
)
_OPERATORS = {"\u00d7": "*", "x": "*", "X": "*", "\u00f7": "/", "\u2013": "-", "\u2212": "-"}
PAIR = 2
PERCENT = 100
# Words between a number and the operator that follows it.
MAX_UNIT = 5
MAX_OPERANDS = 4
# Longer expressions are nothing that a sentence can tell.
MAX_PARTS = 60

# An operation is told as something done, or as what comes of it.
ACTING, NAMING = 0, 1
_ACTS: Mapping[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("adding {0} and {1}", "the sum of {0} and {1}"),
    ast.Sub: ("subtracting {1} from {0}", "the difference between {0} and {1}"),
    ast.Mult: ("multiplying {0} by {1}", "the product of {0} and {1}"),
    ast.Div: ("dividing {0} by {1}", "the quotient of {0} and {1}"),
}
_MANY: Mapping[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("adding {0}", "the sum of {0}"),
    ast.Mult: ("multiplying {0}", "the product of {0}"),
}


@dataclass(frozen=True, slots=True)
class Calculation:
    """An expression with what a run says it comes to, and the words behind that number."""

    tree: ast.expr
    result: float
    unit: str


@dataclass(slots=True)
class _Reader:
    """One line, piece by piece."""

    pieces: Sequence[tuple[str, str]]
    at: int = 0
    parts: list[str] = field(default_factory=list[str])

    def calculations(self) -> Iterator[Calculation]:
        while self.at < len(self.pieces):
            self.parts = []
            self._expression()
            if 1 < len(self.parts) <= MAX_PARTS and self._takes("="):
                yield from self._stated()
            elif not self.parts:
                self.at += 1

    def _stated(self) -> Iterator[Calculation]:
        tree = _tree("".join(self.parts))
        self._skip_signs()
        negative = self._takes("-")
        self._skip_signs()
        kind, text = self._piece()
        if tree is None or kind != "number":
            return
        money = self.pieces[self.at - 1][1] == "$"
        # The number stays unread: it may open the next calculation of the line.
        unit = "dollars" if money else " ".join(self._words_behind(self.at + 1))
        yield Calculation(tree, (-1 if negative else 1) * _value(text), unit)

    def _expression(self) -> None:
        """Numbers and operators from here on, as far as they make an expression."""
        while True:
            while self._opens():
                self.parts.append({"$": ""}.get(self._piece()[1], self._piece()[1]))
                self.at += 1
            kind, text = self._piece()
            if kind != "number":
                return
            self.parts.append(repr(_value(text)))
            self.at += 1
            self._percent()
            if not self._operator():
                return

    def _opens(self) -> bool:
        """Whether a bracket or sign opens the next number."""
        text = self._piece()[1]
        return text in {"(", "$"} or (text == "-" and self.parts[-1:] != ["-"])

    def _percent(self) -> None:
        if self._takes("%"):
            self.parts[-1] = f"percent({self.parts[-1]})"

    def _operator(self) -> bool:
        """Whether an operator follows, behind a few words and brackets; takes it."""
        ahead = self.at + len(self._words_behind(self.at))
        closing = 0
        while ahead < len(self.pieces) and self.pieces[ahead][1] == ")":
            closing, ahead = closing + 1, ahead + 1
        ahead += len(self._words_behind(ahead))
        text = self.pieces[ahead][1] if ahead < len(self.pieces) else ""
        operator = _OPERATORS.get(text, text)
        if operator not in {"+", "-", "*", "/", "="}:
            return False
        self.parts.append(")" * closing)
        self.at = ahead
        if operator != "=":
            self.parts.append(operator)
            self.at += 1
        return operator != "="

    def _words_behind(self, at: int) -> list[str]:
        """The unit behind a number: a few words, also one by another."""
        found: list[str] = []
        for kind, text in self.pieces[at : at + MAX_UNIT]:
            by = text == "/" and self._kind(at + len(found) + 1) == "word"
            if not by and (kind != "word" or text in _OPERATORS):
                break
            found.append(text)
        return found

    def _skip_signs(self) -> None:
        while self._piece()[0] == "sign":
            self.at += 1

    def _takes(self, text: str) -> bool:
        taken = _OPERATORS.get(self._piece()[1], self._piece()[1]) == text
        self.at += taken
        return taken

    def _kind(self, at: int) -> str:
        return self.pieces[at][0] if at < len(self.pieces) else "end"

    def _piece(self) -> tuple[str, str]:
        return self.pieces[self.at] if self.at < len(self.pieces) else ("end", "")


def calculations_in(line: str) -> list[Calculation]:
    """The calculations that a line of a run writes out, in order."""
    found = ((match.lastgroup or "", match.group()) for match in _PIECE.finditer(line))
    return list(_Reader(list(found)).calculations())


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _tree(text: str) -> ast.expr | None:
    text += ")" * (text.count("(") - text.count(")"))
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if isinstance(tree, ast.BinOp) else None


def steps_of(text: str, quantities: Quantities) -> list[Step]:
    """The calculations of a run as steps.

    Two steps of two runs are one when they come to the same number: then the runs still agree.
    """
    known = quantities.opened()
    steps: list[Step] = []
    for line in text.splitlines():
        for calculation in calculations_in(line):
            phrase = _said(calculation.tree, known)
            known.found(calculation.result, calculation.unit, _like(calculation.tree))
            if phrase is not None:
                told = _with_aim(phrase, known.named(calculation.result))
                steps.append(Step(f"{calculation.result:.6g}", told))
    return steps


def _with_aim(phrase: str, noun: str) -> str:
    """A phrase with what comes of it, where that is not said anyway."""
    said = not noun or re.search(rf"\b{re.escape(noun)}\b", phrase)
    return phrase if said else f"{phrase} to get the {noun}"


def _like(tree: ast.expr) -> list[float]:
    """The numbers whose kind the result has: those of a sum or a difference."""
    if not isinstance(tree, ast.BinOp) or not isinstance(tree.op, ast.Add | ast.Sub):
        return []
    parts = _operands(tree)
    return [
        part.value
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, float)
    ]


def _said(tree: ast.expr, known: Quantities, form: int = ACTING) -> str | None:
    """What the outermost operation does; None for more than a sentence can hold."""
    if not isinstance(tree, ast.BinOp):
        return _leaf(tree, known)
    operands = _operands(tree)
    shape = (_ACTS if len(operands) == PAIR else _MANY).get(type(tree.op))
    if shape is None or len(operands) > MAX_OPERANDS:
        return None
    if form == NAMING and (share := _share(tree)):
        return share
    said = [_said(operand, known, NAMING) for operand in operands]
    if any(one is None for one in said):
        return None
    texts = _told_apart(_ordered(tree, [one for one in said if one]))
    return shape[form].format(*texts if len(texts) == PAIR else [_listed(texts)])


def _ordered(tree: ast.BinOp, texts: list[str]) -> list[str]:
    """Sorted where the order of operands makes no difference: it is no step to learn from."""
    return sorted(texts) if type(tree.op) in _MANY else texts


def _operands(tree: ast.BinOp) -> list[ast.expr]:
    """Operands of a sum of sums or a product of products, flat; else the two there are."""
    left = tree.left
    if isinstance(left, ast.BinOp) and type(left.op) is type(tree.op) and type(left.op) in _MANY:
        return [*_operands(left), tree.right]
    return [left, tree.right]


def _share(tree: ast.BinOp) -> str | None:
    """A quotient that is a fraction or a percentage rather than a step of its own."""
    match tree:
        case ast.BinOp(ast.Constant(float(top)), ast.Div(), ast.Constant(float(bottom))):
            if bottom == PERCENT:
                return "the percentage"
            return "the fraction" if top < bottom and top == int(top) else None
        case _:
            return None


def _leaf(tree: ast.expr, known: Quantities) -> str | None:
    match tree:
        case ast.Constant(float(value)):
            return known.told(value)
        case ast.Call():
            return "the percentage"
        case _:
            return None


def _told_apart(texts: Sequence[str]) -> list[str]:
    """The texts, where the second of two equal ones is the other."""
    told: list[str] = []
    for text in texts:
        told.append(text.replace("the ", "the other ", 1) if text in told else text)
    return told


def _listed(texts: Sequence[str]) -> str:
    return fold(f"{', '.join(texts[:-1])} and {texts[-1]}")
