"""Langfuse, LangSmith and MLflow as far as scores are read from them: pages, filters, keys.

MLflow's answer was recorded of its own server (3.17); the others follow their published contracts,
and `test_scripted_services.py` reads them by the real client packages.
"""

import base64
import json
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid5

RECORDED = json.loads((Path(__file__).parent / "data" / "mlflow_traces.json").read_text())
MADE = "2026-11-28T12:00:00.000Z"
NOBODY = UUID(int=0)


class Services:
    """What the three hold; `calls` is what was asked, `busy` how often they turn callers away."""

    def __init__(self) -> None:
        self.langfuse: list[dict[str, Any]] = []
        self.langsmith: list[dict[str, Any]] = []
        self.mlflow: list[dict[str, Any]] = [*RECORDED["traces"]]
        self.calls: list[str] = []
        self.busy = 0
        self.url = ""

    def add_langfuse(self, score_id: str, value: object, trace: str | None, name: str) -> None:
        kinds = {bool: "BOOLEAN", str: "CATEGORICAL"}
        about = (
            {"kind": "session", "id": "s-1"} if trace is None else {"kind": "trace", "id": trace}
        )
        self.langfuse.append(
            {
                "id": score_id,
                "projectId": "p-1",
                "name": name,
                "value": value,
                "dataType": kinds.get(type(value), "NUMERIC"),
                "source": "EVAL",
                "timestamp": MADE,
                "environment": "default",
                "createdAt": MADE,
                "updatedAt": MADE,
                "subject": about,
            }
        )

    def add_langsmith(self, score: object, trace: str, key: str) -> None:
        self.langsmith.append(
            {
                "id": str(uuid5(NOBODY, f"{len(self.langsmith)}")),
                "created_at": MADE,
                "modified_at": MADE,
                "run_id": trace,
                "trace_id": trace,
                "key": key,
                "score": score,
                "value": None,
            }
        )

    def answer(self, path: str, query: dict[str, str], body: dict[str, Any]) -> object:
        if path == "/api/public/v3/scores":
            return self._langfuse(query)
        if path == "/feedback":
            rows = [row for row in self.langsmith if query.get("key") in (None, row["key"])]
            start = int(query.get("offset", 0))
            return rows[start : start + int(query["limit"])]
        if path == "/api/3.0/mlflow/traces/search":
            start = int(body.get("page_token", 0))
            more = {} if start + 1 == len(self.mlflow) else {"next_page_token": f"{start + 1}"}
            return {"traces": self.mlflow[start : start + 1], **more}
        return None

    def _langfuse(self, query: dict[str, str]) -> object:
        rows = [row for row in self.langfuse if query.get("name") in (None, row["name"])]
        start, size = int(query.get("cursor", 0)), 2
        page = rows[start : start + size]
        if "subject" not in query.get("fields", ""):
            page = [{name: row[name] for name in row if name != "subject"} for row in page]
        meta = {"limit": size} | (
            {} if start + size >= len(rows) else {"cursor": f"{start + size}"}
        )
        return {"data": page, "meta": meta}


KEYS = {
    "/api/public/v3/scores": (
        "authorization",
        f"Basic {base64.b64encode(b'pk-1:sk-1').decode()}",
    ),
    "/feedback": ("x-api-key", "ls-1"),
    "/api/3.0/mlflow/traces/search": ("authorization", "Bearer mf-1"),
}
VARIABLES = {
    "LANGFUSE_PUBLIC_KEY": "pk-1",
    "LANGFUSE_SECRET_KEY": "sk-1",
    "LANGSMITH_API_KEY": "ls-1",
    "MLFLOW_TRACKING_TOKEN": "mf-1",
}


@contextmanager
def serving() -> Generator[Services]:
    """The three behind one address."""
    services = Services()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def _answer(self, body: dict[str, Any]) -> None:
            parts = urlsplit(self.path)
            services.calls.append(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            header, key = KEYS.get(parts.path, ("", ""))
            if self.headers.get(header) != key:
                self._send(401, {"message": "no such key"})
            elif services.busy:
                services.busy -= 1
                self._send(429, {"message": "later"})
            else:
                self._send(200, services.answer(parts.path, query, body))

        def _send(self, status: int, document: object) -> None:
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            if status == 429:
                self.send_header("retry-after", "0")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing: a test's output is its own."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        services.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield services
        finally:
            server.shutdown()
            thread.join()
