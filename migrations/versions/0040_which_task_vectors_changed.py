"""Vectors of tasks feed the changes that copies follow: constraints are found near them"""

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

# As migration 0027 has it for the other tables; what a constraint rests on is its support.
EVENTS = {"insert": "NEW", "update": "NEW", "delete": "OLD"}


def upgrade() -> None:
    for event, side in EVENTS.items():
        op.execute(f"""
            CREATE TRIGGER row_change_{event} AFTER {event} ON task_embedding
            REFERENCING {side} TABLE AS touched
            FOR EACH STATEMENT EXECUTE FUNCTION feed_row_change('support')
        """)


def downgrade() -> None:
    for event in EVENTS:
        op.execute(f"DROP TRIGGER row_change_{event} ON task_embedding")
