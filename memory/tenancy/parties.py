"""Whose word is whose: a party is a key of an agent and those that may speak for the same agent.

Names prove nothing, keys do. Keys bound to no agent are one party among themselves; two bound keys
are one only if they share an agent, and the relation is not passed on. Keys that judge others
(evaluators, admins, operators) belong to no party.
"""

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID

from memory.tenancy.entities import Key, KeyDraft, Role


class Speaker(Protocol):
    """What of a key says for whom it speaks."""

    @property
    def id(self) -> UUID: ...
    @property
    def role(self) -> Role: ...
    @property
    def agents(self) -> tuple[str, ...] | None: ...


def speak_as_one(one: Speaker, other: Speaker) -> bool:
    """Whether the word of one is the word of the other."""
    if one.id == other.id:
        return True
    both_of_agents = one.role is Role.AGENT and other.role is Role.AGENT
    return both_of_agents and share_an_agent(one.agents, other.agents)


def find_party(key_id: UUID, draft: KeyDraft, founders: Iterable[Key]) -> UUID:
    """The id of the party that a new key of an agent belongs to.

    A party goes by its first key, its founder: a new one joins the earliest founder that it speaks
    as one with, so that a chain of shared agents joins nobody to strangers. Stored when the key is
    made, and never changed: what was counted by party can be counted again.
    """
    for founder in founders:
        if share_an_agent(founder.agents, draft.agents):
            return founder.id
    return key_id


def share_an_agent(ours: tuple[str, ...] | None, theirs: tuple[str, ...] | None) -> bool:
    """Whether two keys of agents may speak for the same; those bound to none are one among
    themselves.
    """
    if ours is None or theirs is None:
        return ours is theirs
    return not set(ours).isdisjoint(theirs)
