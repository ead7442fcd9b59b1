"""The one normal form: what two texts have in common that say the same in other clothes.

Case, sentence punctuation and quotation marks at the edge of a word, white space outside code,
hyphenation inside a word, thousands separators and contractions do not count. Operators, signs,
flags, decimal points, paths and code are compared as written: losing a fact is worse than keeping a
twin.
"""
# ruff: noqa: RUF001 - marks of other scripts are meant

import re
from collections.abc import Iterator
from hashlib import blake2b

from memory.kernel.confusables import plain_reading

_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]{1,2000}`)", re.DOTALL)


_QUOTES = "\"'`«»‹›“”„‟‘’‚‛"


_SENTENCE = ".,;:!?。、，；：！？…"


# Between spaces these are still commas; `x ? y : z` is an expression.
_LONE = frozenset(",.;")


_THOUSANDS = re.compile(r"\d{1,3}(?:[,']\d{3})+(?:\.\d+)?%?")


_SPACED = re.compile(r"(?<=\d)[\u00a0\u202f](?=\d{3}(?!\d))")


_HYPHENATED = re.compile(r"\A[^\W\d_]+(?:-[^\W\d_]+)+")


_BROKEN = re.compile(r"(?<=[^\W\d_])-[ \t]*\n[ \t]*(?=[^\W\d_])")


# Letters and digits alone; what may be a path, a flag or an operator is compared as written.
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


_CONTRACTIONS = {
    "can't": "can not",
    "cannot": "can not",
    "won't": "will not",
    "shan't": "shall not",
    "let's": "let us",
    "it's": "it is",
    "that's": "that is",
    "there's": "there is",
    "i'm": "i am",
}


_ENDINGS = (("n't", " not"), ("'re", " are"), ("'ve", " have"), ("'ll", " will"))


def normal_form(text: str) -> str:
    """Equal for texts that differ in nothing that is meant; see above."""
    return " ".join(_words(text))


def look_alike_form(text: str) -> str:
    """A digest of the normal form of how the text can be read: compatibility characters, ligatures,
    what is not seen, and letters of another script make no difference either. Empty where nothing
    can be read. It is remembered under a digest of the text, so that no words are kept.
    """
    digest = _digest(text)
    known = _forms.get(digest)
    if known is None:
        form = normal_form(plain_reading(text))
        known = _digest(form).hex() if form else ""
        if len(_forms) >= _KEPT:
            _forms.clear()
        _forms[digest] = known
    return known


_KEPT = 16_384
"""So many forms are remembered, then all are forgotten: about 3 MB."""


_forms: dict[bytes, str] = {}


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _words(text: str) -> Iterator[str]:
    for place, part in enumerate(_CODE.split(text)):
        if place % 2:
            yield part
        else:
            yield from filter(None, map(_normal_word, _joined(part).split()))


def _joined(part: str) -> str:
    """Without breaks and spaces inside a word or a number."""
    whole = _BROKEN.sub("", part) if "\n" in part else part
    return whole if whole.isascii() else _SPACED.sub("", whole)


def _normal_word(written: str) -> str:
    """One word without its clothes; nothing where it was an ornament."""
    # Most words wear none.
    inner = written if written.isalnum() else _strip(written)
    if inner.isalnum():
        return _expand(inner.casefold())
    word = inner.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if _THOUSANDS.fullmatch(word):
        return word.replace(",", "").replace("'", "")
    if _WORD.fullmatch(word):
        plain = _expand(word.casefold())
        return plain.replace("-", "") if _HYPHENATED.fullmatch(plain) else plain
    return inner


def _strip(written: str) -> str:
    """Without sentence punctuation and quotation marks at its edges. An operator, an ellipsis of a
    path and a leading dot are no sentence punctuation.
    """
    inner = written.lstrip(_QUOTES + "¿¡")
    if not inner.strip(_SENTENCE + _QUOTES):
        return "" if written in _LONE or not written.strip(_QUOTES) else written
    return inner.rstrip(_SENTENCE + _QUOTES)


def _expand(word: str) -> str:
    if word in _CONTRACTIONS:
        return _CONTRACTIONS[word]
    if "'" not in word:
        return word
    for ending, whole in _ENDINGS:
        if word.endswith(ending):
            return word.removesuffix(ending) + whole
    return word
