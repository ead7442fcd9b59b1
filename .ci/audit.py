# noqa: INP001 - a script, run by path
"""Look the locked packages up among known vulnerabilities, where their list can be reached.

It never fails a build: an advisory is news of a package, not of a change. It says what it found,
or plainly that it was not run.
"""

import json
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / ".audit"
TOOL = "pip-audit==2.9.0"
LOCKS = ("requirements.lock", "requirements-llm.lock", "requirements-otel.lock")
SECONDS = 90


def run(*command: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(  # noqa: S603 - our own command line, no shell
        [*map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        cwd=ROOT,
    )


def main() -> None:
    """A line for each lock."""
    python = PLACE / "bin" / "python"
    try:
        if not python.exists():
            venv.create(PLACE, with_pip=True)
        made = run(python, "-m", "pip", "install", "--quiet", TOOL)
        if made.returncode != 0:
            say(f"not run: no advisory data ({TOOL} could not be installed)")
            return
        for lock in LOCKS:
            audit(python, lock)
    except (OSError, subprocess.SubprocessError) as fault:
        say(f"not run: no advisory data ({type(fault).__name__})")


def audit(python: Path, lock: str) -> None:
    """What is known of the packages of one lock; they are not installed for that."""
    words = ("--requirement", lock, "--disable-pip", "--require-hashes", "--format=json")
    done = run(python, "-m", "pip_audit", *words, "--progress-spinner=off")
    say(f"{lock}: {told(done.stdout)}")


def told(answer: str) -> str:
    """The answer in words. A package of which nothing is known is not one that is known to be well:
    the tool says that none is vulnerable also where it could look none up.
    """
    try:
        packages = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return "not run: no advisory data"
    known = [one for one in packages if "skip_reason" not in one]
    if not known:
        return "not run: no advisory data"
    found = [
        f"{one['name']} {one['version']}: {', '.join(vuln['id'] for vuln in one['vulns'])}"
        for one in known
        if one["vulns"]
    ]
    looked = f"{len(known)} of {len(packages)} packages looked up"
    return "; ".join([looked, *(found or ["no known vulnerability"])])


def say(line: str) -> None:
    sys.stdout.write(f"pip-audit: {line}\n")


if __name__ == "__main__":
    main()
