"""Names prove nothing, keys do: which keys speak as one, and by which key their party goes."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from memory.kernel.errors import Forbidden, Rejected
from memory.kernel.ids import new_id
from memory.tenancy.claims import VERIFIERS, Verifier
from memory.tenancy.entities import Key, KeyDraft, Role
from memory.tenancy.parties import find_party, speak_as_one

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def made(*agents: str, role: Role = Role.AGENT, verifies: Verifier = "self") -> Key:
    key_id = new_id()
    return Key(
        id=key_id,
        namespace_id=None,
        role=role,
        agents=agents or None,
        verifies=verifies,
        party_id=key_id,
        name="key",
        namespace="default",
        created_at=NOON,
        expires_at=None,
        revoked_at=None,
        last_used_at=None,
    )


def draft(*agents: str) -> KeyDraft:
    return KeyDraft(Role.AGENT, "key", "default", agents or None)


@pytest.mark.parametrize(
    ("ours", "theirs", "one"),
    [
        (("a",), ("a", "b"), True),
        (("a", "b"), ("c",), False),
        ((), (), True),
        ((), ("a",), False),
    ],
)
def test_keys_speak_as_one_where_they_share_an_agent(
    ours: Sequence[str], theirs: Sequence[str], *, one: bool
) -> None:
    assert speak_as_one(made(*ours), made(*theirs)) is one
    assert speak_as_one(made(*theirs), made(*ours)) is one


def test_a_key_that_judges_speaks_as_one_with_itself_alone() -> None:
    judge = made(role=Role.EVALUATOR)

    assert speak_as_one(judge, judge)
    assert not speak_as_one(judge, made())
    assert not speak_as_one(judge, made(role=Role.EVALUATOR))


def test_a_party_goes_by_the_first_key_that_shares_an_agent_and_is_not_passed_on() -> None:
    first, stranger = made("a", "b"), made("z")
    founders = [first, stranger]

    assert find_party(new_id(), draft("b", "c"), founders) == first.id
    chained = new_id()
    # It shares an agent with the second, who joined the first: that joins it to nobody.
    assert find_party(chained, draft("c"), founders) == chained


def test_keys_bound_to_no_agent_are_one_party() -> None:
    first = made()

    assert find_party(new_id(), draft(), [made("a"), first]) == first.id
    bound = new_id()
    assert find_party(bound, draft("b"), [first]) == bound


@pytest.mark.parametrize("held", VERIFIERS)
def test_a_claim_above_what_a_key_verifies_is_refused(held: Verifier) -> None:
    key = made(verifies=held)
    for claim in VERIFIERS:
        if VERIFIERS.index(claim) <= VERIFIERS.index(held):
            key.require_claim(claim)
            continue
        with pytest.raises(Forbidden) as fault:
            key.require_claim(claim)
        assert (fault.value.field, fault.value.limit) == ("verifier", held)


def test_a_run_that_nobody_vouches_for_claims_nothing() -> None:
    made().require_claim("none")


@pytest.mark.parametrize(
    ("role", "usual", "most"),
    [
        (Role.AGENT, "self", "test"),
        (Role.EVALUATOR, "test", "human"),
        (Role.READER, "self", "self"),
        (Role.ADMIN, "human", "human"),
    ],
)
def test_a_role_has_its_usual_claim_and_a_highest(role: Role, usual: str, most: Verifier) -> None:
    assert KeyDraft(role, "key", "default").verifies == usual
    assert KeyDraft(role, "key", "default", verifies=most).verifies == most
    for above in VERIFIERS[VERIFIERS.index(most) + 1 :]:
        with pytest.raises(Rejected) as fault:
            KeyDraft(role, "key", "default", verifies=above)
        assert (fault.value.field, fault.value.limit) == ("verifies", most)
