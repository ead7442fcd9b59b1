"""Which files can be read in. Pure."""

from collections.abc import Mapping, Sequence

from memory.kernel.errors import Rejected, TooLarge
from memory.transfer.entities import ImportRequest, Manifest, MemberFacts
from memory.transfer.shapes import Row, Shape

OLDEST_READ = "0027"
"""The oldest schema whose rows mean what they mean today. A column that came since takes its
default; a migration that gives rows another meaning raises this to its own number.
"""


def require_readable(manifest: Manifest, head: str, request: ImportRequest) -> None:
    """Raises Rejected where rows of the file's schema cannot be read, or are too many."""
    if (about := manifest.about) is not None:
        raise Rejected(
            f"the file is about {about} alone: it can be looked at, not imported", field=about.kind
        )
    if manifest.schema > head:
        raise Rejected(
            f"the file has schema {manifest.schema}, this version of memlift knows {head}: import "
            "it with the version that made it, or a later one",
            field="schema",
            limit=head,
        )
    if manifest.schema < OLDEST_READ:
        raise Rejected(
            f"the file has schema {manifest.schema}, this version of memlift reads {OLDEST_READ} "
            "and later: import it with the version that made it, upgrade that database, and export "
            "it again",
            field="schema",
            limit=OLDEST_READ,
        )
    if manifest.bytes > request.max_bytes:
        raise TooLarge(
            f"the file has {manifest.bytes} bytes unpacked, and at most {request.max_bytes} are "
            "read",
            field="members",
            limit=request.max_bytes,
        )


def require_known(manifest: Manifest, head: str, tables: Mapping[str, Mapping[str, Shape]]) -> None:
    """The members have to be the tables, in their order; an older file may lack some, and columns
    that have a default. Raises Rejected for others.
    """
    order = list(tables)
    names = [member.table for member in manifest.members]
    for name in names:
        if name not in tables:
            raise Rejected(f"the file has a table that is not known: {name}", field=name)
    if names != [name for name in order if name in names]:
        raise Rejected("the tables of the file are not in their order", field="members")
    current = manifest.schema == head
    if current and (missing := [name for name in order if name not in names]):
        raise Rejected(f"the file lacks the table {missing[0]}", field="members")
    for member in manifest.members:
        _require_columns(member, tables[member.table], current=current)


def _require_columns(member: MemberFacts, shapes: Mapping[str, Shape], *, current: bool) -> None:
    if len(set(member.columns)) != len(member.columns):
        raise Rejected(f"{member.name} names a column twice", field=member.name)
    if unknown := set(member.columns) - shapes.keys():
        raise Rejected(
            f"{member.name} has a column that is not known: {min(unknown)}", field=member.name
        )
    for name, shape in shapes.items():
        if name not in member.columns and (current or not shape.may_lack):
            raise Rejected(f"{member.name} lacks the column {name}", field=member.name)


def revoke(row: Row, now: str) -> None:
    """A key that is read in opens nothing: its secret is not in the file, and it has ended."""
    if row.get("role") == "operator":
        raise Rejected("is a key of an operator, which belongs to no namespace", field="role")
    row["revoked_at"] = row.get("revoked_at") or now


def present(columns: Sequence[str], shapes: Mapping[str, Shape]) -> dict[str, Shape]:
    """The shapes of the columns that a member has."""
    return {name: shape for name, shape in shapes.items() if name in columns}
