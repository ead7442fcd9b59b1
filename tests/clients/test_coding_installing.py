"""Hooks go into a tool's settings and come out again; what others wrote stays as it was."""

import json
import sys
from pathlib import Path

import pytest
from memlift_coding.command import main

OTHERS = {
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard"}]}],
        "Notification": [],
    },
    "permissions": {"allow": ["Bash(ls:*)"]},
}
PLACES = {"claude-code": (".claude", "settings.json"), "codex": (".codex", "hooks.json")}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "HERMES_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "home"


@pytest.mark.parametrize("tool", PLACES)
def test_one_command_installs_and_one_removes_beside_what_is_there(
    home: Path, tool: str, capsys: pytest.CaptureFixture[str]
):
    path = home.joinpath(*PLACES[tool])
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(OTHERS, indent=4) + "\n")
    path.chmod(0o600)

    assert main(["install", tool, "--namespace", "builds", "--key-file", "k"]) == 0
    shown = capsys.readouterr().out
    once = path.read_text()
    assert main(["install", tool, "--namespace", "builds", "--key-file", "k"]) == 0

    assert path.read_text() == once
    assert str(path) in shown
    added = [line[1:].strip() for line in shown.splitlines() if line.startswith("+")]
    assert all(line.strip() in once for line in added)
    hooks = json.loads(once)["hooks"]
    [ours] = hooks["UserPromptSubmit"][0]["hooks"]
    key = Path.cwd() / "k"
    assert ours["command"] == (
        f"{sys.executable} -P -m memlift_coding hook {tool} --namespace builds --key-file {key}"
    )
    assert hooks["Stop"][0] == OTHERS["hooks"]["Stop"][0]
    assert hooks["Stop"][1]["hooks"] == [ours]
    assert '\n    "model"' in once
    assert path.stat().st_mode & 0o777 == 0o600
    assert main(["remove", tool]) == 0
    assert json.loads(path.read_text()) == OTHERS


@pytest.mark.parametrize("tool", PLACES)
def test_a_file_of_ours_alone_goes_as_it_came(home: Path, tool: str):
    path = Path.cwd().joinpath(*PLACES[tool])

    assert main(["install", tool, "--project", "--dry-run"]) == 0
    assert not path.exists()
    assert main(["install", tool, "--project"]) == 0
    assert f'"memlift-coding hook {tool}"' in path.read_text()
    assert main(["remove", tool, "--project"]) == 0
    assert not path.exists()
    assert not home.exists()
    assert main(["remove", tool, "--project"]) == 0


@pytest.mark.parametrize("tool", PLACES)
def test_settings_of_a_folder_name_no_path_of_this_machine(
    home: Path, tool: str, capsys: pytest.CaptureFixture[str]
):
    path = Path.cwd().joinpath(*PLACES[tool])

    assert main(["install", tool, "--project", "--key-file", str(home / "k")]) == 1
    assert "--key-file" in capsys.readouterr().err
    assert not path.exists()
    assert main(["install", tool, "--project", "--key-file", "keys/k"]) == 0
    assert f'"memlift-coding hook {tool} --key-file keys/k"' in path.read_text()


@pytest.mark.parametrize(
    ("option", "value", "limit"),
    [
        *(("--patience", value, "at most 600") for value in ("nan", "-1", "0", "601", "inf")),
        ("--tests", "(", "no regular expression"),
    ],
)
def test_an_option_that_is_out_of_range_is_refused_by_name(
    home: Path, option: str, value: str, limit: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as refused:
        main(["install", "claude-code", f"{option}={value}"])

    assert refused.value.code == 2
    told = capsys.readouterr().err
    assert option in told
    assert limit in told
    assert not home.exists()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"hooks": {', "is not valid JSON"),
        ("// mine\n{}", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "must hold a JSON object"),
        ('{"hooks": []}', "`hooks` must be an object"),
        ('{"hooks": {"Stop": {}}}', "`hooks.Stop` must be a list"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
@pytest.mark.parametrize("command", ["install", "remove"])
def test_a_file_that_is_not_understood_is_named_and_left_alone(
    home: Path, text: str | bytes, fault: str, command: str, capsys: pytest.CaptureFixture[str]
):
    path = home / ".claude" / "settings.json"
    path.parent.mkdir(parents=True)
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(raw)

    assert main([command, "claude-code"]) == 1

    told = capsys.readouterr().err
    assert str(path) in told
    assert fault in told
    assert path.read_bytes() == raw
    assert list(path.parent.iterdir()) == [path]


def test_a_settings_file_that_is_a_link_stays_one(home: Path):
    kept = home / "dotfiles" / "claude.json"
    kept.parent.mkdir(parents=True)
    kept.write_text('{"model": "opus"}')
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.symlink_to(kept)

    assert main(["install", "claude-code"]) == 0

    assert path.is_symlink()
    assert json.loads(kept.read_text())["model"] == "opus"
    assert "Stop" in json.loads(kept.read_text())["hooks"]


def test_groups_that_are_shared_with_others_keep_theirs(home: Path):
    path = home / ".codex" / "hooks.json"
    assert main(["install", "codex"]) == 0
    settings = json.loads(path.read_text())
    other = {"type": "command", "command": "say done"}
    settings["hooks"]["Stop"][0]["hooks"].append(other)
    path.write_text(json.dumps(settings))

    assert main(["remove", "codex"]) == 0

    assert json.loads(path.read_text()) == {"hooks": {"Stop": [{"hooks": [other]}]}}


def test_hermes_gets_a_plugin_that_goes_again(home: Path, capsys: pytest.CaptureFixture[str]):
    folder = home / ".hermes" / "plugins" / "memlift"

    assert main(["install", "hermes"]) == 0
    assert " MemoryProvider" in (folder / "__init__.py").read_text()
    assert "name: memlift" in (folder / "plugin.yaml").read_text()
    assert "memory.provider memlift" in capsys.readouterr().out
    assert main(["remove", "hermes"]) == 0
    assert not folder.exists()
    folder.mkdir()
    (folder / "__init__.py").write_text("mine = True\n")
    assert main(["install", "hermes"]) == 1
    assert main(["install", "hermes", "--project"]) == 1
    assert (folder / "__init__.py").read_text() == "mine = True\n"
