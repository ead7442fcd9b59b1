"""Row-level security repeats the namespace boundary in the database, and the application's role gets its grants"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = (
    "agent",
    "category",
    "centroid",
    "task",
    "trajectory",
    "memory",
    "memory_version",
    "embedding",
    "memory_weight",
    "weight_deviation",
    "cell",
    "noise",
    "ranker_record",
    "weight_event",
    "retrieval",
    "retrieval_item",
    "outcome",
    "change",
)
SHARED = ("namespace", "api_key", "idempotency", "embedding_model", "lease", "job_run")
# The ledger and the audit trail grow; what they say is not taken back.
APPEND_ONLY = ("weight_event", "audit")
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"


def upgrade() -> None:
    op.execute(f"GRANT USAGE ON SCHEMA public TO {APP}")
    for table in ISOLATED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY namespace ON {table} USING ({HERE}) WITH CHECK ({HERE})")
    for table in (*ISOLATED, *SHARED):
        if table not in APPEND_ONLY:
            op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {APP}")
    op.execute(f"GRANT SELECT, INSERT ON audit TO {APP}")
    op.execute(f"GRANT SELECT, INSERT, UPDATE (superseded_by) ON weight_event TO {APP}")


def downgrade() -> None:
    for table in ISOLATED:
        op.execute(f"DROP POLICY namespace ON {table}")
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    for table in (*ISOLATED, *SHARED, "audit"):
        op.execute(f"REVOKE ALL ON {table} FROM {APP}")
    op.execute(f"REVOKE USAGE ON SCHEMA public FROM {APP}")
