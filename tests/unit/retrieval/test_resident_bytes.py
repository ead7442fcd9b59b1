"""What a copy of a namespace takes: states of agents and parties count, and go with it."""

from datetime import UTC, datetime

import numpy as np

from memory.kernel.ids import new_id
from memory.retrieval.resident.rows import STATE_BYTES, LoadedRow, ResidentRows, StoredState
from tests.fixtures.found_rows import a_found_row

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)


def a_loaded_row() -> LoadedRow:
    found = a_found_row(new_id(), new_id(), NOON)
    return LoadedRow("*", found, {"situation": np.ones(4, dtype=np.float16)})


def a_state(memory_id, holder_id):
    return StoredState(memory_id, holder_id, (0.1, 0.2), NOON)


def test_states_of_agents_and_parties_count_and_go_with_their_memory():
    rows, loaded = ResidentRows({"situation"}), a_loaded_row()
    rows.put(loaded)
    bare, memory_id = rows.bytes, loaded.row.id
    agents = [new_id() for _ in range(5)]
    deviations = [a_state(memory_id, one) for one in agents]

    rows.feel([memory_id], deviations, [a_state(memory_id, agents[0])])
    felt = rows.bytes
    rows.feel([memory_id], deviations[:2], [])
    fewer = rows.bytes
    rows.drop([memory_id])
    rows.feel([memory_id], deviations, [])

    assert felt - bare == 6 * STATE_BYTES
    assert fewer - bare == 2 * STATE_BYTES
    assert rows.bytes < bare
    assert rows._states == 0
