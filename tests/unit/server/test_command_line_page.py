"""The reference page of the command line says what `--help` says."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from memlift_client.command import main as run_client

from server.cli import main
from server.cli.page import page

WRITTEN = Path(__file__).parents[3] / "docs/reference/command-line.md"
CLIENTS = {"ask", "remember", "report", "verify", "import-scores"}
SECTIONS = re.split(r"^## memlift ", WRITTEN.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


def test_the_page_is_that_of_the_commands() -> None:
    hint = "run: python -m server.cli.page > docs/reference/command-line.md"
    assert WRITTEN.read_text(encoding="utf-8") == page(), hint


def test_what_switches_an_option_off_is_on_the_page() -> None:
    assert "\n- `--vectors, --no-vectors`: " in page()


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.partition("\n")[0])
def test_each_option_of_the_page_is_in_the_help(
    section: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = section.partition("\n")[0].split()
    if words[0] in CLIENTS:
        with pytest.raises(SystemExit):
            run_client([*words, "--help"])
        shown = capsys.readouterr().out
    else:
        shown = CliRunner().invoke(main, [*words, "--help"]).stdout

    options = re.findall(r"^- `(-[\w-]+)", section, re.MULTILINE)
    assert [one for one in options if one not in shown] == []
    assert len(
        set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", shown, re.MULTILINE)) - {"--help"}
    ) >= len([one for one in options if one.startswith("--")])
