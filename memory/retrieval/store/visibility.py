"""Which experiences an agent may see, as a condition of a search: now, or as the bank was then."""

_MAY_BE_SEEN = """m.namespace_id = %(ns)s AND m.kind = 'experience' AND m.erased_at IS NULL
      AND m.trust <> 'quarantined' AND m.owner = ANY(%(owners)s::text[])
      AND m.learned_at <= %(as_of)s"""


# An experience of a stranger is verified where a manager vouched for its source, or trials admitted
# it that its author did not run alone; or it is contrasted: agents parted on its task. What its
# writer says of it proves nothing. It reaches nobody who is stronger on its category.
_RESERVED = """AND (m.agent_id <> ALL(%(strangers)s::uuid[]) OR (
        (m.trust = 'trusted'
            OR m.id IN (SELECT t.memory_id FROM ticket t
                WHERE t.namespace_id = %(ns)s AND t.decision = 'admitted' AND NOT EXISTS (
                    SELECT FROM trial r WHERE r.ticket_id = t.id AND r.self_verified))
            OR m.task_id IN (SELECT c.task_id FROM contrast c
                WHERE c.namespace_id = %(ns)s AND c.pair_class = 'discordant' AND c.supports
                  AND c.known_at <= %(as_of)s))
        AND (m.agent_id, m.category_id) NOT IN (
            SELECT * FROM unnest(%(weak_agents)s::uuid[], %(weak_categories)s::uuid[]))))"""


def seen_now(*, reserved: bool) -> str:
    """The condition on `memory m`; `reserved`: something is held back from the agent."""
    return f"{_MAY_BE_SEEN} AND m.status IN ('active', 'probation') {_held_back(reserved=reserved)}"


def seen_then(*, reserved: bool, wanted: str = "") -> str:
    """The version that was current then; a memory retired since was living then."""
    return f"""
    SELECT m.id, max(v.version) AS version FROM memory m
    JOIN memory_version v ON v.memory_id = m.id AND v.known_at <= %(as_of)s
    WHERE {_MAY_BE_SEEN} AND m.status IN ('active', 'probation', 'retired', 'suspended')
      {_held_back(reserved=reserved)}{wanted}
    GROUP BY m.id
"""  # noqa: S608 - assembled from the constants above; every value is a parameter


def _held_back(*, reserved: bool) -> str:
    return _RESERVED if reserved else ""
