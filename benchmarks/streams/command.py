"""`python -m benchmarks run stream`: which stream, which agent, which arms; servers for it."""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from memlift_client import MemLift, RetryPolicy

from benchmarks import hardware
from benchmarks.streams import recorded
from benchmarks.streams.arms import ABLATIONS, ARMS, DEFAULT, PRICE
from benchmarks.streams.evaluation import Evaluation, Plan, Say
from benchmarks.streams.player import Agents
from clients.demo.server import LocalServer, fresh_folder, start
from clients.demo.streams import Stream, read_stream

RETRY_POLICY = RetryPolicy(timeout=600.0)
SECOND_HALF = {
    "market": date(2026, 1, 22),
    "dataset": date(2026, 2, 1),
    "prophet": date(2025, 9, 10),
}
ANALOG = "analog"
K = 30


def options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--stream", required=True, choices=[*SECOND_HALF, recorded.NAME])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the stream")
    parser.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    parser.add_argument("--agent", choices=[ANALOG], default=ANALOG)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(DEFAULT))
    parser.add_argument("--ablations", action="store_true", help="also memlift less one part each")
    parser.add_argument("--hide-price", action="store_true", help="the agent sees no price")
    parser.add_argument("--k", type=int, default=K, help="memories an answer is pooled from")
    parser.add_argument("--sample", type=int, help="whole events, at most so many questions")
    parser.add_argument("--url", help="use this server instead of starting one")
    parser.add_argument("--key", help="its operator key")


def run(given: argparse.Namespace, say: Say) -> None:
    """Evaluate, or go on where a run into the same folder was ended."""
    plan = _plan(given)
    plan.out.mkdir(parents=True, exist_ok=True)
    kept = _kept(plan, given)
    plan = replace(plan, run="".join(c for c in str(kept["started_at"]) if c.isdigit()))
    if "finished_at" in kept:
        say(f"{plan.out} holds this run, whole")
        return
    (plan.out / "run.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    folders: Sequence[str] = kept["servers"]
    if given.url is not None:
        _play(plan, [MemLift(given.url, given.key, retry_policy=RETRY_POLICY)], say)
    else:
        _with_own_servers(plan, [Path(folder) for folder in folders], say)
    kept |= {"finished_at": _now(), "load_after": hardware.load()}
    (plan.out / "run.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def _plan(given: argparse.Namespace) -> Plan:
    stream, agents, second_half = _stream(given)
    if given.sample is not None:
        stream = stream.sample(given.sample)
    arms = [*given.arms, *(ABLATIONS if given.ablations else ())]
    priced = any(question.price is not None for question in stream.questions)
    if not priced:
        arms = [name for name in arms if name != PRICE]
    return Plan(
        stream=stream,
        second_half=second_half,
        arms=list(dict.fromkeys(arms)),
        agents=agents,
        k=given.k,
        sees_price=priced and not given.hide_price,
        out=given.out,
    )


def _stream(given: argparse.Namespace) -> tuple[Stream, Agents, date]:
    """The stream, who forecasts in it, and the day from which the second half is counted."""
    if given.stream != recorded.NAME:
        stream = read_stream(given.data, given.stream)
        return stream, Agents(ANALOG), SECOND_HALF[stream.name]
    stream, lines = recorded.read_recorded(given.data)
    days = sorted({question.asked_on for question in stream.questions})
    return stream, Agents(ANALOG, lines), days[len(days) // 2]


def _kept(plan: Plan, given: argparse.Namespace) -> dict[str, Any]:
    """What was run on what; of a run that was ended, its servers' folders are taken up again."""
    before: Mapping[str, Any] = {}
    if (plan.out / "run.json").exists():
        before = json.loads((plan.out / "run.json").read_text(encoding="utf-8"))
    settings = {"k": plan.k, "sees_price": plan.sees_price, "agent": given.agent}
    settings |= {"sample": given.sample}
    asked = {"stream": plan.stream.name, "arms": list(plan.arms), "settings": settings}
    for name, value in asked.items():
        if before and before[name] != value:
            raise SystemExit(f"{plan.out} holds a run with other {name}: {before[name]}")
    if "finished_at" in before:
        return dict(before)
    return {
        **asked,
        "servers": before["servers"] if before else _folders(plan, given.url),
        **hardware.stamp(),
        "load_before": hardware.load(),
        "started_at": before.get("started_at", _now()),
    }


def _folders(plan: Plan, url: str | None) -> list[str]:
    """One server a remembering arm, as far as there are cores: a server fills one."""
    if url is not None:
        return []
    count = min(max(1, len(plan.remembering)), os.cpu_count() or 1)
    return [str(fresh_folder("memlift-stream")) for _ in range(count)]


def _with_own_servers(plan: Plan, folders: Sequence[Path], say: Say) -> None:
    """Their data stay until the run is whole, for a run that goes on."""
    servers: list[LocalServer] = []
    with ExitStack() as ending:
        for folder in folders:
            servers.append(start(folder, {}, say))
            ending.callback(servers[-1].stop)
        _play(plan, [MemLift(s.url, s.key(), retry_policy=RETRY_POLICY) for s in servers], say)
    for server in servers:
        server.remove()


def _play(plan: Plan, servers: Sequence[MemLift], say: Say) -> None:
    with ExitStack() as ending:
        for server in servers:
            ending.enter_context(server)
        Evaluation(plan, servers, say).play()


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")
