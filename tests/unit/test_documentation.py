"""The pages agree with each other and with the repository."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("*.md")),
    ROOT / "benchmarks/README.md",
    *sorted((ROOT / "clients").glob("*/README.md")),
]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
GLOSSARY = ROOT / "docs/reference/glossary.md"
GLOSSARY_ROWS = 60
DECISIONS = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_decisions_carry_the_number_of_their_file_and_no_number_twice() -> None:
    numbers = [int(page.name[:4]) for page in DECISIONS]
    assert len(numbers) == len(set(numbers))
    for page in DECISIONS[1:]:
        title = page.read_text(encoding="utf-8").splitlines()[0]
        assert re.match(rf"# (ADR )?0*{int(page.name[:4])}[.:]? ", title), page.name


def test_the_glossary_has_only_the_ideas_that_a_user_meets() -> None:
    rows = re.findall(r"^\| (?!word|---).+ \|$", GLOSSARY.read_text(), re.MULTILINE)
    words = [word.strip() for row in rows for word in row.split("|")[1].split(",")]
    assert 0 < len(rows) <= GLOSSARY_ROWS
    assert len(words) == len(set(words))


def test_the_how_to_names_only_scripts_that_exist() -> None:
    text = (ROOT / "docs/how-to/run-in-production.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"deploy/[\w./-]*\w", text)):
        assert (ROOT / name).exists(), name
