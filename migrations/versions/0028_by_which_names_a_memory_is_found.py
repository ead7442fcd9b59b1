"""By which names a memory is found: the identifiers in its texts, and those that a receipt shares"""

import json

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

from memory.kernel.identifiers import find_identifiers

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

NAMED = ("memory_version", "retrieval_item")
AT_A_TIME = 1_000

# What an identifier is, is said in one place, which is not SQL.
AFTER = """
    SELECT memory_id, version, situation, lesson FROM memory_version
    WHERE (memory_id, version) > (CAST(:memory_id AS uuid), :version)
    ORDER BY memory_id, version LIMIT :most
"""
NAME = """
    UPDATE memory_version v SET identifiers = f.identifiers
    FROM jsonb_to_recordset(CAST(:found AS jsonb))
        AS f (memory_id uuid, version integer, identifiers text[])
    WHERE v.memory_id = f.memory_id AND v.version = f.version
"""


def upgrade() -> None:
    for table in NAMED:
        op.add_column(
            table,
            sa.Column("identifiers", ARRAY(sa.Text()), nullable=False, server_default="{}"),
        )
    op.execute("ALTER TABLE memory_version NO FORCE ROW LEVEL SECURITY")
    _name_all()
    op.execute("ALTER TABLE memory_version FORCE ROW LEVEL SECURITY")


def _name_all() -> None:
    connection = op.get_bind()
    last: dict[str, object] = {"memory_id": "00000000-0000-0000-0000-000000000000", "version": 0}
    while rows := connection.execute(sa.text(AFTER), last | {"most": AT_A_TIME}).all():
        found = [
            {
                "memory_id": str(row.memory_id),
                "version": row.version,
                "identifiers": sorted(find_identifiers(f"{row.situation}\n{row.lesson}")),
            }
            for row in rows
        ]
        connection.execute(sa.text(NAME), {"found": json.dumps(found)})
        last = {"memory_id": rows[-1].memory_id, "version": rows[-1].version}


def downgrade() -> None:
    for table in NAMED:
        op.drop_column(table, "identifiers")
