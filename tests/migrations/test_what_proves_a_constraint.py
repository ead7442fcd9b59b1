"""Constraints that were in use before are held against today's rule when the schema comes up."""

from collections.abc import Sequence
from uuid import UUID, uuid4

import psycopg
import pytest
from migration_builders import Fresh, go_back, migrate, scripts

REVIEW = "0017"
NAMESPACE = """
    INSERT INTO namespace (id, slug, clock, learning, policy, n_memories, created_at)
    VALUES (%(ns)s, %(slug)s, 'wall', 'on', 'belief', 1, now())
"""
PLACE = """
    INSERT INTO category (id, namespace_id, name, created_at)
    VALUES (%(ns)s, %(ns)s, 'general', now())
"""
AGENT = """
    INSERT INTO agent (id, namespace_id, name, created_at) VALUES (%(id)s, %(ns)s, %(name)s, now())
"""
KEY = """
    INSERT INTO api_key (id, namespace_id, role, agents, verifies, party_id, name, sha256,
        created_at)
    VALUES (%(id)s, %(ns)s, 'agent', ARRAY[%(name)s], %(verifies)s, %(id)s, 'k', %(digest)s, now())
"""
MEMORY = """
    INSERT INTO memory (id, namespace_id, kind, status, trust, visibility, owner, agent_id,
        category_id, source_group, detail, version, sha256, start_weight, learned_at, recorded_at,
        bank_version)
    VALUES (%(id)s, %(ns)s, 'constraint', 'active', 'unverified', 'namespace', '*', %(agent)s,
        %(ns)s, 'c', '{}', 1, 'x', 1, now(), now(), 0)
"""
TASK = """
    INSERT INTO task (id, namespace_id, text, sha256, category_id, known_at, recorded_at)
    VALUES (%(id)s, %(ns)s, 't', 'x', %(ns)s, now(), now())
"""
RUN = """
    INSERT INTO trajectory (id, namespace_id, task_id, agent_id, steps, reward, verifier, known_at,
        recorded_at, key_id)
    VALUES (%(id)s, %(ns)s, %(task)s, %(agent)s, '[]', 1, %(verifier)s, now(), now(), %(agent)s)
"""
CONTRAST = """
    INSERT INTO contrast (id, namespace_id, task_id, preferred_id, unpreferred_id, pair_class,
        self_contrast, supports, state, known_at, recorded_at)
    VALUES (%(id)s, %(ns)s, %(task)s, %(better)s, %(worse)s, 'discordant', false, true,
        'distilled', now(), now())
"""
SUPPORT = """
    INSERT INTO constraint_support (id, namespace_id, memory_id, contrast_id, task_id, verifier,
        counts, known_at, recorded_at)
    VALUES (gen_random_uuid(), %(ns)s, %(memory)s, %(contrast)s, %(task)s, %(verifier)s, true,
        now(), now())
"""
STANDING = """
    SELECT m.status, coalesce(m.status_reason, ''),
        (SELECT count(*) FROM constraint_support s WHERE s.memory_id = m.id AND s.counts),
        (SELECT count(*) FROM contrast c WHERE c.supports),
        (SELECT jsonb_array_length(subjects) FROM change WHERE kind = 'proposed')
    FROM memory m
"""


class Bank:
    """A namespace as an earlier release left it, with one constraint in use."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._ns, self._memory = uuid4(), uuid4()
        self._agents: dict[str, UUID] = {}
        connection.execute("SELECT set_config('memlift.namespace', %s, false)", [str(self._ns)])
        self._do(NAMESPACE, slug=f"n{self._ns.hex[:8]}")
        self._do(PLACE)
        self._do(MEMORY, id=self._memory, agent=self._agent("author"))

    def _do(self, statement: str, **values: object) -> None:
        self._connection.execute(statement.encode(), {"ns": self._ns, **values})

    def _agent(self, name: str, verifies: str = "test") -> UUID:
        if name not in self._agents:
            made = self._agents[name] = uuid4()
            self._do(AGENT, id=made, name=name)
            self._do(KEY, id=made, name=name, verifies=verifies, digest=made.bytes)
        return self._agents[name]

    def contrast(self, names: tuple[str, str], task: UUID, *, verifier: str, verifies: str) -> None:
        runs = [uuid4(), uuid4()]
        for run, name in zip(runs, names, strict=True):
            agent = self._agent(name, verifies)
            self._do(RUN, id=run, task=task, agent=agent, verifier=verifier)
        made = uuid4()
        self._do(CONTRAST, id=made, task=task, better=runs[0], worse=runs[1])
        self._do(SUPPORT, memory=self._memory, contrast=made, task=task, verifier=verifier)

    def task(self) -> UUID:
        made = uuid4()
        self._do(TASK, id=made)
        return made

    def vouch(self) -> None:
        self._do(SUPPORT, memory=self._memory, contrast=None, task=self.task(), verifier="human")

    def standing(self) -> tuple[object, ...]:
        [found] = self._connection.execute(STANDING.encode()).fetchall()
        return found


AB, CD = ("a", "b"), ("c", "d")


@pytest.mark.parametrize(
    ("pairs", "verifier", "verifies", "expected"),
    [
        ([AB, CD], "test", "test", ("active", "", 2, 2, None)),
        ([AB, AB], "test", "test", ("proposed", "one_word", 2, 2, 1)),
        ([AB], "test", "test", ("proposed", "one_task", 1, 1, 1)),
        ([AB, CD], "judge", "test", ("proposed", "no_support", 0, 0, 1)),
        # Whatever an agent's own key said, it counts for as much as the key may claim.
        ([AB, CD], "human", "self", ("proposed", "no_support", 0, 0, 1)),
    ],
    ids=["proven", "one word", "one task", "a judge", "more than its key may claim"],
)
def test_what_is_not_proven_waits_after_the_upgrade(
    *,
    fresh_database: Fresh,
    pairs: Sequence[tuple[str, str]],
    verifier: str,
    verifies: str,
    expected: tuple[object, ...],
) -> None:
    url = fresh_database()
    migrate(url, earlier())
    with psycopg.connect(url, autocommit=True) as connection:
        bank = Bank(connection)
        for names in pairs:
            bank.contrast(names, bank.task(), verifier=verifier, verifies=verifies)

        migrate(url, REVIEW)

        assert bank.standing() == expected


def test_a_managers_word_keeps_it_in_use_after_the_upgrade(fresh_database: Fresh) -> None:
    url = fresh_database()
    migrate(url, earlier())
    with psycopg.connect(url, autocommit=True) as connection:
        bank = Bank(connection)
        bank.vouch()

        migrate(url, REVIEW)

        assert bank.standing() == ("active", "", 1, 0, None)
    go_back(url, earlier())


def earlier() -> str:
    found = scripts().get_revision(REVIEW).down_revision
    assert isinstance(found, str)
    return found
