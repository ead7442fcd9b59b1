"""One arm's day over REST: settle what became known, learn, remember, ask, forecast.

Every call of a day carries the day's midnight as its time: what resolved before it is settled,
applied and remembered first; then the day's questions ask the memory as of that same moment.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from time import perf_counter

from memlift_client import (
    ExperienceFields,
    MemLift,
    PredictionFields,
    Retrieval,
    RetrievalFields,
    SettlementFields,
)

from benchmarks.streams.arms import Arm
from clients.demo.answering import Answer
from clients.demo.replay import lesson, midnight, parts, task_of
from clients.demo.streams import Question, Resolution

YES = "YES"

Known = tuple[Question, Resolution]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What an arm answered, and what that took: the share of this question in the time of its
    batch.
    """

    question: Question
    prior: float
    answer: Answer
    strength: float | None
    served: int
    reason: str | None
    retrieve_ms: float | None


@dataclass(frozen=True, slots=True)
class Player:
    """One arm on a server. `agents` maps a question to the agent that forecasts it."""

    arm: Arm
    memory: MemLift
    k: int
    agents: "Agents"

    def learn(self, known: Sequence[Known], day: date) -> None:
        """Settle the windows, apply what that tells, then remember how they came out."""
        at = midnight(day)
        for part in parts([_settlement(question, row, at) for question, row in known]):
            for item in self.memory.settle_all(part):
                item.unwrap()
        if known:
            self.memory.apply_outcomes()
        self._remember([self._experience(question, row, day) for question, row in known])

    def warm_up(self, known: Sequence[Known]) -> None:
        """Remember what had resolved before the stream begins, as learned on the day after."""
        day = timedelta(days=1)
        self._remember([self._experience(q, row, row.resolved_on + day) for q, row in known])

    def _remember(self, experiences: Sequence[ExperienceFields]) -> None:
        for part in parts(experiences):
            for item in self.memory.remember_all(part):
                item.unwrap()

    def forecast(
        self, questions: Sequence[Question], priors: Mapping[str, float]
    ) -> list[Forecast]:
        """Ask what is remembered of questions like these, answer by it, and predict."""
        made: list[Forecast] = []
        for part in parts(questions):
            began = perf_counter()
            served = [item.unwrap() for item in self.memory.retrieve_all(self._asks(part))]
            each_ms = (perf_counter() - began) * 1000 / len(part)
            some = [
                self._forecast(question, priors[question.id], (retrieval, each_ms))
                for question, retrieval in zip(part, served, strict=True)
            ]
            predictions = [self._prediction(f, r) for f, r in zip(some, served, strict=True)]
            for item in self.memory.predict_all(predictions):
                item.unwrap()
            made += some
        return made

    def _asks(self, questions: Sequence[Question]) -> list[RetrievalFields]:
        return [self._ask(question) for question in questions]

    def _ask(self, question: Question) -> RetrievalFields:
        return RetrievalFields(
            agent=self.agents.of(question),
            task=task_of(question),
            k=self.k,
            all_rankers=self.arm.all_rankers,
            purpose="paired",
            format="memories",
            as_of=midnight(question.asked_on),
        )

    def _forecast(
        self, question: Question, prior: float, served: tuple[Retrieval, float]
    ) -> Forecast:
        retrieval, each_ms = served
        return Forecast(
            question=question,
            prior=prior,
            answer=self.arm.answer(prior, retrieval),
            strength=retrieval.strength,
            served=len(retrieval.memories),
            reason=retrieval.reason,
            retrieve_ms=each_ms,
        )

    def _prediction(self, forecast: Forecast, retrieval: Retrieval) -> PredictionFields:
        answer = forecast.answer
        prediction = PredictionFields(
            agent=retrieval.agent,
            retrieval_id=retrieval.receipt,
            probabilities={YES: answer.given},
            baseline_probabilities={YES: forecast.prior},
            full_probabilities={YES: answer.full},
            known_at=midnight(forecast.question.asked_on),
        )
        if answer.rankers:
            prediction["answers"] = {ranker: {YES: p} for ranker, p in answer.rankers.items()}
        return prediction

    def _experience(self, question: Question, row: Resolution, day: date) -> ExperienceFields:
        experience = ExperienceFields(
            agent=self.agents.of(question),
            situation=question.text,
            lesson=lesson(question, row),
            category=question.source,
            task=task_of(question),
            learned_at=midnight(day),
            metadata={"outcome": row.outcome},
        )
        if question.topic is not None:
            experience["subcategory"] = question.topic
        return experience


class Agents:
    """Who forecasts: one agent for all questions, or each question's own line of agents."""

    def __init__(self, name: str, by_question: Mapping[str, str] | None = None) -> None:
        self._name = name
        self._by_question = by_question or {}

    def of(self, question: Question) -> str:
        return self._by_question.get(question.id, self._name)

    def names(self) -> set[str]:
        return set(self._by_question.values()) or {self._name}


def _settlement(question: Question, row: Resolution, at: datetime) -> SettlementFields:
    settlement = SettlementFields(
        event=question.event_id,
        windows=[question.id],
        resolutions={YES: "yes" if row.outcome else "no"},
        known_at=at,
    )
    if question.price is not None:
        settlement["crowd"] = {YES: question.price}
    return settlement
