"""Runs can be withdrawn; what constraints in use rest on is held against today's rule"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# The rows are kept apart by namespace from the owner too, so each namespace is entered in turn.
NAMESPACES = "SELECT id FROM namespace ORDER BY id"
ENTER = "SELECT set_config('memlift.namespace', :ns, true)"
STEP = "UPDATE namespace SET bank_version = bank_version + 1 WHERE id = :ns RETURNING bank_version"
TELL = """
    INSERT INTO change (namespace_id, bank_version, kind, subjects, recorded_at)
    VALUES (:ns, :version, 'proposed', to_jsonb(CAST(:ids AS uuid[])), now())
"""

RANKS = ("none", "self", "judge", "test", "human")
TEST = RANKS.index("test")
JUDGES = ("evaluator", "admin", "operator")
TASKS = 2

SIDES = """
    SELECT c.id, a.name AS agent, t.verifier, key.id AS key_id, key.role, key.agents, key.party_id,
        key.verifies
    FROM contrast c
    CROSS JOIN LATERAL (VALUES (0, c.preferred_id), (1, c.unpreferred_id)) AS side (place, run_id)
    JOIN trajectory t ON t.id = side.run_id JOIN agent a ON a.id = t.agent_id
    LEFT JOIN api_key key ON key.id = t.key_id
    WHERE c.namespace_id = :ns AND c.supports ORDER BY c.id, side.place
"""
SUPPORT = """
    SELECT s.memory_id, s.contrast_id, coalesce('group:' || k.group_key, CAST(k.id AS text)) AS task
    FROM constraint_support s JOIN task k ON k.id = s.task_id
    JOIN memory m ON m.id = s.memory_id
    WHERE s.namespace_id = :ns AND s.counts AND m.kind = 'constraint' AND m.owner = '*'
      AND m.status IN ('active', 'probation')
"""
SERVED = """
    SELECT id FROM memory WHERE namespace_id = :ns AND kind = 'constraint' AND owner = '*'
      AND status IN ('active', 'probation')
"""
DROP = """
    UPDATE contrast SET supports = false, reason = coalesce(reason, :reason) WHERE id = :id
"""
COUNT_NO_MORE = "UPDATE constraint_support SET counts = false WHERE contrast_id = :id"
WAIT = """
    UPDATE memory SET status = 'proposed', status_reason = :reason, bank_version = :version
    WHERE id = :id
"""


class Side(NamedTuple):
    """A run of a contrast and the key that brought it."""

    agent: str
    verifier: str
    key_id: UUID | None
    role: str | None
    agents: Sequence[str] | None
    party_id: UUID | None
    verifies: str | None

    @property
    def rank(self) -> int:
        """A verdict is worth what its key may claim."""
        if self.verifies is None:
            return 0
        return min(RANKS.index(self.verifier), RANKS.index(self.verifies))

    @property
    def judged(self) -> bool:
        return self.role in JUDGES


Pair = tuple[Side, Side]


def upgrade() -> None:
    op.add_column("trajectory", sa.Column("withdrawn_at", sa.DateTime(timezone=True)))
    connection = op.get_bind()
    for namespace_id in connection.execute(sa.text(NAMESPACES)).scalars().all():
        connection.execute(sa.text(ENTER), {"ns": str(namespace_id)})
        review(namespace_id)
    connection.execute(sa.text(ENTER), {"ns": ""})


def review(namespace_id: UUID) -> None:
    """As admission decides from now on: which contrasts count, and which constraints wait."""
    connection, here = op.get_bind(), {"ns": namespace_id}
    pairs = read_pairs(namespace_id)
    for contrast_id, pair in pairs.items():
        reason = reason_against(*pair)
        if reason is not None:
            connection.execute(sa.text(DROP), {"id": contrast_id, "reason": reason})
            connection.execute(sa.text(COUNT_NO_MORE), {"id": contrast_id})
    words: set[UUID] = set()
    pieces: dict[UUID, list[tuple[str, Pair]]] = defaultdict(list)
    for row in connection.execute(sa.text(SUPPORT), here).all():
        if row.contrast_id is None:
            words.add(row.memory_id)
        elif row.contrast_id in pairs:
            pieces[row.memory_id].append((row.task, pairs[row.contrast_id]))
    found = connection.execute(sa.text(SERVED), here).scalars().all()
    reasons = {one: reason_to_wait(pieces[one]) for one in found if one not in words}
    wait(namespace_id, {one: reason for one, reason in reasons.items() if reason is not None})


def wait(namespace_id: UUID, reasons: Mapping[UUID, str]) -> None:
    """One step of the bank, which its feed of changes tells; none where nothing waits."""
    if not reasons:
        return
    connection = op.get_bind()
    version = connection.execute(sa.text(STEP), {"ns": namespace_id}).scalar()
    for memory_id, reason in reasons.items():
        values = {"id": memory_id, "reason": reason, "version": version}
        connection.execute(sa.text(WAIT), values)
    values = {"ns": namespace_id, "version": version, "ids": sorted(reasons)}
    connection.execute(sa.text(TELL), values)


def read_pairs(namespace_id: UUID) -> Mapping[UUID, Pair]:
    """What is said of both runs of each contrast that counted."""
    sides: dict[UUID, list[Side]] = defaultdict(list)
    for contrast_id, *rest in op.get_bind().execute(sa.text(SIDES), {"ns": namespace_id}):
        sides[contrast_id].append(Side(*rest))
    return {contrast_id: (found[0], found[1]) for contrast_id, found in sides.items()}


def reason_against(one: Side, other: Side) -> str | None:
    lowest = min(one.rank, other.rank)
    if lowest < TEST:
        return "below_test" if lowest > RANKS.index("self") else "self_verified"
    if one.judged and other.judged:
        return None
    if one.key_id == other.key_id:
        return "same_key"
    apart = one.judged or other.judged or not one_party(one, other)
    return None if apart else "same_party"


def one_party(one: Side, other: Side) -> bool:
    if one.judged or other.judged:
        return one.agent == other.agent or any(
            judge.judged and judge.agent in (run.agents or ())
            for judge, run in ((one, other), (other, one))
        )
    return one.party_id == other.party_id or share(one.agents, other.agents)


def share(ours: Sequence[str] | None, theirs: Sequence[str] | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return not set(ours).isdisjoint(theirs)


def reason_to_wait(pieces: Sequence[tuple[str, Pair]]) -> str | None:
    pieces = [(task, pair) for task, pair in pieces if reason_against(*pair) is None]
    if not pieces:
        return "no_support"
    if len({task for task, _ in pieces}) < TASKS:
        return "one_task"
    better, worse = zip(*(pair for _, pair in pieces), strict=True)
    if not of_two_parties([*better, *worse]):
        return "one_party"
    vouched_for = [
        any(one.judged for one in half) or of_two_parties(half) for half in (better, worse)
    ]
    return None if all(vouched_for) else "one_word"


def of_two_parties(sides: Sequence[Side]) -> bool:
    return any(not one_party(*two) for two in combinations(sides, 2))


def downgrade() -> None:
    op.drop_column("trajectory", "withdrawn_at")
