"""What README, tutorial and how-tos tell a reader to run is run, and prints what they show."""

import re
from pathlib import Path

import pytest

from clients.prophet.arguments import Polling, parse
from server.settings import Settings
from tests.docs.documented_pages import (
    DOCUMENTED_ADDRESS,
    PAGES,
    ROOT,
    Reader,
    find_difference,
    find_unexplained,
    read_blocks,
)

FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INDENTED_CODE = re.compile(r"\n\n {4,}(?![-*\d])\S")

UNEXPLAINED = """
```bash
true
```
```text
```
```yaml
key: value
```
<!-- not run: it takes an hour -->
```bash
sleep 3600
```
```text
an answer to nothing
```
<!-- file: saved.py -->
```python
```
"""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_works_as_written(page: Path, reader: Reader) -> None:
    reader.follow(read_blocks(page))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    assert [str(block) for block in find_unexplained(read_blocks(page))] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_stands_in_fences(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(read_blocks(page))
    assert INDENTED_CODE.search(FENCED.sub("", text)) is None


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE))
    assert named - targets == set()


def test_pages_and_clients_name_the_port_that_the_server_listens_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MEMLIFT_URL", raising=False)
    assert f"127.0.0.1:{Settings.model_fields['port'].default}" == DOCUMENTED_ADDRESS
    asked = parse(["poll", "--key", "any"])
    assert isinstance(asked, Polling)
    assert asked.where.url == f"http://{DOCUMENTED_ADDRESS}"


def test_a_block_that_is_neither_run_nor_explained_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(UNEXPLAINED)

    assert [block.text for block in find_unexplained(read_blocks(page))] == [
        "key: value\n",
        "an answer to nothing\n",
    ]


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ('{"id":"…", "weight":1.57}', '{"id":"01a2","weight":1.5741626}'),
        ("a …\n  c", "a b b c"),
        ("… b", "a b\n"),
        ("0.10", "0.1"),
    ],
)
def test_a_shown_answer_agrees_with_what_it_leaves_out(shown: str, printed: str) -> None:
    assert find_difference(shown, printed) is None


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("1.57", "1.5641"),
        ("118", "188"),
        ("a … c", "a b"),
        ("a", "a b"),
        ("b", "a b"),
        ("a … b", "a b b c"),
    ],
)
def test_a_shown_answer_that_is_not_the_printed_one_is_found(shown: str, printed: str) -> None:
    assert find_difference(shown, printed) is not None
