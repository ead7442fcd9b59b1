"""What Prometheus reads of this process."""

from api_builders import a_shared, a_tiny_app, answer_to, asking

from memory.kernel.errors import NotFound
from server.metrics import Meters


async def test_requests_are_counted_by_route_and_never_by_what_the_path_names(tmp_path):
    shared = a_shared(tmp_path)

    async with asking(a_tiny_app(shared)) as client:
        await client.get("/things/secret-agent")
        await client.get("/nowhere/secret-agent")

    text = shared.meters.text().decode()
    assert 'memlift_requests_total{method="GET",route="/things/{name}",status="200"} 1.0' in text
    assert 'memlift_requests_total{method="GET",route="unmatched",status="404"} 1.0' in text
    assert "secret-agent" not in text


async def test_a_method_of_the_callers_invention_gets_no_label_of_its_own(tmp_path):
    shared = a_shared(tmp_path)

    async with asking(a_tiny_app(shared)) as client:
        await client.request("BREW", "/things/x")

    assert "BREW" not in shared.meters.text().decode()
    assert 'method="OTHER"' in shared.meters.text().decode()


async def test_problems_are_counted_by_code(tmp_path):
    shared = a_shared(tmp_path)

    await answer_to(a_tiny_app(shared, NotFound("gone")), '{"name": "x"}')
    await answer_to(a_tiny_app(shared, RuntimeError("bug")), '{"name": "x"}')

    text = shared.meters.text().decode()
    assert 'memlift_faults_total{code="not_found"} 1.0' in text
    assert 'memlift_faults_total{code="internal"} 1.0' in text


def test_coverage_is_the_share_of_receipts_an_outcome_came_for():
    meters = Meters()
    meters.watch(lambda: {"pool_size": 8.0})
    for _ in range(4):
        meters.retrievals.labels("on").inc()
    meters.outcomes.labels("accepted").inc()

    text = meters.text().decode()
    assert "memlift_feedback_coverage 0.25" in text
    assert "memlift_pool_size 8.0" in text


def test_stages_of_a_retrieval_are_timed_apart():
    meters = Meters()
    for seconds in (0.004, 0.03):
        meters.observe_stage("search", seconds)

    text = meters.text().decode()
    assert 'memlift_retrieval_stage_seconds_bucket{le="0.005",stage="search"} 1.0' in text
    assert 'memlift_retrieval_stage_seconds_count{stage="search"} 2.0' in text
