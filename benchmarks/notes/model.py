"""A language model in the agent's seat: the notes stand before the question, it names one kind.

The model runs in processes of their own, with the Python of an environment that holds it, and is
asked nothing twice: answers are kept by prompt, in a file that later runs read. Greedy, so the same
prompt has the same answer.
"""

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, cast

from benchmarks.notes.data import KINDS
from benchmarks.notes.vote import Asked, RewardKind, Shares

HEARD = 8
HEAD = f"What does a question ask for: {', '.join(KINDS[:-1])} or {KINDS[-1]}?\n\n"
ANSWERS = [f" {kind}" for kind in KINDS]
"""Every answer but these is impossible; their first letters tell them apart."""

WORKER = Path(__file__).with_name("model_worker.py")
LOG = "model.log"


class ModelFailed(Exception):
    """The model's process ended, or what it gave names no kind; the message says which."""


def prompt(asked: Asked) -> str:
    """The notes as answered questions, the strongest first, then the question."""
    notes = "".join(f"Question: {v.text}\nIt asks for: {v.says}\n\n" for v in asked.voices)
    return f"{HEAD}{notes}Question: {asked.question.text}\nIt asks for:"


def read_kind(text: str) -> str:
    """The kind that an answer begins to name. Raises ModelFailed where it names none of them."""
    word = text.strip()
    for kind in KINDS:
        if word and (kind.startswith(word) or word.startswith(kind)):
            return kind
    raise ModelFailed(f"the model answered {text!r}, which names none of {', '.join(KINDS)}")


class Process:
    """One process of the model. What it says beside its answers goes to the file `log`."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._log = log
        with log.open("ab") as said:
            self._process = subprocess.Popen(  # noqa: S603 - our own program, no shell
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )

    def ask(self, prompts: Sequence[str]) -> list[str]:
        """The kind that each names. All are written before the first answer is read, so that the
        process can take them as a batch: the answers to a thousand fit into the pipe. Raises
        ModelFailed where the process has ended.
        """
        lines = self._exchange([json.dumps({"prompt": one, "answers": ANSWERS}) for one in prompts])
        if not all(lines):
            status = self._process.wait()
            raise ModelFailed(f"the model's process ended, status {status}: see {self._log}")
        return [read_kind(str(json.loads(line)["text"])) for line in lines]

    def _exchange(self, lines: Sequence[str]) -> list[str]:
        """A line for each, an empty one where none came."""
        if self._process.stdin is None or self._process.stdout is None:
            raise ModelFailed("the model's process has no input or output")
        try:
            self._process.stdin.writelines(line + "\n" for line in lines)
            self._process.stdin.flush()
        except BrokenPipeError:
            return [""]
        return [self._process.stdout.readline() for _ in lines]

    def close(self) -> None:
        """Its input ends, and so does it."""
        if self._process.stdin is not None:
            # What was not taken any more is lost with the process.
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process.wait()


class Model:
    """The seat: several processes, and the answers that were given before. `device` is that of
    torch; without one, llama.cpp answers.
    """

    heard = HEARD
    reward_kind: RewardKind = "binary"

    def __init__(self, python: Path, processes: int, kept: Path, device: str | None = None) -> None:
        command = [str(python), str(WORKER), *([device] if device else [])]
        log = kept.with_name(LOG)
        self._processes = [Process(command, log) for _ in range(processes)]
        self._kept = kept
        self._answers = _read(kept)

    def answer(self, asked: Sequence[Asked]) -> list[Shares]:
        """All of one kind, for each: a single answer is not hedged."""
        prompts = [prompt(one) for one in asked]
        fresh = [one for one in dict.fromkeys(prompts) if _key(one) not in self._answers]
        parts = [fresh[n :: len(self._processes)] for n in range(len(self._processes))]
        with ThreadPoolExecutor(len(self._processes)) as pool:
            for answers in pool.map(_ask_each, self._processes, parts):
                self._keep(answers)
        return [only(self._answers[_key(one)]) for one in prompts]

    def _keep(self, answers: Mapping[str, str]) -> None:
        self._answers.update(answers)
        with self._kept.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps([key, kind]) + "\n" for key, kind in answers.items())

    def close(self) -> None:
        for process in self._processes:
            process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def only(answer: str) -> Shares:
    """A single answer as shares."""
    return {kind: float(kind == answer) for kind in KINDS}


def _ask_each(process: Process, prompts: Sequence[str]) -> dict[str, str]:
    return dict(zip(map(_key, prompts), process.ask(prompts), strict=True))


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _read(kept: Path) -> dict[str, str]:
    """Whole lines alone; what was cut off at the end is asked again."""
    if not kept.exists():
        return {}
    lines = kept.read_text(encoding="utf-8").split("\n")[:-1]
    return dict(cast("list[tuple[str, str]]", [json.loads(line) for line in lines]))
