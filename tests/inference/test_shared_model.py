"""The bundled model behind a socket: what a worker gets are the bits that the model gave."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.loading import LoadedEmbedder, ModelChoice, open_embedder
from memory.inference.owner import ModelOwner, OwnedModels
from memory.inference.shared import SharedEmbedder
from memory.inference.tokens import EmbedderTokenCounter

TEXTS = [
    "Retry the request after a short pause.",
    "Größe 測定 🦜 #7!",
    "",
    "The committee met again and talked about the budget of the harbour. " * 60,
]


async def opened(load: Callable[[], LoadedEmbedder]) -> LocalEmbedder:
    embedder = LocalEmbedder(EmbedderPolicy(cache_bytes=0), lambda _: load())
    embedder.start()
    await embedder.wait_until_ready()
    return embedder


async def test_vectors_ids_and_counts_are_those_of_a_model_in_the_process_bit_by_bit() -> None:
    # One model for both: how fast a layer is, by which one is chosen, is measured at each load.
    model = await asyncio.to_thread(open_embedder, ModelChoice())
    with tempfile.TemporaryDirectory(prefix="ml-") as folder:
        place = Path(folder) / "model.sock"
        async with ModelOwner(OwnedModels(), lambda _: model).answering(place):
            here = await opened(lambda: model)
            there = await opened(lambda: SharedEmbedder(place))
            near, far = await here.embed(TEXTS), await there.embed(TEXTS)
            counts = [
                [EmbedderTokenCounter(one).count(text) for text in TEXTS] for one in (here, there)
            ]
            names = [EmbedderTokenCounter(one).name for one in (here, there)]
            identities = [here.identity, there.identity]
            await here.close()
            await there.close()

    assert [one.vector.tobytes() for one in far] == [one.vector.tobytes() for one in near]
    assert [one.token_ids for one in far] == [one.token_ids for one in near]
    assert [one.unknown_share for one in far] == [one.unknown_share for one in near]
    assert counts[0] == counts[1]
    assert names[0] == names[1]
    assert identities[0] == identities[1]
