"""What a character can be read as: the few look-alikes that forge our marks or hide a copy.

NFKC undoes compatibility forms (full width, mathematical letters, ligatures, circled digits); the
table adds letters and signs of other scripts that are drawn like ours. It is short enough to be
read, and not complete: the whole list is Unicode's confusables.txt (UTS 39), of which these are the
rows that make the letters, brackets and colons of our own marks and of chat templates.
"""
# ruff: noqa: RUF001 - the look-alikes are what this is about

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

# Invisible without being format characters: joiners, fillers, variation selectors, tags.
HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0000-\U000e0fff]"
)


HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


_READ_AS = {
    # Cyrillic, Greek, Armenian, Cherokee; small capitals and phonetic letters.
    "a": "а\u0251ᴀα",
    "b": "ʙЬь",
    "c": "сᴄϲ",
    "d": "ԁᴅժ",
    "e": "еҽᴇ℮",
    "f": "ꜰϝ",
    "g": "ɡɢց",
    "h": "һʜհ",
    "i": "іɪι\u0131ӏ",
    "j": "јᴊϳ",
    "k": "кᴋκ",
    "l": "ʟ",
    "m": "мᴍɱ",
    "n": "ɴոռ",
    "o": "оοօᴏ",
    "p": "рρᴘ",
    "q": "ԛզ",
    "r": "гʀ",
    "s": "ѕꜱ",
    "t": "тᴛτ",
    "u": "υᴜս",
    "v": "ѵνᴠ",
    "w": "ԝᴡω",
    "x": "хχ",
    "y": "уүʏγ",
    "z": "ᴢ",
    "A": "АΑᎪ",
    "B": "ВΒᏴ",
    "C": "СϹᏟ",
    "D": "Ꭰ",
    "E": "ЕΕᎬ",
    "H": "НΗᎻ",
    "I": "ІΙӀ",
    "J": "ЈᎫ",
    "K": "КΚᏦ",
    "L": "Ꮮ",
    "M": "МΜᎷϺ",
    "N": "Ν",
    "O": "ОΟՕ",
    "P": "РΡᏢ",
    "S": "ЅՏᏚ",
    "T": "ТΤᎢ",
    "V": "Ꮩ",
    "W": "ԜᎳ",
    "X": "ХΧ",
    "Y": "УΥҮ",
    "Z": "ΖᏃ",
    # Brackets, angles, bars, colons, low lines.
    "[": "【〖〔〘〚⟦⟬⁅❲⦋⦍⦏⦗⸢⸤「『⎡⎢⎣",
    "]": "】〗〕〙〛⟧⟭⁆❳⦌⦎⦐⦘⸣⸥」』⎤⎥⎦",
    "<": "‹˂ᐸ❮⟨〈⧼《",
    ">": "›˃ᐳ❯⟩〉⧽》",
    "|": "¦∣│┃ǀ❘⏐",
    ":": "∶ː꞉։׃܃܄⁚᛬",
    "_": "▁",
    "/": "∕⁄⧸╱",
    "&": "ꝸ",
    "!": "ǃ",
    "'": "\u2018\u2019\u02bc\u2032",
}


READ_AS: Mapping[str, str] = MappingProxyType(
    {look_alike: plain for plain, others in _READ_AS.items() for look_alike in others}
)


def is_hidden(character: str) -> bool:
    """Whether a reader sees nothing of it; a tab and a line feed are white space."""
    if character in "\t\n":
        return False
    if character.isascii():
        return not character.isprintable()
    return (
        unicodedata.category(character) in HIDDEN_CATEGORIES or HIDDEN.match(character) is not None
    )


@lru_cache(maxsize=8_192)
def read_as(character: str) -> str:
    """What the character can be read as: nothing where it is hidden, and itself as a rule."""
    if character.isascii():
        return "" if is_hidden(character) else character
    if is_hidden(character):
        return ""
    if character in READ_AS:
        return READ_AS[character]
    plain = unicodedata.normalize("NFKC", character)
    if unicodedata.category(character) == "Nd":
        plain = str(unicodedata.digit(character))
    return "".join("" if is_hidden(one) else READ_AS.get(one, one) for one in plain)


@lru_cache(maxsize=8_192)
def bare(character: str) -> str:
    """The same without accents: what a hurried reader takes it for."""
    parts = unicodedata.normalize("NFKD", read_as(character))
    return "".join(READ_AS.get(one, one) for one in parts if unicodedata.category(one)[0] != "M")


def plain_reading(text: str) -> str:
    """The text as it can be read, of whatever script its letters are."""
    return text if text.isascii() and text.isprintable() else "".join(map(read_as, text))
