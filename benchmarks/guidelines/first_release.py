"""What the compiler of the first release says of the same notes.

Its own code is taken out of the repository's history into a folder that is deleted afterwards, and
run there in a process of its own.
"""

import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

REVISION = "260469b"
ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
from datetime import datetime
from uuid import UUID
from memory.domain.bank import Trust
from memory.guideline.compiler import Budget, Framing, compile_guideline
from memory.guideline.entry import Entry

class Letters:
    name = "letters"
    def count(self, text):
        return len(text) // 8

def entry(note, place):
    return Entry(id=UUID(note["id"]), kind="experience", situation=note["situation"],
        lesson=note["lesson"], author=note["author"], score=1 - place / 100, effective_weight=1.0,
        trust=Trust.UNVERIFIED, learned_at=datetime.fromisoformat(note["learned_at"]))

budget = Budget(32000, Letters())
found = []
for notes in json.load(sys.stdin):
    entries = [entry(note, place) for place, note in enumerate(notes["notes"])]
    found.append(compile_guideline(entries, budget, Framing(notes["category"])).text)
json.dump(found, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class OldNote:
    """A memory as the first release's compiler is given it: neutral and unverified."""

    id: str
    situation: str
    lesson: str
    author: str
    learned_at: str


@dataclass(frozen=True, slots=True)
class OldGuideline:
    """The notes of one guideline, the strongest first, and the task's category."""

    category: str
    notes: Sequence[OldNote]


def compile_as_first(guidelines: Sequence[OldGuideline]) -> list[str] | None:
    """The text of each; None where the history is not at hand."""
    archive = _run(["git", "archive", REVISION, "memory"])
    if archive is None:
        return None
    with TemporaryDirectory() as name:
        with tarfile.open(fileobj=BytesIO(archive)) as packed:
            packed.extractall(name, filter="data")
        given = json.dumps([asdict(one) for one in guidelines]).encode()
        said = _run([sys.executable, "-c", PROGRAM], Path(name), given)
    if said is None:
        return None
    texts: list[str] = json.loads(said)
    return texts


def _run(words: Sequence[str], folder: Path = ROOT, given: bytes | None = None) -> bytes | None:
    """What a command prints; None where it fails. Of the environment it gets the path alone."""
    try:
        done = subprocess.run(  # noqa: S603 - our own command lines, no shell
            words, cwd=folder, input=given, capture_output=True, check=True, env=_environment()
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def _environment() -> Mapping[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
