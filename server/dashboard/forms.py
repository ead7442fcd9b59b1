"""What a form brings: read by hand, so that no parser of files stands at this door."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs

from memory.kernel.errors import Rejected

MAX_FIELDS = 1_000


@dataclass(frozen=True, slots=True)
class Form:
    """Fields by name; a name may come several times, as ticked rows do."""

    fields: Mapping[str, Sequence[str]]

    def get(self, name: str) -> str:
        """The last value, or nothing."""
        return self.fields.get(name, ("",))[-1]

    def given(self, name: str) -> str | None:
        """The last value, None when it is blank: an empty field says nothing."""
        return self.get(name).strip() or None

    def all(self, name: str) -> Sequence[str]:
        return self.fields.get(name, ())


def read_form(body: bytes) -> Form:
    """The form of an urlencoded body. Raises Rejected for any other."""
    try:
        text = body.decode("ascii")
        fields = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError as fault:
        raise Rejected("the form cannot be read", field="body", limit=MAX_FIELDS) from fault
    return Form(fields)
