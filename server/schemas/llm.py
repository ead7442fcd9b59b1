"""Shapes of language-model calls where the wire differs."""

from uuid import UUID

from memory.llm.entities import CallStatus, LlmCallFilter, RoleName
from server.schemas.base import ListQuery


class LlmCallQuery(ListQuery):
    """Calls of the language model, narrowed down."""

    role: RoleName | None = None
    status: CallStatus | None = None
    retrieval_id: UUID | None = None
    memory_id: UUID | None = None

    def to_filter(self) -> LlmCallFilter:
        return LlmCallFilter(self.role, self.status, self.retrieval_id, self.memory_id)
