"""The only door to litellm, opened late and in a thread: its import takes seconds and 200 MB.

Reached by name from `memory.inference.provider`, so that a server without the extra `llm` starts
as well, and one with it answers health checks before the library is there.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import litellm  # pyright: ignore[reportMissingImports] - comes with the extra `llm` only

Complete = Callable[..., Awaitable[object]]


# Its types differ from those it publishes, and where it is not installed it has none.
LIBRARY: Any = litellm


def opened() -> Complete:
    """The library's one function that we use, and the library made quiet."""
    LIBRARY.suppress_debug_info = True
    # What a provider does not know (a temperature, a schema) is left out instead of refused.
    LIBRARY.drop_params = True
    # The first call imports much more: an answer made up here keeps that from a caller's deadline.
    LIBRARY.completion(model="openai/none", messages=[], mock_response="ready")
    return LIBRARY.acompletion


async def closed() -> None:
    """Lets go of the connections to providers. The library keeps closed clients for the next
    caller in the process, so it is made to forget them; those that block are not ours, it did not
    close them, and it keeps them.
    """
    await LIBRARY.close_litellm_async_clients()
    kept = LIBRARY.in_memory_llm_clients_cache
    for name, client in tuple(kept.cache_dict.items()):
        if hasattr(getattr(client, "_client", getattr(client, "client", None)), "aclose"):
            kept.cache_dict.pop(name, None)
            kept.ttl_dict.pop(name, None)
