"""Candidates are tried: what is claimed, what is reported, and what is given back."""

import httpx
import pytest
from memlift_client import AsyncMemLift, MemLift, MemLiftProblem, Ticket, TicketTrial
from memlift_client._verifying import work_off as work_off_by_command
from scripted_server import QUICK, Script, a_page, a_problem, an_answer

from tests.fixtures.answers import a_document

URL = "http://memlift.test"


def a_slot(number: int, **changes: object) -> dict[str, object]:
    known = {
        "slot": number,
        "purpose": "source",
        "task": f"Task {number}",
        "task_id": f"k-{number}",
    }
    empty = dict.fromkeys(
        ("reference", "reward", "reward_without", "agent", "self_verified", "reported_at")
    )
    return known | empty | changes


def a_ticket(*slots: dict[str, object], **changes: object) -> dict[str, object]:
    known = {"id": "t-1", "state": "leased", "metric": "reward", "guideline": "- ask [m1]"}
    return a_document(Ticket, trials=list(slots), **(known | changes))


def claimed(*tickets: dict[str, object]) -> httpx.Response:
    return an_answer(200, {"items": list(tickets)})


def a_client(script: Script) -> MemLift:
    return MemLift(URL, "ml_k", agent="bot", retry_policy=QUICK, transport=script.transport())


def asked(script: Script) -> list[str]:
    return [one.url.path.removeprefix("/v1/namespaces/default") for one in script.requests]


TWO = a_ticket(a_slot(0, reward=0.5), a_slot(1), a_slot(2, reference=0.4))
DONE = a_ticket(state="decided", decision="admitted")


def test_each_trial_is_reported_when_the_next_is_asked_for():
    script = Script(claimed(TWO), an_answer(201, TWO), an_answer(201, DONE), claimed())

    seen: list[TicketTrial] = []
    with a_client(script).tickets(category="rain") as trials:
        for trial in trials:
            seen.append(trial)
            trial.reward(1, without=0 if trial.needs_without else None)

    assert [(one.slot, one.task, one.guideline) for one in seen] == [
        (1, "Task 1", "- ask [m1]"),
        (2, "Task 2", "- ask [m1]"),
    ]
    assert asked(script) == [
        "/tickets/claims",
        "/tickets/t-1/trials",
        "/tickets/t-1/trials",
        "/tickets/claims",
    ]
    claim, first, second, _ = script.bodies()
    assert claim == {"agent": "bot", "category": "rain", "limit": 1}
    assert first == {
        "agent": "bot",
        "metric": "reward",
        "trials": [{"slot": 1, "reward": 1.0, "without": {"reward": 0.0}}],
    }
    assert second == {"agent": "bot", "metric": "reward", "trials": [{"slot": 2, "reward": 1.0}]}
    assert [one.decision for one in trials.decided] == ["admitted"]


def test_a_ticket_that_was_decided_asks_for_no_more():
    script = Script(claimed(TWO), an_answer(201, DONE))

    with a_client(script).tickets(limit=1) as trials:
        for trial in trials:
            trial.reward(1)

    assert asked(script) == ["/tickets/claims", "/tickets/t-1/trials"]


def test_what_was_not_judged_is_given_back_at_the_end():
    other = a_ticket(a_slot(0), id="t-2", metric="brier")
    script = Script(
        claimed(TWO), claimed(other), an_answer(201, DONE | {"id": "t-2"}), claimed(), an_answer()
    )

    with a_client(script).tickets() as trials:
        for trial in trials:
            if trial.ticket.metric == "brier":
                trial.answer({"p": 0.9}, {"yes": True}, without={"p": 0.5})

    assert asked(script)[-2:] == ["/tickets/claims", "/tickets/t-1/release"]
    assert script.bodies()[2]["trials"] == [
        {"slot": 0, "value": {"p": 0.9}, "truth": {"yes": True}, "without": {"value": {"p": 0.5}}}
    ]


def work_off(client: MemLift, *, judged: bool, broken_off: bool) -> None:
    with client.tickets() as trials:
        for trial in trials:
            if judged:
                trial.reward(1)
            if broken_off:
                raise KeyboardInterrupt


@pytest.mark.parametrize("judged", [False, True])
def test_a_run_that_breaks_off_gives_its_ticket_back(*, judged: bool):
    script = Script(claimed(TWO), *([an_answer(201, TWO)] if judged else []), an_answer(200, TWO))

    with pytest.raises(KeyboardInterrupt):
        work_off(a_client(script), judged=judged, broken_off=True)

    reported = ["/tickets/t-1/trials"] if judged else []
    assert asked(script)[1:] == [*reported, "/tickets/t-1/release"]


def test_a_refused_report_rises_and_a_release_that_fails_does_not():
    script = Script(claimed(TWO), a_problem(409, "trial_conflict"), a_problem(409, "ticket_closed"))

    with pytest.raises(MemLiftProblem, match="trial_conflict"):
        work_off(a_client(script), judged=True, broken_off=False)

    assert asked(script)[-1] == "/tickets/t-1/release"


async def test_who_awaits_claims_reports_and_gives_back_alike():
    script = Script(claimed(TWO), an_answer(201, TWO), claimed(), an_answer(200, TWO))
    client = AsyncMemLift(
        URL, "ml_k", agent="bot", retry_policy=QUICK, transport=httpx.MockTransport(script)
    )

    async with client.tickets() as trials:
        async for trial in trials:
            if trial.slot == 1:
                trial.reward(1, without=0.0)

    assert asked(script) == [
        "/tickets/claims",
        "/tickets/t-1/trials",
        "/tickets/claims",
        "/tickets/t-1/release",
    ]
    assert trials.decided == []


def by_command(script: Script) -> int:
    with a_client(script).tickets() as trials:
        return work_off_by_command(trials, ["true"])


def test_a_trial_by_a_command_is_told_once_its_result_was_taken(capsys: pytest.CaptureFixture[str]):
    lost = httpx.ConnectError("refused")
    until = a_ticket(a_slot(0), a_slot(1), lease_until="2026-01-01T00:30:00Z")
    script = Script(claimed(until), an_answer(201, until), lost)

    status = by_command(script)

    told = capsys.readouterr().err.splitlines()
    assert status == 1
    assert told[0] == "memlift: ticket t-1, source: reward 1, 1 without"
    assert told[1].startswith("memlift: ticket t-1, source: the result was not taken: ")
    assert told[2].endswith("it is free at 2026-01-01 00:30:00+00:00")
    assert len(told) == 3


def test_a_result_that_was_taken_is_told_where_the_next_claim_fails(
    capsys: pytest.CaptureFixture[str],
):
    script = Script(claimed(a_ticket(a_slot(0))), an_answer(201, DONE), a_problem(409, "gone"))

    with pytest.raises(MemLiftProblem, match="gone"):
        by_command(script)

    told = capsys.readouterr().err
    assert "reward 1, 1 without" in told
    assert "t-1: admitted" in told
    assert "not taken" not in told


def test_who_finds_nothing_to_try_is_told_what_is_leased(capsys: pytest.CaptureFixture[str]):
    held = a_ticket(leased_to="bot", lease_until="2026-01-01T00:30:00Z")

    status = by_command(Script(claimed(), a_page([held], 1, None)))

    assert status == 0
    assert capsys.readouterr().err.splitlines() == [
        "memlift: no candidate waits to be tried",
        "memlift: ticket t-1 is leased to bot until 2026-01-01 00:30:00+00:00",
    ]
