"""The evaluation of one stream: every arm over the same batches, restartable after any of them."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from memlift_client import MemLift, MemLiftProblem, WeightRow

from benchmarks.streams.arms import NONE, REMEMBERING, Arm
from benchmarks.streams.artefacts import Progress, question_row, write_lines
from benchmarks.streams.player import Agents, Forecast, Known, Player
from clients.demo.agent import Rates
from clients.demo.answering import Answer
from clients.demo.streams import Batch, Question, Stream

SHOWN = 5
CONFLICT = 409
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to evaluate. `sees_price`: the agent starts from the crowd's price where there is one,
    else from the running rate of the question's source. `run` names the run's namespaces.
    """

    stream: Stream
    second_half: date
    arms: Sequence[str]
    agents: Agents
    k: int
    sees_price: bool
    out: Path
    run: str = ""

    @property
    def remembering(self) -> list[str]:
        """The arms that need a memory."""
        return [name for name in self.arms if name in REMEMBERING]


class Evaluation:
    """Plays a plan, its remembering arms dealt out over the servers in turn."""

    def __init__(self, plan: Plan, servers: Sequence[MemLift], say: Say) -> None:
        self._plan = plan
        self._say = say
        self._outcomes = {row.question_id: row for row in plan.stream.resolutions}
        self._questions = {question.id: question for question in plan.stream.questions}
        self._progress = {name: Progress(plan.out / name) for name in plan.arms}
        self._players = {
            name: _player(plan, REMEMBERING[name], servers[place % len(servers)])
            for place, name in enumerate(plan.remembering)
        }

    def play(self) -> None:
        """All batches, then what the memories have come to."""
        self._write_questions()
        rates = Rates()
        for question, row in self._plan.stream.warmup:
            rates.learn(question.source, row.outcome)
        began = time.monotonic()
        for number, batch in enumerate(self._plan.stream.batches()):
            for row in batch.known:
                rates.learn(self._questions[row.question_id].source, row.outcome)
            self._day(number, batch, rates)
            self._say(f"{_line(batch)}  {time.monotonic() - began:>6.0f} s")
        for name, player in self._players.items():
            self._memories(name, player)

    def _day(self, number: int, batch: Batch, rates: Rates) -> None:
        """One batch of every arm that has not done it, arms beside each other."""
        priors = {question.id: self._prior(question, rates) for question in batch.questions}
        known = [(self._questions[row.question_id], row) for row in batch.known]
        open_arms = [name for name in self._plan.arms if not self._progress[name].done(batch.day)]

        def one(name: str) -> None:
            began = time.monotonic()
            player = self._players.get(name)
            if player is None:
                forecasts = list(_unaided(name, batch, priors))
                self._progress[name].add(batch.day, forecasts, {"memories": 0, "seconds": 0.0})
                return
            if number == 0:
                player.warm_up(self._plan.stream.warmup)
            forecasts = _remembering(player, batch, known, priors)
            memories = player.memory.list_experiences(limit=1).total
            state = {"memories": memories, "seconds": round(time.monotonic() - began, 3)}
            self._progress[name].add(batch.day, forecasts, state)

        with ThreadPoolExecutor(max_workers=max(1, len(open_arms))) as pool:
            for _ in pool.map(one, open_arms):
                pass

    def _prior(self, question: Question, rates: Rates) -> float:
        if self._plan.sees_price and question.price is not None:
            return question.price
        return rates.prior(question.source)

    def _write_questions(self) -> None:
        rows = (
            question_row(question, self._outcomes.get(question.id), self._plan.second_half)
            for question in self._plan.stream.questions
        )
        write_lines(self._plan.out / "questions.jsonl", rows)

    def _memories(self, name: str, player: Player) -> None:
        """Every weight, and the trajectories of those at both ends."""
        every = [*player.memory.each_weight(order="strongest", limit=200)]
        progress = self._progress[name]
        progress.write("weights", [_weight(row) for row in every])
        ends = [("strongest", row) for row in every[:SHOWN]]
        ends += [("fallen", row) for row in every[: -SHOWN - 1 : -1]]
        progress.write(
            "trajectories",
            [
                {
                    "memory_id": row.memory_id,
                    "situation": row.situation,
                    "kind": kind,
                    "known_at": event.known_at.isoformat(),
                    "weight": event.weight_after,
                }
                for kind, row in ends
                for event in player.memory.each_weight_event(row.memory_id, limit=200)
                if event.weight_after is not None and event.superseded_by is None
            ],
        )


def _remembering(
    player: Player, batch: Batch, known: Sequence[Known], priors: Mapping[str, float]
) -> list[Forecast]:
    player.learn(known, batch.day)
    return player.forecast(batch.questions, priors)


def _unaided(name: str, batch: Batch, priors: Mapping[str, float]) -> list[Forecast]:
    """Answers that need no memory: the crowd's price, or what the agent knows by itself."""
    made: list[Forecast] = []
    for question in batch.questions:
        prior = priors[question.id]
        answer = prior if name == NONE or question.price is None else question.price
        made.append(Forecast(question, prior, Answer(answer, answer, {}), None, 0, None, None))
    return made


def _player(plan: Plan, arm: Arm, server: MemLift) -> Player:
    """The arm in its own replay namespace: a new one, or the one of a run that was ended."""
    slug = f"{plan.stream.name}-{arm.name}-{plan.run}"
    try:
        server.create_namespace(
            slug, clock="replay", learning=arm.learning, policy=arm.policy, settings=arm.settings
        )
    except MemLiftProblem as fault:
        if fault.status != CONFLICT:
            raise
    memory = server.within(slug)
    player = Player(arm, memory, plan.k, plan.agents)
    if not plan.out.joinpath(arm.name, "bank.jsonl").exists():
        for name in sorted(plan.agents.names()):
            _declare(memory, name, own_information=plan.sees_price)
    return player


def _declare(memory: MemLift, name: str, *, own_information: bool) -> None:
    try:
        memory.add_agent(name, own_information=own_information)
    except MemLiftProblem as fault:
        if fault.status != CONFLICT:
            raise


def _weight(row: WeightRow) -> Mapping[str, object]:
    return {
        "memory_id": row.memory_id,
        "situation": row.situation,
        "weight": row.effective_weight,
        "served": row.served,
        "credited": row.credited,
    }


def _line(batch: Batch) -> str:
    return f"{batch.day}  {len(batch.questions):>4} asked {len(batch.known):>4} resolved"
