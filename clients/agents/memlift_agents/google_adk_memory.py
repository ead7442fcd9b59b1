"""Google ADK: a memory service, for `load_memory` and the other tools of ADK.

    Runner(app=app, memory_service=MemLiftMemoryService(memory), …)

An entry that a search has found names in its `custom_metadata` the receipt to report under.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai import types
from memlift_client import MemLift, Memory

from memlift_agents.google_adk import words

OWNERS = "google_adk"
"""Where a memory's metadata name the users that it is of; without it, it is for all of them."""
TEXT_LENGTH, MOST_SERVED = 4_000, 64


class MemLiftMemoryService(BaseMemoryService):
    """What a user was told stays with that user; lessons of nobody in particular are for all."""

    def __init__(self, memory: MemLift) -> None:
        self._memory = memory

    async def add_session_to_memory(self, session: Session) -> None:
        """Keeps what was asked and answered; what is there already is not kept twice."""
        asked = ""
        for event in session.events:
            said = words(event.content)
            if event.author == "user":
                asked = said or asked
            elif asked and said and event.is_final_response():
                owner = f"{session.app_name}/{session.user_id}"
                await asyncio.to_thread(self._keep, owner, asked, said)

    async def add_memory(
        self, *, app_name: str, user_id: str, memories: Sequence[MemoryEntry], **_: Any
    ) -> None:
        """An entry's `situation` in `custom_metadata` says when it applies."""
        for entry in memories:
            lesson = words(entry.content)
            situation = str(entry.custom_metadata.get("situation") or lesson)
            await asyncio.to_thread(self._keep, f"{app_name}/{user_id}", situation, lesson)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        owner = f"{app_name}/{user_id}"
        return SearchMemoryResponse(memories=await asyncio.to_thread(self._find, owner, query))

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Raises ValueError for a memory that is not this user's."""
        if memory_id is not None:
            await asyncio.to_thread(self._delete, f"{app_name}/{user_id}", memory_id)

    def _keep(self, owner: str, situation: str, lesson: str) -> None:
        kept = self._memory.remember(
            agent=self._memory.agent,
            situation=situation[:TEXT_LENGTH],
            lesson=lesson[:TEXT_LENGTH],
            metadata={OWNERS: [owner]},
        )
        if kept.deduplicated:
            memory = self._memory.get_experience(kept.id)
            owners: Any = memory.metadata.get(OWNERS)
            if owners is not None and owner not in owners:
                self._hand_over(memory, [*owners, owner])

    def _delete(self, owner: str, memory_id: str) -> None:
        memory = self._memory.get_experience(memory_id)
        owners: Any = memory.metadata.get(OWNERS, [])
        if owner not in owners:
            raise ValueError(f"{memory_id} is not a memory of {owner}")
        if others := [one for one in owners if one != owner]:
            self._hand_over(memory, others)
        else:
            self._memory.retire(memory_id)

    def _hand_over(self, memory: Memory, owners: list[str]) -> None:
        metadata = {**memory.metadata, OWNERS: owners}
        self._memory.edit_experience(memory.id, memory.version, metadata=metadata)

    def _find(self, owner: str, query: str) -> list[MemoryEntry]:
        served = self._memory.retrieve(query, k=MOST_SERVED, format="memories", arm="on")
        found: list[MemoryEntry] = []
        for one in served.memories:
            owners: Any = one.metadata.get(OWNERS, [owner])
            if owner in owners:
                said = types.Part(text=f"{one.situation}: {one.lesson}")
                entry = MemoryEntry(
                    content=types.Content(parts=[said]),
                    custom_metadata={"receipt": served.receipt},
                    id=one.memory_id,
                    author=one.agent,
                    timestamp=one.learned_at.isoformat(),
                )
                found.append(entry)
        return found
