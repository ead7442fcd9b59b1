"""Inspect AI's own evaluation and mock model over a real server."""

from pathlib import Path
from typing import Any

import pytest
from conftest import ANSWER, LESSON, TASK, Address, learned, run_example, run_of
from inspect_ai import Task
from inspect_ai import eval as evaluated
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import Solver, generate, system_message
from memlift_agents import inspect_ai
from memlift_agents.inspect_ai import advised, as_reward, report_scores
from memlift_client import MemLift


@pytest.fixture
def evaluate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An evaluation of one sample: what the model saw, and the sample."""
    monkeypatch.setattr(inspect_ai, "REPORTERS", [])

    def run(*solvers: Solver, **sample: Any) -> tuple[list[ChatMessage], EvalSample]:
        seen: list[ChatMessage] = []

        def answer(messages: list[ChatMessage], *_: object) -> ModelOutput:
            seen.extend(messages)
            output = ModelOutput.from_content("mockllm/model", ANSWER)
            output.usage = ModelUsage()
            return output

        task = Task(
            dataset=[Sample(input=TASK, target="refunded", **sample)],
            solver=[*solvers, generate()],
            scorer=[match(), includes()],
        )
        model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
        [log] = evaluated(task, model=model, display="none", log_dir=str(tmp_path))
        assert log.status == "success", log.error
        assert log.samples
        return seen, log.samples[0]

    return run


def test_a_score_is_the_outcome_of_what_the_sample_was_told(
    evaluate: Any, memory: MemLift, note: str
):
    report_scores(memory, "includes", verifier="test", keep_run=True)

    seen, sample = evaluate(system_message("You are a clerk."), advised(memory))

    assert [one.role for one in seen] == ["system", "system", "user"]
    assert LESSON in seen[1].text
    outcome = learned(memory, note)
    assert outcome.retrieval_id == sample.metadata["receipt"]
    assert (outcome.reward, outcome.used, outcome.verifier) == (1, (note,), "test")
    assert [one.role for one in run_of(memory, outcome).steps] == ["user", "assistant"]


def test_the_receipt_of_another_solver_is_reported_by_the_first_scorer(
    evaluate: Any, memory: MemLift, note: str
):
    report_scores(memory)
    receipt = memory.retrieve(TASK).receipt

    evaluate(metadata={"receipt": receipt})

    outcome = learned(memory, note)
    assert (outcome.retrieval_id, outcome.reward) == (receipt, 0)


def test_nothing_is_reported_before_it_was_said_to_whom(evaluate: Any, memory: MemLift, note: str):
    evaluate(advised(memory))

    assert memory.list_retrievals(state="pending").total == 1


def test_a_score_that_is_no_reward_is_left_out():
    values = ("C", "P", "I", 0.25, True, 7, float("nan"), {"a": 1})
    assert [as_reward(one) for one in values] == [1, 0.5, 0, 0.25, 1, None, None, None]


def test_a_sample_is_solved_without_a_server(evaluate: Any, unreachable: MemLift):
    report_scores(unreachable)

    _, sample = evaluate(advised(unreachable))

    assert sample.scores is not None
    assert sample.scores["includes"].value == "C"


def test_the_example_moves_a_first_weight(server: Address, namespace: str):
    assert "weight 1.00, now 1." in run_example("inspect_evaluation.py", server, namespace)
