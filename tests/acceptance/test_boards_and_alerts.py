"""The board and the alerts that an operator loads ask for what a served process really says."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import promql_parser as promql
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

DEPLOY = Path(__file__).parents[2] / "deploy"
BOARD = json.loads((DEPLOY / "grafana" / "memlift.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
QUESTIONS = {
    **{f"alert {rule['alert']}": rule["expr"] for rule in RULES},
    **{
        f"panel {panel['title']} {target['refId']}": target["expr"]
        for panel in BOARD["panels"]
        for target in panel["targets"]
    },
}
OF_THE_SCRAPER = {"up"}
PATIENCE = 120


@pytest.fixture(scope="module")
def said(shared_server: Any) -> Mapping[str, list[Mapping[str, str]]]:
    """Labels of each series of a server that has served a task, by the series' name."""
    shared_server.client().create_namespace("watched", settings={"control_rate": 0.0})
    memory = shared_server.client("watched")
    memory.remember(agent="author", situation="Water boils over", lesson="Turn the heat down")
    served = memory.retrieve("The water boils over", agent="cook")
    memory.report(served.retrieval_id, reward=1.0)
    deadline = time.monotonic() + PATIENCE
    while True:
        text = httpx.get(f"{shared_server.url}/metrics").text
        # The leader samples health when it first looks.
        if "memlift_health_living" in text or time.monotonic() > deadline:
            return series(text)
        time.sleep(0.2)


def series(text: str) -> dict[str, list[Mapping[str, str]]]:
    found: dict[str, list[Mapping[str, str]]] = {}
    for family in text_string_to_metric_families(text):
        # A counter that nothing was counted on yet says its name alone.
        found.setdefault(f"{family.name}_total" if family.type == "counter" else family.name, [])
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


def selectors(part: Any) -> Iterator[promql.VectorSelector]:
    """Of an expression and all that it is made of."""
    match part:
        case promql.VectorSelector():
            yield part
        case promql.MatrixSelector():
            yield part.vector_selector
        case promql.BinaryExpr():
            yield from selectors(part.lhs)
            yield from selectors(part.rhs)
        case promql.Call():
            for argument in part.args:
                yield from selectors(argument)
        case promql.AggregateExpr() | promql.ParenExpr() | promql.UnaryExpr():
            yield from selectors(part.expr)
        case promql.NumberLiteral():
            return
        case _:
            raise AssertionError(f"not looked into: {type(part).__name__}")


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_asked_for_exists(said: Mapping[str, list[Mapping[str, str]]], name: str) -> None:
    asked = list(selectors(promql.parse(QUESTIONS[name])))

    assert asked
    for one in asked:
        if one.name in OF_THE_SCRAPER:
            continue
        assert one.name in said, f"{one.name} is no metric"
        for matcher in one.matchers.matchers:
            values = [labels.get(matcher.name) for labels in said[one.name]]
            assert None not in values, f"{one.name} has no label {matcher.name}"
            if matcher.op == promql.MatchOp.Equal and values:
                assert matcher.value in values


def test_every_alert_says_what_to_do() -> None:
    assert len(RULES) == len({rule["alert"] for rule in RULES}) >= 10
    for rule in RULES:
        assert rule["labels"]["severity"] in {"page", "warn"}
        assert rule["annotations"].keys() == {"summary", "action"}


def test_the_panels_of_the_board_lie_side_by_side() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
