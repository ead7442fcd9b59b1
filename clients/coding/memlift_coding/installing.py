"""Hooks go into a tool's settings, beside whatever stands there, and come out again."""

import contextlib
import difflib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import cast

EVENTS = ("UserPromptSubmit", "Stop")
OURS = ("memlift-coding hook ", "-m memlift_coding hook ")
"""By one of these a hook of ours is known."""

GRACE = 5
"""Seconds that a tool waits for a hook beyond its own deadline."""

PLUGIN = {
    "__init__.py": (
        # Hermes looks for the word MemoryProvider in the text of a plugin, and passes others over.
        '"""A MemoryProvider; written by `memlift-coding install hermes`."""\n\n'
        "from memlift_coding.hermes import MemLiftProvider, register\n\n"
        '__all__ = ["MemLiftProvider", "register"]\n'
    ),
    "plugin.yaml": (
        "name: memlift\nversion: 0.1.0\n"
        'description: "Advice from earlier tasks; test runs say which of it helps."\n'
    ),
}


class CannotInstall(Exception):
    """A file is not what it must be; the message names it, and nothing was written."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a file is going to hold; None: it goes."""

    path: Path
    text: str | None
    before: str = ""

    @property
    def shown(self) -> str:
        """Which lines go and which come."""
        old, new = self.before.splitlines(), (self.text or "").splitlines()
        names = ("" if self.before else "(new)", "" if self.text is not None else "(removed)")
        head = [f"{self.path} {' '.join(filter(None, names))}".rstrip()]
        return "\n".join(head + list(difflib.unified_diff(old, new, lineterm="", n=1))[2:])

    def make(self) -> None:
        """Whole or not at all, with the rights that the file had."""
        if self.text is None:
            self.path.unlink(missing_ok=True)
            if self.path.parent == plugin_folder():
                shutil.rmtree(self.path.parent / "__pycache__", ignore_errors=True)
                with contextlib.suppress(OSError):
                    self.path.parent.rmdir()
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        place = self.path.resolve()
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=place.name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(self.text)
            Path(name).chmod(place.stat().st_mode if place.exists() else 0o644)
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def settings_path(tool: str, *, project: bool) -> Path:
    """Where a tool looks for hooks: of this folder, or of this user."""
    folder, name, variable = {
        "claude-code": (".claude", "settings.json", "CLAUDE_CONFIG_DIR"),
        "codex": (".codex", "hooks.json", "CODEX_HOME"),
    }[tool]
    if project:
        return Path.cwd() / folder / name
    named = os.environ.get(variable)
    return (Path(named) if named else Path.home() / folder) / name


def with_hooks(path: Path, command: str, deadline: float) -> Change:
    """The settings with our hooks at their end; those that were there before are replaced.
    Raises CannotInstall.
    """
    before = read_text(path)
    settings = read_settings(path, before)
    hooks = without_ours(path, settings)
    for event in EVENTS:
        ours = {"type": "command", "command": command, "timeout": ceil(deadline) + GRACE}
        hooks[event] = [*hooks.get(event, []), {"hooks": [ours]}]
    return Change(path, _written(settings | {"hooks": hooks}, before), before)


def without_hooks(path: Path) -> Change | None:
    """The settings without our hooks; None where there are none. Raises CannotInstall."""
    before = read_text(path)
    settings = read_settings(path, before)
    hooks = without_ours(path, settings)
    if hooks == settings.get("hooks", {}):
        return None
    left = settings | {"hooks": hooks}
    if not hooks:
        del left["hooks"]
    return Change(path, _written(left, before) if left else None, before)


def read_text(path: Path) -> str:
    """Empty where there is no file. Raises CannotInstall where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as fault:
        raise CannotInstall(f"{path} cannot be read: {fault}") from None


def read_settings(path: Path, text: str) -> dict[str, object]:
    """The settings that a file holds. Raises CannotInstall where they are none."""
    try:
        settings: object = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as fault:
        raise CannotInstall(f"{path} is not valid JSON: {fault}") from None
    if not isinstance(settings, dict):
        raise CannotInstall(f"{path} must hold a JSON object")
    return cast("dict[str, object]", settings)


def without_ours(path: Path, settings: Mapping[str, object]) -> dict[str, list[object]]:
    """The hooks of others, as they stand, by event."""
    found = settings.get("hooks", {})
    if not isinstance(found, dict):
        raise CannotInstall(f"{path}: `hooks` must be an object")
    others: dict[str, list[object]] = {}
    for event, groups in cast("dict[str, object]", found).items():
        if not isinstance(groups, list):
            raise CannotInstall(f"{path}: `hooks.{event}` must be a list")
        listed = cast("list[object]", groups)
        kept = [left for group in listed if (left := _others(group)) is not None]
        if kept or not listed:
            others[event] = kept
    return others


def _others(group: object) -> object | None:
    """A group without our hooks; None where there were no others."""
    if not isinstance(group, dict):
        return group
    known = cast("dict[str, object]", group)
    hooks = known.get("hooks")
    if not isinstance(hooks, list):
        return known
    kept = [hook for hook in cast("list[object]", hooks) if not _is_ours(hook)]
    if kept == hooks:
        return known
    return known | {"hooks": kept} if kept else None


def _is_ours(hook: object) -> bool:
    command = cast("dict[str, object]", hook).get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and any(mark in command for mark in OURS)


def _written(settings: Mapping[str, object], before: str) -> str:
    """As the file was indented."""
    found = re.search(r'\n([ \t]+)"', before)
    return json.dumps(settings, indent=found[1] if found else 2, ensure_ascii=False) + "\n"


def plugin_folder() -> Path:
    """Where Hermes looks for providers of this user."""
    named = os.environ.get("HERMES_HOME")
    return (Path(named) if named else Path.home() / ".hermes") / "plugins" / "memlift"


def plugin_changes(*, remove: bool) -> list[Change]:
    """Our two files there, or that they go. Raises CannotInstall where one is somebody else's."""
    changes: list[Change] = []
    for name, text in PLUGIN.items():
        path = plugin_folder() / name
        there = read_text(path)
        if there and "memlift" not in there.lower():
            raise CannotInstall(f"{path} is not ours")
        if there or not remove:
            changes.append(Change(path, None if remove else text, there))
    return changes
