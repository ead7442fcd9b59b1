"""Which command of a turn was a test run, and how it went.

A status counts where it is the test's own: not behind a pipe, `;` or `||`, and one other than 0 not
where another command may have failed before. There the runner's last words are read; where they say
nothing, nothing is known, and a receipt stays pending.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from memlift_coding.transcripts import Moment

RUNNERS = re.compile(
    r"pytest|py\.test|tox|nox|unittest|nose2|jest|vitest|mocha|ava|rspec|phpunit|pest|ctest|ginkgo"
    r"|busted"
)
"""Each call of these is a test run."""

TOOLS = re.compile(
    r"npm|pnpm|yarn|bun|deno|cargo|go|dotnet|mix|swift|bazel|flutter|dart|rails|composer|sbt|lein"
    r"|stack|cabal|meson|zig|nx|turbo|manage\.py|setup\.py|artisan"
)
"""These test where their first word says so."""

TARGETS = re.compile(r"make|just|task|rake|mvnw?|gradlew?|ninja")
"""Of these any word may, and `check` and `verify` say so too."""

KINDS = re.compile(
    r"tests?|run|ci|all|units?|integration|e2e|smoke|functional|acceptance|regression|system|fast"
    r"|slow|quick|full|short|race|parallel|coverage|cov|api|ui|web|browser|app|core|lib|client"
    r"|backend|frontend|node|python|py|js|ts|go|rust|jest|vitest|mocha|pytest"
)
"""What a target that runs tests is called: `test-data` and `clean-test` do something else."""

BEFORE = frozenset({"run", "run-script", "exec", "build", "nextest"})
WRAPPERS = (
    *(("env",), ("sudo",), ("time",), ("command",), ("nice",), ("xvfb-run", "-a"), ("xvfb-run",)),
    *((one, "run") for one in ("uv", "poetry", "pipenv", "pdm", "hatch", "rye")),
    *(("coverage", "run", "-m"), ("bundle", "exec"), ("pnpm", "exec"), ("npx",), ("bunx",)),
)
LISTS_ONLY = re.compile(
    r"--(?:help|version|collect-only|co|setup-plan|setup-only|fixtures|fixtures-per-test|markers"
    r"|no-run|dry-run|dry|just-print|recon|question|touch|list|list-tests|listTests|listenvs"
    r"|list-files|show-only|showConfig|notest|install-only)|-h|-list|-DskipTests|-Dmaven.test.skip"
)
LISTS_BY_NAME = {
    "make": r"-(?:[BbdeikLmprRsSvw]|j\d*)*[nqt].*",
    "just": "-[nls]",
    "task": "-[nla]",
    "rake": "-[nTPWD]",
    "ninja": "-[nt]",
    "gradle": "-m",
    "gradlew": "-m",
    "go": "-[cn]",
    "ctest": "-N",
    "tox": "-[la]",
    "nox": "-l",
}
"""Letters that mean something else to others: `pytest -n 4` runs tests, `make -n test` none."""

VALUED = frozenset({"-C", "-f", "--directory", "--file", "--prefix", "--cwd", "--dir", "--filter"})
"""The word after it is no target."""

LEAVES = frozenset({"exit", "return", "exec"})
NOT_RUN = frozenset({124, 126, 127})
"""It took too long, could not be run, or was not found."""

NO_TESTS = frozenset({3, 4, 5})
"""Of pytest: it broke itself, was called wrongly, found no test."""

UNSTARTED = re.compile(
    r"No rule to make target|no makefile found|missing script|script not found|no such command"
    r"|couldn't find a script|could not determine executable|could not read package\.json"
    r"|No module named|cannot find module|can't open file|No such file or directory"
    r"|Permission denied|\bnot found$|not found[:\"]|could not find `Cargo\.toml`"
    r"|cannot find main module|go\.mod file not found|no Go files|does not contain recipe"
    r"|no (?:justfile|rakefile) found|don't know how to build task|does not exist"
    r"|task '\S+' not found|no POM in this directory|unknown (?:target|command|option)"
    r"|command \S+ not found|unrecognized arguments",
    re.MULTILINE | re.IGNORECASE,
)
"""Perhaps nothing ran; where a runner says that tests failed, they did."""

EMPTY = re.compile(
    r"no tests? to run|\[no test files\]|no tests? (?:files? )?(?:found|ran)|^Ran 0 tests"
    r"|^running 0 tests|\b0 passing\b|^# tests 0$|^[= ]*\d+ (?:skipped|deselected)\b.* in [\d.]+s",
    re.MULTILINE | re.IGNORECASE,
)
FAILED = re.compile(
    r"\b[1-9]\d* (?:failed|errors?)\b.* in [\d.]+s|^FAILED \(|^test result: FAILED|^--- FAIL: "
    r"|^FAIL\t|^FAIL +\S+\.\w+|^\s*Tests:?\s.*\b[1-9]\d* failed|^\s*[1-9]\d* failing\b"
    r"|^# fail [1-9]|\d+ examples?, [1-9]\d* failures?|There were failing tests"
    r"|Tests run: \d+, (?:Failures: [1-9]|Failures: 0, Errors: [1-9])",
    re.MULTILINE,
)
PASSED = re.compile(
    r"\b[1-9]\d* passed\b.* in [\d.]+s|^Ran [1-9]\d* tests? in [\d.]+s\s+OK\b"
    r"|^OK \([1-9]\d* tests?,|^test result: ok\. [1-9]"
    r"|^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?!.*\[no tests to run\])"
    r"|^\s*Tests:?\s.*\b[1-9]\d* passed|^\s*[1-9]\d* passing\b|^# pass [1-9]"
    r"|[1-9]\d* examples?, 0 failures|Tests run: [1-9]\d*, Failures: 0, Errors: 0",
    re.MULTILINE,
)
DOUBTED = re.compile(r"\b[1-9]\d* (?:\w+ )?(?:failed|failing|failures?|errors?)\b", re.IGNORECASE)
SUBSTITUTED = re.compile(r"\$\(\([^()]*\)\)|[$<>]\([^()]*\)|`[^`]*`")
"""What runs inside of another command, whose status is lost."""


@dataclass(frozen=True, slots=True)
class Part:
    """One command of a command line, and the operator before it."""

    operator: str
    words: tuple[str, ...]
    written: str
    """With what wraps it."""
    background: bool = False
    """Whether it, or something after it, goes on in the background."""

    @property
    def name(self) -> str:
        return PurePosixPath(self.words[0]).name


def find_verdict(moments: Sequence[Moment], tests: re.Pattern[str] | None = None) -> float | None:
    """1 where the last test run passed, 0 where it failed, None where there is none or nobody
    knows. `tests` finds test commands of one's own.
    """
    for one in reversed(moments):
        if one.kind != "command":
            continue
        parts = split_command(one.text)
        runs = [
            place
            for place, part in enumerate(parts)
            if is_test(part) or (tests is not None and tests.search(part.written))
        ]
        if runs:
            return judge(one, parts, runs[-1])
    return None


def judge(ran: Moment, parts: Sequence[Part], place: int) -> float | None:
    """How the test at `place` of a command line went."""
    if ran.status is None or parts[place].background:
        return None
    passed, failed = (words.search(ran.output) is not None for words in (PASSED, FAILED))
    before = parts[:place]
    after = {part.operator for part in parts[place + 1 :]}
    piped = "|" in after and not any("pipefail" in part.words for part in before)
    joints = {part.operator for part in parts[1 : place + 1]}
    # `a || pytest` runs the tests only where a fails; `b && pytest` only where b works.
    leaves = "||" in joints or any(part.name in LEAVES for part in before)
    if not leaves and not piped and after <= {"&&", "|"}:
        if ran.status == 0:
            empty = not passed and EMPTY.search(ran.output)
            return None if failed or empty else 1.0
        if not after - {"|"} and _surely_ran(parts, place):
            return None if _never_ran(ran, parts[place], failed=failed) else 0.0
    if failed:
        return 0.0
    return 1.0 if passed and not DOUBTED.search(ran.output) else None


def _surely_ran(parts: Sequence[Part], place: int) -> bool:
    """Whether nothing before the test can have kept it from running."""
    before = parts[:place]
    stops = any(
        re.match(r"-\w*e", word) for part in before if part.name == "set" for word in part.words
    )
    first = not stops or all(part.name == "set" for part in before)
    alone = not TARGETS.fullmatch(parts[place].name) or len(targets(parts[place])) == 1
    return first and alone and {part.operator for part in parts[1 : place + 1]} <= {";", "&"}


def _never_ran(ran: Moment, test: Part, *, failed: bool) -> bool:
    pytest = any("pytest" in word for word in test.words)
    unrun = ran.status in NOT_RUN or (ran.status or 0) >= 128 or (pytest and ran.status in NO_TESTS)  # noqa: PLR2004 - by a signal
    return unrun or (not failed and UNSTARTED.search(ran.output) is not None)


def split_command(command: str) -> list[Part]:
    """The commands of a line, without what wraps them; none where it cannot be read."""
    text, more = command.replace("\\\n", " ").replace("\n", " ;\n"), 1
    while more:
        text, more = SUBSTITUTED.subn("_", text)
    if "$(" in text or "`" in text:
        return []
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    parts: list[Part] = []
    operator, words = "", list[str]()
    try:
        for token in lexer:
            if not set(token) <= set("();|&"):
                words.append(token)
                continue
            joint = token.strip("()").replace("|&", "|") or ";"
            if words:
                parts.append(Part(operator, _unwrapped(words), " ".join(words)))
                operator, words = joint, []
            elif joint != ";":
                operator = joint
            if joint == "&":
                parts = [replace(part, background=True) for part in parts]
        if words:
            parts.append(Part(operator, _unwrapped(words), " ".join(words)))
    except ValueError:
        return []
    return [part for part in parts if part.words]


def _unwrapped(words: Sequence[str]) -> tuple[str, ...]:
    """Without variables, `uv run` and their kind before the command itself."""
    left = list(words)
    changed = True
    while changed and left:
        size = len(left)
        while left and re.match(r"\w+=", left[0]):
            left = left[1:]
        for wrapper in WRAPPERS:
            if tuple(left[: len(wrapper)]) == wrapper:
                left = left[len(wrapper) :]
        if left[:1] == ["timeout"]:
            left = [word for word in left[1:] if not word.startswith("-")][1:]
        if left and re.fullmatch(r"(?:\S*/)?python[\d.]*", left[0]):
            rest = [word for word in left[1:] if word not in {"-m", "-u", "-W", "-X"}]
            left = rest if rest and not rest[0].startswith("-") else left
        changed = len(left) < size
    return tuple(left)


def is_test(part: Part) -> bool:
    """Whether a command runs tests."""
    by_name = LISTS_BY_NAME.get(part.name, "(?!)")
    for word in part.words[1:]:
        if LISTS_ONLY.fullmatch(word.partition("=")[0]) or re.fullmatch(by_name, word):
            return False
    if RUNNERS.fullmatch(part.name) or (part.name == "node" and "--test" in part.words):
        return True
    words = targets(part)
    if TARGETS.fullmatch(part.name):
        return any(_names_tests(part, word) or word in {"check", "verify"} for word in words)
    if not TOOLS.fullmatch(part.name) or not words:
        return False
    named = words[1:2] if words[0] in BEFORE else words[:1]
    return words[0] == "nextest" or any(_names_tests(part, word) for word in named)


def targets(part: Part) -> list[str]:
    """What a command is to do: its words without options and variables."""
    return [
        word
        for before, word in zip(part.words, part.words[1:], strict=False)
        if not word.startswith("-") and before not in VALUED and not re.match(r"\w+=", word)
    ]


def _names_tests(part: Part, word: str) -> bool:
    if part.name.startswith("gradle"):
        word = word.rpartition(":")[2]
    pieces = set(re.split(r"[:_.-]", word))
    return all(map(KINDS.fullmatch, pieces)) and not pieces.isdisjoint({"test", "tests"})
