"""A scripted server behind httpx's transports: answers in order, remembers what it was asked."""

import json
from collections.abc import Sequence

import httpx
from memlift_client import Remembered, RetryPolicy

from tests.fixtures.answers import a_document

Answer = httpx.Response | Exception
QUICK = RetryPolicy(first_delay=0.0, longest_wait=0.0)

REMEMBERED = a_document(Remembered, id="m-1", version=1, bank_version=4, memory_status="active")


def an_answer(status: int = 200, body: object = None, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=body if body is not None else {}, headers=named)


def a_problem(status: int, code: str, **members: object) -> httpx.Response:
    document = {"title": "T", "status": status, "code": code, "detail": "D", **members}
    return httpx.Response(status, json=document)


def a_page(rows: Sequence[object], total: int, cursor: str | None) -> httpx.Response:
    return an_answer(200, {"items": list(rows), "total": total, "next_cursor": cursor})


class Script:
    """Gives its answers one after another; the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self)

    def bodies(self) -> list[object]:
        return [json.loads(request.content) for request in self.requests]

    def heads(self, name: str) -> list[str | None]:
        return [request.headers.get(name) for request in self.requests]
