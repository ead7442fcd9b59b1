"""A page of the documentation as its reader follows it: what to run, in order, and what it prints.

The conventions an author needs:

* A ``bash`` or ``python`` block is run. All blocks of a page share one working folder, one
  environment and one Python namespace, so a variable set in one is there in the next.
* A ``text`` or ``json`` block right after it is what it prints. ``…`` stands for any text, decimal
  numbers agree to the digits shown, and line breaks and spaces do not count.
* A block inside an HTML comment is run too; it sets up what the page takes for granted.
* ``<!-- file: NAME -->`` above a block saves it under that name instead of running it.
* ``<!-- not run: REASON -->`` above a block keeps it from being run.
"""

import contextlib
import io
import os
import re
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from memlift_client import MemLift

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs/tutorial").glob("*.md")),
    *sorted((ROOT / "docs/how-to").glob("*.md")),
    *sorted((ROOT / "clients").glob("*/README.md")),
]
DOCUMENTED_ADDRESS = "127.0.0.1:8000"
RUN = ("bash", "python")
PRINTED = ("text", "json")
BLOCK_SECONDS = 300

_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"(-?\d+\.\d+)")
_ANY_NUMBER = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language and text, and the comment right above it."""

    page: Path
    line: int
    language: str
    text: str
    note: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def reason_not_to_run(self) -> str:
        return self.note.partition("not run:")[2].strip()

    @property
    def file_name(self) -> str:
        return self.note.partition("file:")[2].strip()

    @property
    def is_run(self) -> bool:
        return self.language in RUN and not self.reason_not_to_run and not self.file_name

    @property
    def is_printed(self) -> bool:
        return self.language in PRINTED and not self.reason_not_to_run


def read_blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page=page,
            line=text.count("\n", 0, found.start("text")),
            language=found["language"],
            text=found["text"],
            note=found["note"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]


def find_unexplained(blocks: list[Block]) -> list[Block]:
    """Blocks that are neither run nor saved nor compared, and do not say why."""
    unexplained: list[Block] = []
    answers = False
    for block in blocks:
        explained = block.is_run or block.file_name or block.reason_not_to_run
        if not explained and not (block.is_printed and answers):
            unexplained.append(block)
        answers = block.is_run
    return unexplained


@dataclass
class Reader:
    """Somebody who follows a page in `folder` and talks to the server at `address`.

    The environment is this process's own, so that Python and bash see the same variables.
    """

    folder: Path
    address: str
    names: dict[str, object] = field(default_factory=dict[str, object])
    shells: list[int] = field(default_factory=list[int])

    def follow(self, blocks: list[Block]) -> None:
        """Run every block; what is printed has to be what the page shows."""
        printed = ""
        for block in blocks:
            if block.file_name:
                (self.folder / block.file_name).write_text(self._here(block.text))
            elif block.is_run:
                run = self._run_bash if block.language == "bash" else self._run_python
                printed = run(block)
            elif block.is_printed:
                difference = find_difference(self._here(block.text), printed)
                assert difference is None, f"{block}: {difference}"

    def leave(self) -> None:
        """End what the page left running in the background, and close its clients."""
        for group in self.shells:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)
        for value in self.names.values():
            if isinstance(value, MemLift):
                value.close()

    def _here(self, text: str) -> str:
        return text.replace(DOCUMENTED_ADDRESS, self.address)

    def _run_bash(self, block: Block) -> str:
        """With `-a` every variable and function goes into the environment, and so to the next."""
        left = self.folder / ".environment"
        shell = subprocess.Popen(
            ["bash", "-euac", f"set -o pipefail\n{self._here(block.text)}\nenv -0 > '{left}'"],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.shells.append(shell.pid)
        printed, errors = shell.communicate(timeout=BLOCK_SECONDS)
        assert shell.returncode == 0, f"{block} ended with {shell.returncode}: {printed}{errors}"
        for entry in left.read_text().split("\0"):
            name, _, value = entry.partition("=")
            if name:
                os.environ[name] = value
        return printed

    def _run_python(self, block: Block) -> str:
        output = io.StringIO()
        # Line numbers of a traceback are then those of the page.
        code = compile("\n" * block.line + self._here(block.text), block.page, "exec")
        with contextlib.redirect_stdout(output):
            exec(code, self.names)
        return output.getvalue()


def find_difference(shown: str, printed: str) -> str | None:
    """Where `printed` is not what `shown` promises; None where it is."""
    pieces = _squeeze(shown).split("…")
    actual = _squeeze(printed)
    position = 0
    for number, piece in enumerate(pieces):
        pattern = "".join(
            _ANY_NUMBER if index % 2 else re.escape(part)
            for index, part in enumerate(_NUMBER.split(piece))
        )
        start = r"\A" if number == 0 else ""
        end = r"\Z" if number == len(pieces) - 1 else ""
        found = re.compile(start + pattern + end).search(actual, position if number else 0)
        if found is None or not _agree(_NUMBER.findall(piece), found.groups()):
            return f"shown “{piece}”, printed “{actual[position:]}”"
        position = found.end()
    return None


def _squeeze(text: str) -> str:
    return "".join(text.split())


def _agree(shown: list[str], printed: tuple[str, ...]) -> bool:
    return all(
        float(one) == round(float(other), len(one.partition(".")[2]))
        for one, other in zip(shown, printed, strict=True)
    )
