"""What an operator comes for, each at most five clicks from the overview."""

import psycopg
import pytest
from memlift_client import MemLift
from playwright.sync_api import Locator, Page, expect

from server.dashboard.navigation import NAVIGATION
from tests.acceptance.servers import Server
from tests.browser.story import NEAR

LIAR, REASON = "a hasty checker", "an unexpected ValueError in memory/memories/decay.py, line 7"
MOST = 5


class Clicks:
    """Counts what a person has to click; typing is not counted."""

    def __init__(self, page: Page, slug: str) -> None:
        self.page, self.n = page, 0
        page.goto(f"/dashboard/ns/{slug}/")

    def on(self, place: Locator) -> None:
        self.n += 1
        assert self.n <= MOST
        place.click()

    def on_page(self, name: str) -> None:
        """A page of the header; one that stands under a heading takes a click more."""
        navigation = self.page.get_by_role("navigation", name="Pages")
        section = next(entry.section for entry in NAVIGATION if entry.title == name)
        if section is not None:
            self.on(navigation.locator("summary", has_text=section))
        self.on(navigation.get_by_role("link", name=name, exact=True))

    def on_button(self, name: str) -> None:
        self.on(self.page.get_by_role("button", name=name, exact=True))


@pytest.fixture(scope="module")
def team(server: Server) -> MemLift:
    """A namespace in which one key says of every memory that it harms."""
    operator = server.client()
    operator.create_namespace("a-team", settings=NEAR)
    team = operator.within("a-team")
    token = team.create_key(
        role="agent", name=LIAR, namespace="a-team", agents=["checker"], verifies="test"
    ).token
    liar = server.client("a-team", key=token)
    for number in range(2):
        team.remember(
            agent="porter",
            situation="A parcel goes to Norway",
            lesson=f"Ask for customs form {number} before booking",
            category="parcels",
        )
        served = liar.retrieve(
            agent="checker",
            task={"text": f"Send parcel {number} to Norway", "category": "parcels"},
            purpose="paired",
        )
        liar.report(served.receipt, reward=0.0, without={"reward": 1.0}, verifier="test")
    team.apply_outcomes()
    return team


def test_which_key_is_lying_and_its_word_is_taken_back(page: Page, team: MemLift) -> None:
    clicks = Clicks(page, "a-team")
    clicks.on_page("Influence")
    clicks.on(page.get_by_role("link", name=LIAR))
    clicks.on_button("Look at what taking it back would change")
    expect(page.get_by_role("heading", level=1)).to_have_text("Preview of a rollback")
    clicks.on_button("Yes: take it back")

    expect(page.get_by_role("status").first).to_be_visible()
    reasons = {one.reason for one in team.list_outcomes(limit=200).items}
    assert reasons == {"rolled_back"}


def test_why_a_job_failed_and_it_runs_again(
    page: Page, team: MemLift, database: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    database.execute(
        "INSERT INTO job_run (id, job, namespace_id, period, dry_run, state, now, started_at,"
        " finished_at, reason) SELECT gen_random_uuid(), 'decay', id, '2026-03-01', false,"
        " 'failed', now(), now(), now(), %s FROM namespace WHERE slug = 'a-team'",
        [REASON],
    )
    clicks = Clicks(page, "a-team")
    clicks.on_page("Jobs")
    expect(page.locator("main")).to_contain_text(REASON)
    row = page.locator("tr", has=page.get_by_role("rowheader", name="decay", exact=True))
    clicks.on(row.locator("summary"))
    clicks.on(row.get_by_role("button", name="Yes: run now"))

    expect(page.get_by_role("status").first).to_contain_text("decay ran for period")


def test_a_new_team_gets_a_namespace_and_a_key(page: Page, team: MemLift) -> None:
    clicks = Clicks(page, "a-team")
    clicks.on(page.locator("details.switch > summary"))
    clicks.on(page.get_by_role("link", name="All namespaces"))
    page.get_by_label("Name: lower-case letters").fill("a-new-team")
    clicks.on_button("Make the namespace")
    page.get_by_label("Name: who will use it").fill("the new team")
    clicks.on_button("Make the key")

    token = page.locator("#token").inner_text()
    assert token.startswith("ml_")
    assert "a-new-team" in page.url


def test_two_constraints_contradict_and_a_person_decides(page: Page, team: MemLift) -> None:
    trigger = "a parcel is heavier than its label says"
    first = "weighing the parcel again before it leaves the counter"
    other = "sending the parcel as it is and charging the difference afterwards"
    for enforce, avoid in ((first, other), (other, first)):
        team.add_constraint(
            agent="porter",
            trigger=trigger,
            enforce=enforce,
            avoid=avoid,
            task={"text": "Send the heavy parcel", "category": "parcels"},
        )
    clicks = Clicks(page, "a-team")
    clicks.on_page("Contradictions")
    clicks.on(page.locator("tbody a").first)
    clicks.on(page.locator("details.confirm > summary", has_text="Decide"))
    page.get_by_label("Which stays in use").select_option("first")
    page.get_by_label("Reason, kept with it").fill("the carrier weighs them too")
    clicks.on_button("Yes: decide")

    expect(page.get_by_role("status").first).to_have_text("The first stays; the second rests.")
