"""What is kept of each ranker goes by its name: one more or one less breaks no record"""

from collections.abc import Callable

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# The rankers of the first release, in the order that its arrays had.
RANKERS = tuple(
    f"{mode}/{half_life}"
    for mode in ("flat", "weighted")
    for half_life in ("none", "180d", "60d", "30d", "15d")
)
N = len(RANKERS)
# Before the numbers of the rankers: dates, feedback dates, the open day, its outcomes.
BASE = 4
NUMBERS = postgresql.ARRAY(postgresql.DOUBLE_PRECISION())
REARRANGED = ("ranker_record", "weight_event", "outcome")

NAMES = (
    "unnest(ARRAY[" + ", ".join(f"'{name}'" for name in RANKERS) + "]) WITH ORDINALITY r(name, i)"
)


def json(name: str) -> sa.Column[object]:
    return sa.Column(name, postgresql.JSONB(), nullable=True)


def upgrade() -> None:
    op.add_column("ranker_record", json("by_ranker"))
    op.add_column("weight_event", json("by_ranker_before"))
    op.add_column("weight_event", json("by_ranker_after"))
    op.add_column("outcome", json("rewards_by_name"))
    with_every_row_in_sight(name_all)
    op.alter_column("ranker_record", "by_ranker", nullable=False)
    op.drop_column("outcome", "ranker_rewards")
    op.alter_column("outcome", "rewards_by_name", new_column_name="ranker_rewards")


def name_all() -> None:
    op.execute(f"UPDATE ranker_record SET by_ranker = {named('state')}, state = {base('state')}")
    for side in ("before", "after"):
        state = f"state_{side}"
        op.execute(
            f"UPDATE weight_event SET by_ranker_{side} = {named(state)}, {state} = {base(state)} "
            f"WHERE subject = 'record' AND cardinality({state}) > 0"
        )
    rewards = f"SELECT jsonb_object_agg(name, ranker_rewards[i]) FROM {NAMES}"
    op.execute(f"UPDATE outcome SET rewards_by_name = ({rewards}) WHERE ranker_rewards IS NOT NULL")


def downgrade() -> None:
    op.add_column("outcome", sa.Column("rewards_in_order", NUMBERS, nullable=True))
    with_every_row_in_sight(order_all)
    op.drop_column("outcome", "ranker_rewards")
    op.alter_column("outcome", "rewards_in_order", new_column_name="ranker_rewards")
    op.drop_column("weight_event", "by_ranker_after")
    op.drop_column("weight_event", "by_ranker_before")
    op.drop_column("ranker_record", "by_ranker")


def order_all() -> None:
    """A ranker that the first release did not have is left out; one that is missing stands where the
    others stand on average.
    """
    op.execute(f"UPDATE ranker_record SET state = state || {ordered('by_ranker')}")
    for side in ("before", "after"):
        state, by_ranker = f"state_{side}", f"by_ranker_{side}"
        op.execute(
            f"UPDATE weight_event SET {state} = {state} || {ordered(by_ranker)} "
            f"WHERE {by_ranker} IS NOT NULL"
        )
    mean = "(SELECT avg(value::float8) FROM jsonb_each_text(ranker_rewards))"
    reward = f"coalesce((ranker_rewards ->> name)::float8, {mean})"
    rewards = f"SELECT array_agg({reward} ORDER BY i) FROM {NAMES}"
    op.execute(
        f"UPDATE outcome SET rewards_in_order = ({rewards}) WHERE ranker_rewards IS NOT NULL"
    )


def named(state: str) -> str:
    """By name: what a ranker lost on closed days, and its sum of the open one."""
    pair = f"jsonb_build_array({state}[{BASE} + i], {state}[{BASE + N} + i])"
    return f"(SELECT jsonb_object_agg(name, {pair}) FROM {NAMES})"


def base(state: str) -> str:
    return f"{state}[1:{BASE}]"


def ordered(by_ranker: str) -> str:
    """The two numbers of each ranker, first those of closed days."""
    return f"{of_each(by_ranker, 0)} || {of_each(by_ranker, 1)}"


def of_each(by_ranker: str, part: int) -> str:
    mean = f"(SELECT avg((value ->> {part})::float8) FROM jsonb_each({by_ranker}))"
    number = f"coalesce(({by_ranker} -> name ->> {part})::float8, {mean})"
    return f"(SELECT array_agg({number} ORDER BY i) FROM {NAMES})"


def with_every_row_in_sight(work: Callable[[], None]) -> None:
    """Rows of all namespaces at once: for a while the owner is not kept from them."""
    # Every digit that tells one number from the next.
    op.execute("SET LOCAL extra_float_digits = 1")
    for table in REARRANGED:
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    work()
    for table in REARRANGED:
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
