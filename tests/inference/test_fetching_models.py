"""A model that is not here is fetched where that is allowed, and given up with a sentence."""

import socket
from pathlib import Path

import pytest
from huggingface_hub import constants

from memory.inference import sentence_models
from memory.inference.loading import ModelChoice, open_embedder
from memory.kernel.errors import Unavailable


def refused(name: str) -> str:
    with pytest.raises(Unavailable) as fault:
        open_embedder(ModelChoice(name))
    assert fault.value.kind == "model_not_found"
    assert "Error" not in fault.value.detail
    return fault.value.detail


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def test_a_hub_that_does_not_answer_is_named_at_once_and_given_up_soon(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(constants, "ENDPOINT", url)
        monkeypatch.setattr(sentence_models, "HUB_SECONDS", 0.2)

        said = refused("all-MiniLM-L12-v2")

    assert f"fetching the model sentence-transformers/all-MiniLM-L12-v2 from {url}" in caplog.text
    assert f"{url} did not answer within" in said


def test_a_hub_is_not_asked_unless_that_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    assert "unless HF_HUB_OFFLINE=0 is set" in refused("all-MiniLM-L12-v2")


def test_a_name_that_can_be_none_is_not_asked_for() -> None:
    assert refused("/nowhere/model").startswith("there is no folder /nowhere/model: ")
    assert "that is no name of a model on the hub" in refused("a/b/c")


def a_cached_model(cache: Path, *files: str) -> Path:
    """In the layout of the library's cache."""
    repository = cache / "models--acme--words"
    for folder in ("refs", "blobs", "snapshots/1f"):
        (repository / folder).mkdir(parents=True)
    (repository / "refs" / "main").write_text("1f")
    for name in files:
        (repository / name).write_text("{}")
    return repository


def test_what_the_cache_has_is_not_asked_for(tmp_path: Path) -> None:
    repository = a_cached_model(tmp_path, "snapshots/1f/model.safetensors")

    assert sentence_models._fetch("acme/words") == repository / "snapshots" / "1f"


@pytest.mark.parametrize(
    "files", [["snapshots/1f/config.json"], ["snapshots/1f/a.safetensors", "blobs/2e.incomplete"]]
)
def test_a_download_that_was_broken_off_is_gone_on_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: list[str]
) -> None:
    a_cached_model(tmp_path, *files)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    assert "unless HF_HUB_OFFLINE=0 is set" in refused("acme/words")
