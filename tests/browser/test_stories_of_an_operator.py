"""What an operator comes to do, each at most four clicks from the overview, on a desk and a phone.

Which key is lying, and its word is withdrawn. A job failed: why, and again. A new team gets a
namespace and a key. Two constraints contradict: decide. Would another policy have done better?
"""

from dataclasses import dataclass

import psycopg
import pytest
from memlift_client import MemLift
from playwright.sync_api import Page, expect

from tests.acceptance.servers import Server
from tests.browser.clicks import WIDTHS, Clicks, Width
from tests.browser.story import NEAR

LIAR, REASON = "a hasty checker", "an unexpected ValueError in memory/memories/decay.py, line 7"


@dataclass(frozen=True)
class Team:
    """A namespace in which one key says of every memory that it harms; how wide its page is."""

    slug: str
    memory: MemLift
    width: Width

    def clicks(self, page: Page) -> Clicks:
        return Clicks(page, self.width, self.slug)


@pytest.fixture(scope="module", params=WIDTHS)
def team(server: Server, request: pytest.FixtureRequest) -> Team:
    operator, slug = server.client(), f"a-team-{request.param}"
    operator.create_namespace(slug, settings=NEAR)
    team = operator.within(slug)
    token = team.create_key(
        role="agent", name=LIAR, namespace=slug, agents=["checker"], verifies="test"
    ).token
    liar = server.client(slug, key=token)
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
    return Team(slug, team, request.param)


def test_whether_another_policy_would_have_done_better(page: Page, team: Team) -> None:
    clicks = team.clicks(page)
    clicks.on_question("Would another policy have done better?")
    clicks.on(page.get_by_role("link", name="What if it were steps?"))

    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("steps would weigh 2 memories differently after 2 recorded")
    expect(verdict.locator(".headline")).to_contain_text("Not known yet: the weights of steps")
    expect(verdict.locator(".headline")).to_contain_text(
        "a bound takes outcomes of 10 days, and there is 1"
    )
    changed = page.locator("section[aria-labelledby=weights] tbody tr")
    expect(changed).to_have_count(2)
    expect(changed.first).to_contain_text("Ask for customs form")
    clicks.draw("another-policy")
    before = {one.memory_id: one.effective_weight for one in team.memory.list_weights().items}
    clicks.on(changed.first.get_by_role("link"))
    expect(page.locator("#lesson")).to_contain_text("Ask for customs form")
    after = {one.memory_id: one.effective_weight for one in team.memory.list_weights().items}
    assert before == pytest.approx(after, abs=1e-3)


def test_which_key_is_lying_and_its_word_is_withdrawn(page: Page, team: Team) -> None:
    clicks = team.clicks(page)
    clicks.on_question("Whose reports move memories?")
    clicks.on(page.get_by_role("link", name=LIAR))
    clicks.on_button("Look at what withdrawing it would change")
    expect(page.get_by_role("heading", level=1)).to_have_text("Preview of a rollback")
    clicks.draw("which-key-is-lying")
    clicks.on_button("Yes: withdraw it")

    expect(page.get_by_role("status").first).to_be_visible()
    reasons = {one.reason for one in team.memory.list_outcomes(limit=200).items}
    assert reasons == {"rolled_back"}


def test_why_a_job_failed_and_it_runs_again(
    page: Page, team: Team, database: "psycopg.Connection[tuple[object, ...]]"
) -> None:
    database.execute(
        "INSERT INTO job_run (id, job, namespace_id, period, dry_run, state, now, started_at,"
        " finished_at, reason) SELECT gen_random_uuid(), 'decay', id, '2026-03-01', false,"
        " 'failed', now(), now(), now(), %s FROM namespace WHERE slug = %s",
        [REASON, team.slug],
    )
    clicks = team.clicks(page)
    clicks.on_alert("job-decay")
    expect(page.locator("main")).to_contain_text(REASON)
    clicks.draw("why-a-job-failed")
    row = page.locator("tr", has=page.get_by_role("rowheader", name="decay", exact=True))
    clicks.on(row.locator("summary"))
    clicks.on(row.get_by_role("button", name="Yes: run now"))

    expect(page.get_by_role("status").first).to_contain_text("decay ran for period")


def test_a_new_team_gets_a_namespace_and_a_key(page: Page, team: Team) -> None:
    clicks = team.clicks(page)
    clicks.on(page.locator("details.switch > summary"))
    clicks.on(page.get_by_role("link", name="All namespaces"))
    page.get_by_label("Name: lower-case letters").fill(f"a-new-team-{team.width}")
    clicks.on_button("Make the namespace")
    page.get_by_label("Name: who will use it").fill("the new team")
    clicks.on_button("Make the key")

    token = page.locator("#token").inner_text()
    clicks.draw("a-new-team")
    assert token.startswith("ml_")
    assert f"a-new-team-{team.width}" in page.url


def test_two_constraints_contradict_and_a_person_decides(page: Page, team: Team) -> None:
    trigger = "a parcel is heavier than its label says"
    first = "weighing the parcel again before it leaves the counter"
    other = "sending the parcel as it is and charging the difference afterwards"
    for enforce, avoid in ((first, other), (other, first)):
        team.memory.add_constraint(
            agent="porter",
            trigger=trigger,
            enforce=enforce,
            avoid=avoid,
            task={"text": "Send the heavy parcel", "category": "parcels"},
        )
    clicks = team.clicks(page)
    clicks.on_alert("contradictions")
    clicks.on(page.locator("tbody a").first)
    clicks.on(page.locator("details.confirm > summary", has_text="Decide"))
    page.get_by_label("Which stays in use").select_option("first")
    page.get_by_label("Reason, kept with it").fill("the carrier weighs them too")
    clicks.draw("two-contradict")
    clicks.on_button("Yes: decide")

    expect(page.get_by_role("status").first).to_have_text("The first stays; the second rests.")
