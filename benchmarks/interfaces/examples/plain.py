"""Plain HTTP, which the others are compared with: ask, act, report, each safe to be sent again."""

import os
from uuid import uuid4

import httpx

from benchmarks.interfaces.agent import TASKS, act, cited, judge

server = httpx.Client(
    base_url=f"{os.environ['MEMLIFT_URL']}/v1/namespaces/{os.environ['MEMLIFT_NAMESPACE']}",
    headers={"authorization": f"Bearer {os.environ['MEMLIFT_KEY']}"},
    timeout=60,
)
for task in TASKS:
    body = {"agent": "bot", "task": {"text": task}}
    once = {"idempotency-key": str(uuid4())}
    asked = server.post("/retrievals", json=body, headers=once)
    served = asked.raise_for_status().json()
    guideline = served["guideline"]
    answer = act(task, guideline["text"] or "")
    used = [guideline["citations"][one] for one in cited(answer)]
    told = {"reward": judge(answer), "used": used}
    where = f"/retrievals/{served['retrieval_id']}/outcome"
    once = {"idempotency-key": str(uuid4())}
    server.post(where, json=told, headers=once).raise_for_status()
