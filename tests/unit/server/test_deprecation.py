"""What is on its way out says so in every answer and in the contract, and nothing else does."""

from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime

import httpx
from fastapi import FastAPI
from fastapi.responses import JSONResponse

from server.app import create_app
from server.contract import describe
from server.deprecation import DEPRECATED, Deprecation, Deprecations

OLD = Deprecation(
    date(2026, 12, 1), date(2027, 12, 1), "Use new_way.", "https://example.com/versions"
)


def small_app() -> FastAPI:
    """One operation that goes, and one that stays."""
    app = FastAPI()

    @app.get("/v1/old/{n}", name="old_way")
    def old_way(n: int) -> dict[str, int]:
        """The old way."""
        return {"n": n}

    @app.get("/v1/new", name="new_way")
    def new_way() -> JSONResponse:
        return JSONResponse({}, headers={"Link": '</next>; rel="next"'})

    app.add_middleware(Deprecations, operations={"old_way": OLD})
    return app


async def test_answers_and_refusals_of_a_deprecated_operation_say_since_and_until_when() -> None:
    transport = httpx.ASGITransport(small_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answers = [await client.get("/v1/old/1"), await client.get("/v1/old/x")]
        others = [await client.get("/v1/new"), await client.get("/v1/nowhere")]

    assert [one.status_code for one in answers] == [200, 422]
    for answer in answers:
        seconds = int(answer.headers["deprecation"].removeprefix("@"))
        assert datetime.fromtimestamp(seconds, UTC).date() == OLD.since
        assert parsedate_to_datetime(answer.headers["sunset"]).date() == OLD.sunset
        assert 'rel="deprecation"' in answer.headers["link"]
        assert OLD.documentation in answer.headers["link"]
    for answer in others:
        assert "deprecation" not in answer.headers
        assert "sunset" not in answer.headers


def test_the_contract_marks_what_goes_and_only_that(monkeypatch) -> None:
    monkeypatch.setattr("server.contract.DEPRECATED", {"get_weight": OLD})
    app = create_app(jobs=None)
    app.openapi_schema = None
    describe(app)
    operations = {
        operation["operationId"]: operation
        for methods in app.openapi()["paths"].values()
        for operation in methods.values()
    }

    marked = operations["get_weight"]
    assert marked["deprecated"] is True
    assert "gone from 2027-12-01 on. Use new_way." in marked["description"]
    assert [name for name, one in operations.items() if one.get("deprecated")] == ["get_weight"]


def test_each_deprecation_leaves_a_year_and_names_an_operation() -> None:
    known = {getattr(route, "name", "") for route in create_app(jobs=None).routes}
    for name, one in DEPRECATED.items():
        assert name in known
        assert (one.sunset - one.since).days >= 365
