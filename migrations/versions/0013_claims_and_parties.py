"""What a key may claim, whose word its word is, and how far one party alone moves a memory"""

from collections.abc import Sequence
from itertools import groupby
from uuid import UUID

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = ("influence",)
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"
CLAIMS = {"agent": "self", "evaluator": "test", "reader": "self"}
SUBJECTS = ("memory", "deviation", "cell", "noise", "strength", "effect", "record")

keys = sa.table(
    "api_key",
    *(sa.column(name) for name in ("id", "namespace_id", "role", "agents", "verifies", "party_id")),
)


def upgrade() -> None:
    op.add_column("api_key", sa.Column("verifies", sa.Text(), nullable=True))
    op.add_column("api_key", sa.Column("party_id", sa.Uuid(), nullable=True))
    claims = sa.case(CLAIMS, value=keys.c.role, else_="human")
    op.execute(sa.update(keys).values(verifies=claims))
    find_parties()
    op.alter_column("api_key", "verifies", nullable=False)
    op.create_check_constraint(
        op.f("ck_api_key_verifies"), "api_key", "verifies IN ('human', 'test', 'judge', 'self')"
    )
    op.create_index("ix_api_key_namespace_id_party_id", "api_key", ["namespace_id", "party_id"])
    op.create_index("ix_memory_namespace_id_key_id", "memory", ["namespace_id", "key_id"])
    # Outcomes that were told before keep what they moved: they are bounded by nothing.
    op.add_column("outcome", sa.Column("party_id", sa.Uuid(), nullable=True))
    op.add_column("weight_event", sa.Column("party_id", sa.Uuid(), nullable=True))
    admit_subjects((*SUBJECTS[:2], "influence", *SUBJECTS[2:]))
    add_influence()


def find_parties() -> None:
    """As for new keys: each joins the earliest founder with whom it shares an agent."""
    rows = op.get_bind().execute(
        sa.select(keys.c.id, keys.c.namespace_id, keys.c.agents)
        .where(keys.c.role == "agent")
        .order_by(keys.c.namespace_id, keys.c.id)
    )
    for _, found in groupby(rows.all(), key=lambda row: row.namespace_id):
        founders: dict[UUID, Sequence[str] | None] = {}
        for row in found:
            party = next((i for i, own in founders.items() if share(own, row.agents)), row.id)
            if party == row.id:
                founders[row.id] = row.agents
            op.execute(sa.update(keys).where(keys.c.id == row.id).values(party_id=party))


def share(ours: Sequence[str] | None, theirs: Sequence[str] | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return not set(ours).isdisjoint(theirs)


def admit_subjects(subjects: Sequence[str]) -> None:
    op.drop_constraint(op.f("ck_weight_event_subject"), "weight_event", type_="check")
    listed = ", ".join(f"'{subject}'" for subject in subjects)
    op.create_check_constraint(
        op.f("ck_weight_event_subject"), "weight_event", f"subject IN ({listed})"
    )


def add_influence() -> None:
    op.create_table(
        "influence",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("party_id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("state", postgresql.ARRAY(postgresql.DOUBLE_PRECISION()), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["memory_id"],
            ["memory.id"],
            name=op.f("fk_influence_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_influence_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("memory_id", "party_id", name=op.f("pk_influence")),
        postgresql_with={"fillfactor": "50"},
    )
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON influence TO {APP}")
    op.execute("ALTER TABLE influence ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE influence FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY namespace ON influence USING ({HERE}) WITH CHECK ({HERE})")


def downgrade() -> None:
    op.drop_table("influence")
    op.execute("ALTER TABLE weight_event NO FORCE ROW LEVEL SECURITY")
    op.execute("DELETE FROM weight_event WHERE subject = 'influence'")
    op.execute("ALTER TABLE weight_event FORCE ROW LEVEL SECURITY")
    admit_subjects(SUBJECTS)
    op.drop_column("weight_event", "party_id")
    op.drop_column("outcome", "party_id")
    op.drop_index("ix_memory_namespace_id_key_id", "memory")
    op.drop_index("ix_api_key_namespace_id_party_id", "api_key")
    op.drop_column("api_key", "party_id")
    op.drop_column("api_key", "verifies")
