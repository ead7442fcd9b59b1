"""The built-in meta-guidelines retire: nothing is advised that was not learned or brought"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

# The rows are kept apart by namespace from the owner too, so each namespace is entered in turn.
NAMESPACES = "SELECT id FROM namespace ORDER BY id"
ENTER = "SELECT set_config('memlift.namespace', :ns, true)"

# Of each of them the status before is kept, for the way back. What rests or has gone stays so.
FOUND = """
    SELECT array_agg(id ORDER BY id) FROM memory
    WHERE namespace_id = :ns AND kind = 'meta_guideline' AND detail ->> 'origin' = 'default'
      AND status IN ('active', 'probation') AND erased_at IS NULL
"""
RETIRE = """
    UPDATE memory SET status = 'retired', status_reason = 'built_in', bank_version = :version,
        detail = detail || jsonb_build_object('retired_from', status)
    WHERE namespace_id = :ns AND id = ANY(CAST(:ids AS uuid[]))
"""

# What a person has written in the same words meanwhile keeps its place.
LOST = """
    SELECT array_agg(m.id ORDER BY m.id) FROM memory m
    WHERE m.namespace_id = :ns AND m.status = 'retired' AND m.status_reason = 'built_in'
      AND m.erased_at IS NULL AND m.detail ->> 'retired_from' = :status
      AND NOT EXISTS (
        SELECT 1 FROM memory o
        WHERE o.namespace_id = m.namespace_id AND o.owner = m.owner AND o.kind = m.kind
          AND o.category_id = m.category_id AND o.sha256 = m.sha256
          AND o.status NOT IN ('retired', 'rejected') AND o.erased_at IS NULL)
"""
BRING_BACK = """
    UPDATE memory SET status = detail ->> 'retired_from', status_reason = NULL,
        bank_version = :version, detail = detail - 'retired_from'
    WHERE namespace_id = :ns AND id = ANY(CAST(:ids AS uuid[]))
"""

STEP = """
    UPDATE namespace SET bank_version = bank_version + 1, n_memories = n_memories + :living
    WHERE id = :ns RETURNING bank_version
"""
TELL = """
    INSERT INTO change (namespace_id, bank_version, kind, subjects, recorded_at)
    VALUES (:ns, :version, :kind, to_jsonb(CAST(:ids AS uuid[])), now())
"""


def upgrade() -> None:
    for namespace_id in entered():
        ids = asked(FOUND, ns=namespace_id)
        move(namespace_id, ids, RETIRE, "retired")


def downgrade() -> None:
    for namespace_id in entered():
        for status in ("active", "probation"):
            ids = asked(LOST, ns=namespace_id, status=status)
            move(namespace_id, ids, BRING_BACK, status)


def entered():
    """Each namespace, while its rows can be seen; none afterwards."""
    connection = op.get_bind()
    for namespace_id in connection.execute(sa.text(NAMESPACES)).scalars().all():
        connection.execute(sa.text(ENTER), {"ns": str(namespace_id)})
        yield namespace_id
    connection.execute(sa.text(ENTER), {"ns": ""})


def asked(question: str, **values: object):
    return op.get_bind().execute(sa.text(question), values).scalar()


def move(namespace_id: object, ids: "list[object] | None", statement: str, status: str) -> None:
    """One step of the bank, which its feed of changes tells; none where nothing moves."""
    if not ids:
        return
    living = -len(ids) if status == "retired" else len(ids)
    version = asked(STEP, ns=namespace_id, living=living)
    values = {"ns": namespace_id, "ids": ids, "version": version}
    op.get_bind().execute(sa.text(statement), values)
    op.get_bind().execute(sa.text(TELL), values | {"kind": status})
