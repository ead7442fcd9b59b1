"""A model that loads while the server already answers."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Generic, Protocol, TypeVar, runtime_checkable

from memory.kernel.errors import MemoryFault, Unavailable

Model = TypeVar("Model")


# Loading takes some seconds; asking more often than this is of no use.
COME_BACK = 2.0


@runtime_checkable
class HoldsConnections(Protocol):
    """A model that is asked over the network."""

    def close(self) -> None: ...


class BackgroundModel(Generic[Model]):
    """Loads in the worker thread; until then, and when that failed, `use` says so. `may_recover`:
    the failure names a time to come back, so starting again may succeed.
    """

    def __init__(self, load: Callable[[], Model], worker: Executor) -> None:
        self.loaded: Model | None = None
        self.failure: str | None = None
        self.may_recover = False
        self._load = load
        self._worker = worker
        self._loading: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to load and return at once. After a failure, begin again."""
        if self.loaded is None and (self._loading is None or self._loading.done()):
            self.failure = None
            self._loading = asyncio.get_running_loop().create_task(self._keep())

    def use(self) -> Model:
        """The model. Raises Unavailable while it loads or when it could not be loaded."""
        if self.loaded is not None:
            return self.loaded
        if self.failure is not None:
            raise Unavailable(self.failure, code="model_failed")
        raise Unavailable("The model is loading.", code="model_loading", retry_after=COME_BACK)

    async def wait(self) -> Model:
        """The model once it is loaded. Raises Unavailable when it could not be."""
        if self._loading is not None:
            await asyncio.wait([self._loading])
        return self.use()

    async def close(self) -> None:
        """Wait no longer; a load under way ends in its thread and is forgotten."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait([self._loading])
        if isinstance(self.loaded, HoldsConnections):
            self.loaded.close()

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self.loaded = await loop.run_in_executor(self._worker, self._load)
        except MemoryFault as fault:
            self.failure, self.may_recover = fault.detail, fault.retry_after is not None
        except Exception as fault:  # noqa: BLE001 - whatever a model's files make the library raise
            self.failure = f"The model could not be loaded ({type(fault).__name__}: {fault})."
