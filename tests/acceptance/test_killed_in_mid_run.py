"""A leader killed in the middle of a run leaves no trace of it; the survivor runs it whole."""

from collections.abc import Callable

import psycopg

from tests.acceptance.interrupted import HANGING, SETTINGS, held, one, states, taught
from tests.acceptance.servers import Home, Server

Begin = Callable[..., Server]
NAMESPACE = "killed"
RUNS = """
    SELECT count(*) FROM job_run r JOIN namespace n ON n.id = r.namespace_id
    WHERE r.job = 'decay' AND n.slug = 'killed' AND r.state = 'done'
"""
FADED = """
    SELECT count(*) FROM weight_event
    WHERE reason = 'decay' AND subject = 'memory' AND memory_id = %s
"""
# As at the beginning of a day on which the job has not run.
NEW_DAY = "DELETE FROM job_run WHERE job = 'decay'"


def test_decay_killed_in_mid_run_is_repeated_whole_by_the_survivor(
    above: object, home: Home, begin: Begin, url: str, superuser: str
) -> None:
    first = begin(home, MEMLIFT_DATABASE_URL=url).await_led()
    first.client().create_namespace(NAMESPACE, settings=SETTINGS)
    lesson = taught(first.client(NAMESPACE))
    second = begin(Home(home.data.with_name("second")), MEMLIFT_DATABASE_URL=url).await_ready()
    assert first.leads()

    with held(superuser, lesson):
        with psycopg.connect(superuser) as connection:
            connection.execute(NEW_DAY)
        before = (one(superuser, RUNS), one(superuser, FADED, lesson))
        first.kill()
        second.until(lambda: one(superuser, HANGING) == 1)
        third = begin(Home(home.data.with_name("third")), MEMLIFT_DATABASE_URL=url)
        second.kill()
        assert (one(superuser, RUNS), one(superuser, FADED, lesson)) == before
    third.await_ready().until(lambda: one(superuser, RUNS) == 1)

    third.until(third.leads)
    assert one(superuser, FADED, lesson) == before[1] + 1
    live, folded = states(url, NAMESPACE)
    assert live == folded
