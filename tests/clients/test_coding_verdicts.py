"""Which command was a test run, and how it went."""

import re

import pytest
from memlift_coding.transcripts import Moment
from memlift_coding.verdicts import find_verdict, is_test, split_command

FAILED = "FAILED tests/test_a.py::test_b\n=== 1 failed, 2 passed in 0.12s ==="
PASSED = "2 passed, 1 warning in 3.40s"


def ran(command: str, status: int | None, output: str = "") -> Moment:
    return Moment("command", command, output, status)


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "python -m pytest -q tests",
        ".venv/bin/python3.11 -m unittest",
        "cd app && FOO=1 uv run pytest",
        "poetry run python -m pytest",
        "timeout 60 pytest -x",
        "npm test",
        "npm run test:unit -- --watch=false",
        "yarn test",
        "npx vitest run",
        "cargo test --workspace",
        "cargo nextest run",
        "go test ./...",
        "make lint test",
        "make -j4 check",
        "./gradlew test",
        "mvn -q verify",
        "python manage.py test",
        "bundle exec rspec",
        "node --test",
        "cd a\npytest",
        "pytest \\\n  -q",
        "pytest -n 4",
        "make -C app test",
        "make test-unit",
        "./gradlew :core:test",
        "cd $(git rev-parse --show-toplevel) && pytest",
    ],
)
def test_a_command_that_runs_tests_is_known(command: str):
    assert any(map(is_test, split_command(command)))


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ls tests",
        "cat pytest.ini",
        "grep -rn pytest .",
        "git commit -m 'run pytest && make test'",
        "echo pytest",
        "pip install pytest",
        "npm install test-utils",
        "npm run build",
        "cargo build",
        "cargo add test-log",
        "go vet ./...",
        "make",
        "pytest --collect-only",
        "cargo test --no-run",
        "python -c 'import pytest'",
        "echo 'unbalanced && pytest",
        "make -n test",
        "make -kn test",
        "make --dry-run test",
        "make --just-print test",
        "make -q test",
        "just -n test",
        "pytest --setup-plan",
        "pytest --fixtures",
        "go test -c ./...",
        "go test -list . ./...",
        "ctest -N",
        "mvn test -DskipTests=true",
        "dotnet test --list-tests",
        "echo $(pytest -q)",
        "x=`pytest -q`",
        "diff <(cd a; pytest) b",
        "make test-data",
        "make clean-test",
        "make -C tests clean",
        "npm --prefix test run build",
        "npm run test:fixtures:build",
    ],
)
def test_a_command_that_runs_none_is_not_taken_for_one(command: str):
    assert not any(map(is_test, split_command(command)))


@pytest.mark.parametrize(
    ("command", "status", "output", "verdict"),
    [
        ("pytest", 0, "", 1.0),
        ("pytest", 1, "", 0.0),
        ("pytest", 2, "", 0.0),
        ("pytest", 5, "no tests ran", None),
        ("pytest", 127, "command not found", None),
        ("timeout 9 pytest", 124, "", None),
        ("pytest", 137, "", None),
        ("pytest", None, PASSED, None),
        ("cd app && pytest", 1, "", None),
        ("cd app && pytest", 1, FAILED, 0.0),
        ("cd app && pytest", 0, "", 1.0),
        ("cd nowhere && pytest -q", 1, "bash: cd: nowhere: No such file or directory", None),
        ("source no/activate && pytest", 1, "No such file or directory", None),
        ("set -e; cd nowhere; pytest", 1, "", None),
        ("false && (cd a; pytest)", 1, "", None),
        ("cd nowhere || exit 0; pytest", 0, "", None),
        ("test -f x && exit 0; pytest", 0, "", None),
        ("make lint test", 2, "lint: 3 warnings", None),
        ("pytest -q &", 0, "", None),
        ("pytest -q & echo started", 0, PASSED, None),
        ("(pytest -q) &", 0, "", None),
        ("(pytest -q &)", 0, "", None),
        ("(cd a; pytest; echo x) &", 0, "", None),
        ("sleep 5 && pytest -q &", 0, "", None),
        ("pytest -q &\nwait", 0, "", None),
        ("serve & pytest -q", 1, "", 0.0),
        ("pytest -q &> log", 0, "", 1.0),
        ("npm test; echo OK", 0, "2 tests failed\nOK", None),
        ("npm test; echo PASS", 0, "2 tests failed\nPASS", None),
        ("npm test; echo ok all", 0, "ok all", None),
        ("npm test || echo FAIL", 0, "FAIL", None),
        ("npm test", 0, "2 failing", None),
        ("go test -run XXX", 0, "ok  \tpkg\t0.01s [no tests to run]", None),
        ("go test", 0, "ok  \ta\t0.01s\nok  \tb\t0.01s [no tests to run]", 1.0),
        ("cargo test", 0, "running 0 tests\n\ntest result: ok. 0 passed; 0 failed", None),
        ("python -m unittest", 0, "Ran 0 tests in 0.000s\n\nOK", None),
        ("pytest", 0, "=== 3 skipped in 0.02s ===", None),
        ("make test", 2, "make: *** No rule to make target 'test'.  Stop.", None),
        ("npm test", 1, 'npm error Missing script: "test"', None),
        ("yarn test", 1, 'error Command "test" not found.', None),
        ("python -m pytest", 1, "/usr/bin/python: No module named pytest", None),
        ("pytest", 1, f"ModuleNotFoundError: No module named 'a'\n{FAILED}", 0.0),
        ("make test", 2, "make: *** [Makefile:2: test] Error 1", 0.0),
        ("npm run build && npm test", 1, "tsc: error", None),
        ("npm run build && npm test", 0, "", 1.0),
        ("npm run build && npm test", 1, "Tests:       1 failed, 2 passed, 3 total", 0.0),
        ("pytest && git push", 1, "rejected", None),
        ("pytest && git push", 1, PASSED, 1.0),
        ("pytest | tail -3", 0, FAILED, 0.0),
        ("pytest 2>&1 | tail -3", 0, PASSED, 1.0),
        ("pytest | grep xyz", 1, "", None),
        ("set -o pipefail; pytest | tee log", 1, "", 0.0),
        ("pytest || true", 0, FAILED, 0.0),
        ("pytest; echo done", 0, "done", None),
        ("(pytest) || echo bad", 0, "bad", None),
        ("test -d x || pytest", 0, "", None),
        ("go test ./... | cat", 0, "ok  \tpkg/a\t0.1s\nFAIL\tpkg/b\t0.2s", 0.0),
        ("cargo test 2>&1 | tail", 0, "test result: ok. 3 passed; 0 failed; 0 ignored", 1.0),
        ("npx mocha | cat", 0, "  12 passing (1s)\n  1 failing", 0.0),
        ("python -m unittest; true", 0, "Ran 3 tests in 0.1s\n\nOK", 1.0),
        ("bundle exec rspec; true", 0, "3 examples, 0 failures", 1.0),
    ],
)
def test_a_status_counts_where_it_is_the_tests_own(
    command: str, status: int | None, output: str, verdict: float | None
):
    assert find_verdict([ran(command, status, output)]) == verdict


def test_the_last_test_run_decides_whatever_came_after_it():
    turn = [ran("pytest", 1), ran("pytest", 0), ran("git status", 1), Moment("said", "Done.")]

    assert find_verdict(turn) == 1.0
    assert find_verdict(turn[:1]) == 0.0
    assert find_verdict(turn[2:]) is None
    assert find_verdict([*turn, ran("pytest", None)]) is None


def test_test_commands_of_ones_own_are_found_by_a_pattern():
    turn = [ran("./verify.sh --fast", 1)]

    assert find_verdict(turn) is None
    own = re.compile(r"verify\.sh")
    assert find_verdict(turn, own) == 0.0
    assert find_verdict([ran("./verify.sh; echo done", 0, "done")], own) is None
    assert find_verdict([ran("./verify.sh | tail", 0)], own) is None
    assert find_verdict([ran("uv run ./verify.sh", 0)], re.compile("uv run")) == 1.0
