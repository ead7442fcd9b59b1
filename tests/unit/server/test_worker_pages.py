"""What one worker tells of all: its own page, those of the others, and who does not answer."""

import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memory.kernel.errors import Overloaded
from server.limits import Limits
from server.metrics import Meters
from server.placement import LONGEST, Placement, meeting_folder, owner_socket, write_restarts
from server.settings import load
from server.shared import Shared
from server.worker_pages import page_of_all, told_to_others
from tests.fixtures.cards import CardModel, an_owner, its_card


@pytest.fixture
def folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="ml-") as made:
        yield Path(made)


def a_meter(requests: int, retrievals: int, outcomes: int) -> Meters:
    meters = Meters()
    for _ in range(requests):
        meters.observe("/v1/me", "GET", "200", 0.01)
    meters.retrievals.labels("live").inc(retrievals)
    meters.outcomes.labels("pending").inc(outcomes)
    meters.watch(lambda: {"pool_size": 8.0})
    return meters


def samples(page: bytes) -> dict[tuple[str, ...], float]:
    return {
        (one.name, *sorted(one.labels.values())): one.value
        for family in text_string_to_metric_families(page.decode())
        for one in family.samples
    }


async def test_a_page_has_the_series_of_every_worker_and_says_which_does_not_answer(folder: Path):
    first, second = (Placement(folder, index, 3, owners=1) for index in (1, 2))
    write_restarts(folder, {"owner": 4, "1": 0, "2": 0, "3": 2})
    own, other = a_meter(3, 8, 1), a_meter(5, 2, 2)

    async with told_to_others(second, other.text):
        found = samples(await page_of_all(first, own.text()))

    assert found["memlift_requests_total", "/v1/me", "1", "200", "GET"] == 3
    assert found["memlift_requests_total", "/v1/me", "2", "200", "GET"] == 5
    assert found["memlift_request_seconds_count", "/v1/me", "2", "GET"] == 5
    assert [found["memlift_pool_size", name] for name in "12"] == [8, 8]
    assert [found["memlift_worker_up", name] for name in "123"] == [1, 1, 0]
    assert [found["memlift_worker_restarts_total", name] for name in "123"] == [0, 0, 2]
    assert found["memlift_owner_restarts_total",] == 4
    assert found["memlift_owner_up",] == 0
    assert found["memlift_feedback_coverage",] == pytest.approx(3 / 10)


def test_workers_take_turns_among_the_owners(folder: Path):
    asked = [Placement(folder, index, 5, owners=2).model_socket for index in range(1, 6)]

    assert asked == [folder / name for name in ("owner.sock", "owner-2.sock") * 2] + [asked[0]]
    assert Placement(folder, 1, 2, owners=0).model_socket is None


async def test_what_owners_say_is_said_of_all_of_them(folder: Path):
    placement = Placement(folder, 1, 2, owners=2)
    write_restarts(folder, {"owner": 1, "owner-2": 2, "1": 0, "2": 0})
    async with an_owner(owner_socket(folder, 1), CardModel()):
        found = samples(await page_of_all(placement, a_meter(0, 0, 0).text()))
        assert found["memlift_owner_up",] == 0
        second = owner_socket(folder, 2)
        async with an_owner(second, CardModel()), its_card(second):
            found = samples(await page_of_all(placement, a_meter(0, 0, 0).text()))

    assert found["memlift_owner_up",] == 1
    assert found["memlift_owner_restarts_total",] == 3
    assert found["memlift_owner_items_total", "embedder"] == 0
    assert [name for name in "12" if ("memlift_worker_restarts_total", name) in found] == ["1", "2"]


def test_the_folder_is_for_its_user_alone_and_those_of_killed_servers_go(folder: Path):
    left = folder / "workers-12345678"
    left.mkdir()

    with meeting_folder(folder) as one, meeting_folder(folder) as other:
        there = sorted(folder.iterdir())
        mode = one.stat().st_mode & 0o777

    assert there == sorted([one, other])
    assert mode == 0o700
    assert list(folder.iterdir()) == []


def test_a_data_directory_of_a_long_name_has_its_sockets_elsewhere(tmp_path: Path):
    deep = tmp_path / ("d" * 100)

    with meeting_folder(deep) as folder:
        assert folder.parent != deep
        assert len(os.fsencode(folder.parent / LONGEST)) < 108
        assert folder.stat().st_mode & 0o777 == 0o700


def test_what_is_allowed_to_those_who_guess_holds_for_all_workers_together(folder: Path):
    rates = {"login_rate": 1e-6, "request_rate": 1e-6}
    settings = load({**rates, "login_burst": 10, "request_burst": 10})
    workers = [
        Shared.of(settings, Meters(), Placement(folder, index, 2, owners=1)) for index in (1, 2)
    ]

    assert [taken(one.logins) for one in workers] == [5, 5]
    assert [taken(one.limits) for one in workers] == [10, 10]
    assert taken(Shared.of(settings, Meters()).logins) == 10


def taken(limits: Limits) -> int:
    """How often one caller may ask at once."""
    for count in range(1_000):
        try:
            limits.take("somebody", 0.0)
        except Overloaded:
            return count
    raise AssertionError("it is not limited")
