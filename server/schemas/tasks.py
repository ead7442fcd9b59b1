"""Which tasks to list."""

from pydantic import Field

from memory.kernel.text import KEY, optional_exact
from server.schemas.base import ListQuery


class TaskQuery(ListQuery):
    """Tasks, all or the one with a caller's key."""

    key: str | None = Field(None, max_length=KEY)

    def caller_key(self) -> str | None:
        return optional_exact(self.key, "key", KEY)
