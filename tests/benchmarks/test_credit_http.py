"""What of the world over HTTP can be tested without a server."""

import numpy as np
import pytest

from benchmarks.kernels.credit.over_http import first_tasks
from benchmarks.kernels.credit.play import play
from benchmarks.kernels.credit.plugged import Plugged
from benchmarks.kernels.credit.texts import CATEGORIES, SITUATIONS, lesson, task_text
from benchmarks.kernels.credit.world import PER_TOPIC, SCENARIOS, draw
from benchmarks.suites import SUITES, credit_http


def test_every_memory_has_words_of_its_own():
    assert len(set(SITUATIONS)) == len({lesson(m) for m in range(96)}) == 96
    assert len(CATEGORIES) == 4


def test_a_task_speaks_of_the_topic_of_its_memories():
    topic = 5

    [phrase] = {
        lesson(topic * PER_TOPIC + n).partition(":")[0].removeprefix("For ") for n in range(6)
    }

    assert phrase in task_text(12, topic)
    assert task_text(12, topic) != task_text(17, topic)


def test_the_beginning_of_a_world_goes_as_the_world_does():
    world = draw(SCENARIOS["mixed_bin"], 1000)
    short = first_tasks(world, world.similarity[:50])

    whole = play(world, Plugged("belief", world, slot_rate=0.0), head=True).served
    begun = play(short, Plugged("belief", short, slot_rate=0.0), head=True).served

    assert np.array_equal(begun, whole[:50])
    assert short.best == pytest.approx(world.best[:50])


@pytest.mark.parametrize(("apart", "status"), [(0.0, "met"), (2e-9, "missed"), (None, "not_run")])
def test_weights_over_http_are_held_to_the_functions(apart, status):
    rows = [{"operation": "captured_http", "value": 0.3, "unit": ""}]
    if apart is not None:
        rows.append({"operation": "largest_difference", "value": apart, "unit": ""})

    [target] = credit_http.targets(rows)

    assert target.status == status
    assert target.parts == {"captured_http": 0.3}


def test_the_suite_can_be_named():
    assert SUITES["credit_http"].settings["tasks"] >= 400
