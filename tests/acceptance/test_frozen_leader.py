"""A leader that is stopped in the middle of its work keeps its connections: it is replaced all the
same, and what it does when it wakes has no effect.
"""

import signal
from collections.abc import Callable
from uuid import UUID

from tests.acceptance.interrupted import HANGING, SETTINGS, TASK, held, one, states, taught
from tests.acceptance.servers import Home, Server

Begin = Callable[..., Server]
NAMESPACE = "frozen"
LEARNED = "SELECT count(*) FROM weight_event WHERE outcome_id = %s AND subject = 'memory'"
TERM = "SELECT epoch FROM lease WHERE name = 'leader'"


def test_a_leader_frozen_in_mid_transaction_is_replaced_and_finds_its_term_over(
    home: Home, begin: Begin, url: str, superuser: str
) -> None:
    first = begin(home, MEMLIFT_DATABASE_URL=url).await_led()
    first.client().create_namespace(NAMESPACE, settings=SETTINGS)
    lesson = taught(first.client(NAMESPACE))
    key = home.operator_key.read_text().strip()
    second = begin(Home(home.data.with_name("second")), MEMLIFT_DATABASE_URL=url).await_ready()
    other = second.client(NAMESPACE, key=key)
    assert first.leads()
    before = one(superuser, TERM)

    with held(superuser, lesson):
        asked = other.retrieve(agent="solver", task=TASK, purpose="paired")
        reported = other.report(asked.receipt, reward=0.8, without={"reward": 0.3})
        first.until(lambda: one(superuser, HANGING) == 1)
        first.process.send_signal(signal.SIGSTOP)
    try:
        second.until(second.leads)
        second.until(lambda: other.get_outcome(reported.outcome_id).status == "applied")
        later = other.retrieve(agent="solver", task=TASK, purpose="paired")
        again = other.report(later.receipt, reward=0.7, without={"reward": 0.2})
        second.until(lambda: other.get_outcome(again.outcome_id).status == "applied")
    finally:
        first.process.send_signal(signal.SIGCONT)
    first.until(lambda: first.leader() == second.leader())

    assert second.leads()
    assert one(superuser, TERM) == before + 1
    for outcome in (reported, again):
        assert one(superuser, LEARNED, UUID(outcome.outcome_id)) == 1
    live, folded = states(url, NAMESPACE)
    assert live == folded
