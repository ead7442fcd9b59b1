"""Lists as files: every row of the page's filter, in a file that no spreadsheet runs."""

import csv
from io import StringIO

import pytest
from dashboard_builders import a_browser, at, token_of
from loop_pages import read, remembered, reported, served

from memory.kernel.paging import Listed, Page
from server.dashboard import list_files
from server.dashboard.list_files import MAX_ROWS, defused
from server.dashboard.lists import ROWS

LISTS = {
    "/memories": "/memories",
    "/receipts": "/retrievals?state=all",
    "/receipts/outcomes": "/outcomes",
    "/candidates": "/tickets",
    "/candidates/lessons": None,
    "/candidates/changesets": None,
    "/constraints": "/constraints",
    "/contradictions": "/contradictions?state=all",
    "/categories": "/categories",
    "/jobs": "/jobs/runs",
    "/llm-calls": None,
    "/influences": None,
    "/keys": None,
    "/audit": "/audit",
}


async def file(browser, path):
    answer = await browser.get(path)
    assert answer.status_code == 200, answer.text
    assert "attachment" in answer.headers["content-disposition"]
    return answer


@pytest.mark.parametrize("path", LISTS)
async def test_every_list_is_had_as_json_and_csv_with_all_its_rows(
    app, client, operator_token, namespace, path
):
    await remembered(client, namespace, "look at the base rate")
    await reported(client, namespace, await served(client, namespace))
    async with a_browser(app, operator_token) as browser:
        as_json = (await file(browser, at(namespace, f"{path}?format=json"))).json()
        as_csv = list(
            csv.reader(StringIO((await file(browser, at(namespace, f"{path}?format=csv"))).text))
        )

    assert as_json["complete"] is True
    assert len(as_json["items"]) == as_json["total"] == max(0, len(as_csv) - 1)
    api = LISTS[path]
    if api is not None:
        there = (await client.get(f"/v1/namespaces/{namespace}{api}")).json()
        assert as_json["total"] == there["total"]


async def test_a_file_has_what_its_filter_finds_past_the_first_page(
    app, client, operator_token, namespace
):
    for number in range(ROWS + 3):
        await remembered(client, namespace, f"lesson {number}", agent=("left", "right")[number % 2])
    async with a_browser(app, operator_token) as browser:
        query = "?agent=right&sort=recorded_at&order=asc"
        page = read(await browser.get(at(namespace, f"/memories{query}")))
        links = {link["href"] for link in page.of("a")}
        assert at(namespace, f"/memories{query}&format=csv") in links
        lines = (await file(browser, at(namespace, f"/memories{query}&format=csv"))).text

    rows = list(csv.DictReader(StringIO(lines)))
    assert [row["lesson"] for row in rows] == [f"lesson {n}" for n in range(1, ROWS + 3, 2)]
    assert {row["agent"] for row in rows} == {"right"}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\uff1d1+1"])
def test_what_a_spreadsheet_would_run_begins_with_an_apostrophe(text):
    assert defused(text) == f"'{text}"
    assert defused(f"a{text}") == f"a{text}"


@pytest.mark.parametrize("separator", [";", "\t", "|", "\n"])
def test_so_does_what_a_spreadsheet_with_another_separator_takes_for_a_cell(separator):
    assert defused(f"a{separator}=1+1") == f"a{separator}'=1+1"
    assert defused(f"a{separator}b = 1") == f"a{separator}b = 1"


async def test_a_stored_formula_stands_in_its_cell_as_text(app, client, operator_token, namespace):
    await remembered(client, namespace, '=HYPERLINK("https://evil.test")')
    async with a_browser(app, operator_token) as browser:
        answer = await file(browser, at(namespace, "/memories?format=csv"))

    [row] = csv.DictReader(StringIO(answer.text))
    assert row["lesson"] == '\'=HYPERLINK("https://evil.test")'
    # A number is no formula, with whatever sign.
    assert float(row["effective_weight"]) > 0


async def test_another_format_is_refused_with_those_there_are(app, operator_token, namespace):
    async with a_browser(app, operator_token) as browser:
        answer = await browser.get(at(namespace, "/memories?format=xlsx"))

    assert answer.status_code == 422
    assert "format is csv or json" in answer.text


async def test_a_private_memory_is_in_the_file_of_its_own_agent_alone(
    app, client, agent_client, namespace
):
    await remembered(client, namespace, "for all")
    own = await agent_client("agent", ["solver"])
    await remembered(own, namespace, "for the solver", visibility="agent")
    other = await agent_client("agent", ["critic"])
    lessons = []
    for one in (own, other):
        async with a_browser(app, token_of(one)) as browser:
            rows = (await file(browser, at(namespace, "/memories?format=json"))).json()
        lessons.append({row["lesson"] for row in rows["items"]})
        assert rows["total"] == len(rows["items"])

    assert lessons == [{"for all", "for the solver"}, {"for all"}]


async def test_a_file_ends_at_its_limit_and_never_asks_for_more():
    asked = []

    async def fetch(page: Page) -> Listed[int]:
        asked.append(page)
        return Listed(range(page.limit), MAX_ROWS + 1, (len(asked),))

    first = await fetch(Page(200))
    rows = [row async for rows in list_files._rows_of(first, fetch) for row in rows]

    assert len(rows) == MAX_ROWS == 200 * len(asked)
