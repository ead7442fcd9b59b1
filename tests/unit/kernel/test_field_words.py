"""A field is described by the string below it, or by that of the class it comes from."""

from dataclasses import dataclass

from pydantic import TypeAdapter

from memory.kernel.field_words import field_words
from memory.kernel.fields import OUTPUT


@dataclass(frozen=True, slots=True)
class Above:
    __pydantic_config__ = OUTPUT

    first: int
    """The
    first one.
    """
    second: int = 2
    third: int = 3
    """Said above."""


@dataclass(frozen=True, slots=True)
class Below(Above):
    __pydantic_config__ = OUTPUT

    third: int = 4
    """Said below."""

    @dataclass(frozen=True)
    class Inside:
        first: int
        """Said inside."""


def test_the_string_below_a_field_describes_it():
    assert field_words(Below) == {"first": "The\nfirst one.", "third": "Said below."}
    assert field_words(Below.Inside) == {"first": "Said inside."}


def test_what_has_no_source_has_no_words():
    assert field_words(int) == {}


def test_a_schema_holds_the_words():
    properties = TypeAdapter(Below).json_schema()["properties"]

    assert properties["first"]["description"] == "The\nfirst one."
    assert properties["third"]["description"] == "Said below."
    assert "description" not in properties["second"]
