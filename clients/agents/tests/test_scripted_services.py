"""The scripted services answer what the vendors' own packages read."""

import subprocess
import sys

import pytest
from scripted_services import VARIABLES, serving

HEX = "4bf92f3577b34da6a3ce929d0e0e4736"
DASHED = "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"

LANGFUSE = """
import sys
from langfuse.api.client import LangfuseAPI
api = LangfuseAPI(base_url=sys.argv[1], username="pk-1", password="sk-1")
cursor = None
while True:
    page = api.scores.get_many(name="correctness", fields="subject", cursor=cursor)
    for score in page.data:
        print(score.id, score.value, score.subject.kind, score.subject.id)
    cursor = page.meta.cursor
    if not cursor:
        break
"""
LANGSMITH = """
import sys
from langsmith import Client
client = Client(api_url=sys.argv[1], api_key="ls-1")
for one in client.list_feedback(feedback_key=["correctness"]):
    print(one.score, one.trace_id)
"""
MLFLOW = """
import sys
import mlflow
mlflow.set_tracking_uri(sys.argv[1])
for trace in mlflow.search_traces(locations=["1"], include_spans=False, return_type="list"):
    for one in trace.info.assessments:
        print(one.name, one.value, one.valid)
"""


def read_by(script, services):
    words = [sys.executable, "-c", script, services.url]
    variables = VARIABLES | {"LANGSMITH_TRACING": "false", "HOME": "/nonexistent"}
    done = subprocess.run(words, capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def services():
    with serving() as opened:
        yield opened


def test_langfuse_reads_the_scripted_scores(services):
    # Its OpenTelemetry is newer than the Google ADK allows: it needs an environment of its own.
    pytest.importorskip("langfuse")
    services.add_langfuse("s-1", 0.5, HEX, "correctness")
    services.add_langfuse("s-2", value=True, trace=HEX, name="correctness")
    services.add_langfuse("s-3", "yes", None, "correctness")

    assert read_by(LANGFUSE, services) == [
        f"s-1 0.5 trace {HEX}",
        f"s-2 True trace {HEX}",
        "s-3 yes session s-1",
    ]


def test_langsmith_reads_the_scripted_feedback(services):
    services.add_langsmith(0.5, DASHED, "correctness")
    services.add_langsmith(0.1, DASHED, "tone")

    assert read_by(LANGSMITH, services) == [f"0.5 {DASHED}"]


def test_mlflow_reads_the_recorded_assessments(services):
    lines = read_by(MLFLOW, services)

    assert "correctness 0.75 True" in lines
    assert "correctness 0.2 False" in lines
