"""On what and from which state of the code a measurement was taken."""

import os
import platform
import subprocess
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]


def stamp() -> dict[str, object]:
    """What does not change while a suite runs."""
    return {
        "revision": revision(),
        "python": platform.python_version(),
        "hardware": {
            "cpu": _cpu_model(),
            "cores": os.cpu_count(),
            "memory_bytes": psutil.virtual_memory().total,
            "system": platform.platform(),
        },
    }


def load() -> list[float]:
    """The load averages of the last 1, 5 and 15 minutes."""
    return [round(value, 2) for value in psutil.getloadavg()]


def revision(root: Path = ROOT) -> str:
    """The commit, with `+changed` where the working tree differs; `unknown` where `root` is not
    the top of a checkout.
    """
    top = _git(root, "rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != root.resolve():
        return "unknown"
    commit = _git(root, "rev-parse", "HEAD")
    changed = "+changed" if _git(root, "status", "--porcelain") else ""
    return commit + changed if commit else "unknown"


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - fixed words, no shell
            ["git", *words],  # noqa: S607 - whichever git is installed
            cwd=root,
            capture_output=True,
            check=False,
            text=True,
        )
    except OSError:
        return ""
    return done.stdout.strip()


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")
