"""The ways in: one entry each. What is measured of it follows from the entry."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from memlift_client import MemLift

from benchmarks.bench import Served

ROOT = Path(__file__).parents[2]
EXAMPLES = Path("benchmarks/interfaces/examples")
FRAMEWORKS = Path("clients/agents/examples")
WATCH = Path("benchmarks/interfaces/own_time.py")
FRAMEWORK_PYTHON = Path(".venv-adapters/bin/python")
"""The environment of the frameworks, as `make install-adapters` makes it."""
TYPESCRIPT = Path("clients/typescript/dist/index.js")
"""The client in TypeScript, as `make test-typescript` builds it."""
HOOKS = Path("clients/coding/memlift_coding/__init__.py")
Command = Callable[[Path], Sequence[str]]


def by_python(example: Path) -> Sequence[str]:
    """A module of this project."""
    return (sys.executable, "-m", ".".join(example.with_suffix("").parts))


def by_pytest(example: Path) -> Sequence[str]:
    """A test run, without this project's own settings."""
    words = ("-q", "-c", "/dev/null", "--rootdir", "/tmp", "-p", "no:cacheprovider")  # noqa: S108 - nothing is written there
    return (sys.executable, "-m", "pytest", *words, "-p", "pytest_memlift", str(example))


def by_shell(example: Path) -> Sequence[str]:
    """A script."""
    return ("sh", "-eu", str(example))


def by_host(example: Path) -> Sequence[str]:
    """A configuration, read by a host of the Model Context Protocol."""
    return (sys.executable, "-m", "benchmarks.interfaces.host", str(example))


def by_hooks(example: Path) -> Sequence[str]:
    """A script that installs hooks, and the coding agent that calls them."""
    return (sys.executable, "-m", "benchmarks.interfaces.coding_host", str(example))


def by_framework(example: Path) -> Sequence[str]:
    """A script in the environment of the frameworks."""
    return (str(ROOT / FRAMEWORK_PYTHON), str(example))


def watching(example: Path, times: int) -> Sequence[str]:
    """The same, looked at from inside."""
    return (str(ROOT / FRAMEWORK_PYTHON), str(WATCH), str(example), str(times))


def by_node(example: Path) -> Sequence[str]:
    """A module of JavaScript."""
    return ("node", str(example))


@dataclass(frozen=True, slots=True)
class Adapter:
    """A way in.

    example: the file that its user writes: its lines are counted, and it is run. needs: modules
    that its interpreter must have. built: a file that is made before. cites: its agent says what it
    acted on. loops: one run does all tasks of `agent`, in one process where `timed`; another
    example does one task of its own, `watched` where it is a script that runs again in one process.
    """

    name: str
    example: Path
    command: Command
    needs: tuple[str, ...] = ()
    cites: bool = True
    loops: bool = True
    timed: bool = True
    watched: bool = False
    built: Path | None = None

    def words(self) -> Sequence[str]:
        """What is run."""
        return self.command(self.example)

    def absent(self) -> str | None:
        """Why it cannot be run here."""
        for path in (self.example, self.built or self.example):
            if not (ROOT / path).exists():
                return f"{path} is not there"
        words = self.words()
        if which(words[0]) is None:
            return f"{words[0].removeprefix(f'{ROOT}/')} is not there"
        for module in self.needs:
            if not _has_module(words[0], module):
                return f"{module} is not installed"
        return None


def _has_module(python: str, module: str) -> bool:
    words = (python, "-c", f"import {module}")
    return subprocess.run(words, capture_output=True, check=False).returncode == 0  # noqa: S603 - an interpreter of ours


def variables(server: Served, memory: MemLift) -> dict[str, str]:
    """The environment of an example: where the server is, and where the project."""
    paths = (ROOT, *(ROOT / "clients" / one for one in ("python", "pytest", "agents", "coding")))
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "MEMLIFT_URL": server.url,
        "MEMLIFT_KEY": server.key,
        "MEMLIFT_NAMESPACE": memory.get_namespace().slug,
        "MEMLIFT_AGENT": "bot",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }


def _framework(name: str, example: str, module: str, *, cites: bool = True) -> Adapter:
    needs = ("memlift_agents", module)
    path = FRAMEWORKS / example
    return Adapter(
        name, path, by_framework, needs, cites=cites, loops=False, timed=False, watched=True
    )


PLAIN = Adapter("plain", EXAMPLES / "plain.py", by_python)
ADAPTERS: Sequence[Adapter] = (
    Adapter("python_task", EXAMPLES / "python_task.py", by_python),
    Adapter("python_async", EXAMPLES / "python_async.py", by_python),
    Adapter("python_learn", EXAMPLES / "python_learn.py", by_python),
    Adapter("pytest", EXAMPLES / "pytest_plugin.py", by_pytest),
    Adapter("command", EXAMPLES / "command.sh", by_shell, cites=False, timed=False),
    Adapter("mcp_http", EXAMPLES / "mcp_http.json", by_host, ("mcp",)),
    Adapter("mcp_stdio", EXAMPLES / "mcp_stdio.json", by_host, ("mcp",)),
    Adapter("coding", EXAMPLES / "coding.sh", by_hooks, timed=False, built=HOOKS),
    _framework("pydantic_ai", "pydantic_ai_agent.py", "pydantic_ai"),
    _framework("langchain", "langchain_agent.py", "langchain"),
    _framework("langgraph", "langgraph_store.py", "langgraph", cites=False),
    _framework("openai_agents", "openai_agent.py", "agents"),
    _framework("inspect_ai", "inspect_evaluation.py", "inspect_ai"),
    _framework("dspy", "dspy_evaluation.py", "dspy"),
    _framework("ag2", "ag2_agent.py", "ag2"),
    _framework("google_adk", "google_adk_agent.py", "google.adk"),
    Adapter("typescript", EXAMPLES / "typescript.mjs", by_node, built=TYPESCRIPT),
)
