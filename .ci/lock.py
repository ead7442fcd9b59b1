# noqa: INP001 - a script, run by path
"""Write the lock files: every package pinned by hash, without torch and its accelerator packages.

Which build of torch fits depends on the machine, so `make install` installs it by version alone.
The server's locks come from one solution, so that they agree wherever they overlap; that of the
adapters is apart, for an environment of its own beside the frameworks; so is that of the
peers; that of Ray holds what Ray adds to the developers'.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = re.compile(r"(torch|triton|nvidia-.*|cuda-.*)==")
TORCH = "torch==2.13.0"
PEERS = ["mem0ai==2.2.1"]
"""What the benchmarks stand beside, in an environment of its own."""


def requirements() -> dict[str, list[str]]:
    """What each lock file must satisfy, read from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    runtime = project["project"]["dependencies"]
    extras = project["project"]["optional-dependencies"]
    return {
        "requirements.lock": runtime,
        "requirements-dev.lock": runtime + project["dependency-groups"]["dev"] + extras["otel"],
        "requirements-llm.lock": runtime + extras["llm"],
        "requirements-otel.lock": runtime + extras["otel"],
    }


def adapters() -> list[str]:
    """What clients/agents and its tests stand beside: the client's needs, and every framework."""
    agents, client = (
        tomllib.loads((ROOT / "clients" / name / "pyproject.toml").read_text())
        for name in ("agents", "python")
    )
    extras = agents["project"]["optional-dependencies"].values()
    lines = [*client["project"]["dependencies"], *agents["dependency-groups"]["test"]]
    return [*lines, *(line for extra in extras for line in extra)]


def beside(lock: str, wanted: list[str]) -> str:
    """The pins of what is wanted that the lock has not: an environment that has it adds them."""
    named = re.compile(r"^([A-Za-z0-9._-]+)==\S+", re.MULTILINE)
    text = (ROOT / lock).read_text()
    with tempfile.TemporaryDirectory() as folder:
        agreed = Path(folder, "agreed.txt")
        agreed.write_text("\n".join(match[0] for match in named.finditer(text)))
        pinned = compiled(wanted, "--generate-hashes", "--constraint", str(agreed))
    there = set(named.findall(text))
    return "".join(block for block in blocks(pinned) if block.partition("==")[0] not in there)


def compiled(wanted: list[str], *options: str) -> str:
    """The full list of pinned packages for what is wanted."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "wanted.in"), Path(folder, "pinned.txt")
        source.write_text("\n".join(wanted))
        command = [sys.executable, "-m", "piptools", "compile", "--quiet", "--strip-extras"]
        quiet = ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-trusted-host"]
        quiet += ["--no-emit-options", "--no-emit-find-links", "--allow-unsafe"]
        command += [*quiet, *options, "-o", str(target), str(source)]
        subprocess.run(command, check=True)  # noqa: S603 - pip-tools, with arguments of our own
        return target.read_text()


def blocks(pinned: str) -> list[str]:
    """One block a package: its pin and its hashes; what torch brings for its device left out."""
    bare = re.sub(r"^(#.*)?\n", "", pinned, flags=re.MULTILINE)
    packages = re.split(r"^(?=[A-Za-z0-9])", bare, flags=re.MULTILINE)
    return [text for text in packages if "==" in text and not LEFT_OUT.match(text)]


def write(name: str, pinned: str) -> None:
    (ROOT / name).write_text(
        "# Written by `make lock`; install with --require-hashes --no-deps.\n"
        + "".join(blocks(pinned))
    )


def main() -> None:
    wanted = requirements()
    everything = sorted({line for lines in wanted.values() for line in lines})
    with tempfile.TemporaryDirectory() as folder:
        agreed = Path(folder, "agreed.txt")
        agreed.write_text(compiled([*everything, TORCH]))
        for name, lines in wanted.items():
            write(name, compiled([*lines, TORCH], "--generate-hashes", "--constraint", str(agreed)))
    write("requirements-adapters.lock", compiled(adapters(), "--generate-hashes"))
    write("requirements-peers.lock", compiled(PEERS, "--generate-hashes"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extra = project["project"]["optional-dependencies"]["ray"]
    write("requirements-ray.lock", beside("requirements-dev.lock", extra))


if __name__ == "__main__":
    main()
