"""What keeps a server from being ready, and what is only said beside it."""

import pytest

from memory.kernel.postgres.compatibility import Check
from server.schemas.health import DEGRADED, Ready

MET = Check(ok=True, detail="met")
UNMET = Check(ok=False, detail="not met")


@pytest.mark.parametrize(("check", "said"), DEGRADED.items())
def test_requests_are_served_where_something_beside_them_does_not_go_on(
    check: str, said: str
) -> None:
    ready = Ready.of({"database": MET, "model": MET, check: UNMET})

    assert (ready.status, ready.degraded) == ("ready", [said])


def test_what_requests_depend_on_is_needed() -> None:
    ready = Ready.of({"database": MET, "model": UNMET, "other_models": UNMET})

    assert ready.status == "not_ready"
    assert ready.degraded == ["namespaces of another model"]
