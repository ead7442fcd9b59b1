"""Over HTTP: a dry run says what would go, the run removes it, and what was learned stays."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx
import pytest
from memlift_client import MemLiftProblem

from tests.acceptance.servers import Server

BEGAN = datetime(2024, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
SETTINGS = {"control_rate": 0.0, "coins": False, "slot_rate": 0.0, "meta_guidelines": False}
TASK = "Will it rain in a dry month?"


def test_old_runs_go_and_what_they_taught_stays(shared_server: Server) -> None:
    slug = f"kept-{uuid4().hex[:8]}"
    shared_server.client().create_namespace(
        slug, clock="replay", settings=SETTINGS | {"retention_days": 60}
    )
    memory = shared_server.client(slug)
    lesson = "In a dry month start from how often it rains in that month"
    kept = memory.remember(situation=TASK, lesson=lesson, learned_at=BEGAN)
    runs = []
    for number in range(6):
        at = BEGAN + (1 + 20 * number) * DAY
        runs.append(memory.retrieve(TASK, as_of=at, expires_in=3600.0))
        memory.report(str(runs[-1].retrieval_id), reward=0.9, known_at=at)
    memory.apply_outcomes()
    before, now = memory.get_weight(str(kept.id)), BEGAN + 110 * DAY

    seen = memory.run_job("retention", dry_run=True, now=now)
    assert seen.result is not None
    assert (seen.result["receipts"], seen.result["outcomes"]) == (3, 3)
    assert (seen.result["rows_removed"], seen.result["complete"]) == (0, False)
    assert seen.result["bytes_to_free"] > 0
    memory.get_retrieval(str(runs[0].retrieval_id))
    done = memory.run_job("retention", now=now)

    assert done.result is not None
    assert (done.result["receipts"], done.result["outcomes"]) == (3, 3)
    assert done.result["rows_removed"] == seen.result["rows_to_remove"]
    assert done.result["complete"]
    assert memory.list_job_runs(limit=1).items[0].result == done.result
    with pytest.raises(MemLiftProblem) as gone:
        memory.get_retrieval(str(runs[0].retrieval_id))
    assert (gone.value.status, gone.value.code) == (404, "retrieval_not_found")
    memory.get_retrieval(str(runs[-1].retrieval_id))
    assert memory.get_weight(str(kept.id)) == before
    rebuilt = memory.run_job("rebuild", now=now)
    assert rebuilt.result is not None
    assert rebuilt.result["exact"]
    with pytest.raises(MemLiftProblem) as early:
        memory.retrieve(TASK, as_of=BEGAN + 2 * DAY)
    assert (early.value.status, early.value.code) == (422, "no_longer_kept")
    key = shared_server.home.operator_key.read_text().strip()
    headers = {"authorization": f"Bearer {key}"}
    said = httpx.get(f"{shared_server.url}/metrics", headers=headers).text
    assert 'memlift_retention_rows_total{table="retrieval"}' in said
