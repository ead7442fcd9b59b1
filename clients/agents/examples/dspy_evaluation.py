"""An evaluation of DSPy whose metric moves a first weight; run it beside `memlift serve`."""

import os

import dspy
from dspy.utils import DummyLM
from memlift_agents.dspy import Advised, ScoreCallback
from memlift_client import MemLift

memory = MemLift.from_home(namespace=os.environ.get("MEMLIFT_NAMESPACE", "default"), agent="bot")
note = memory.remember(
    agent="author",
    situation="A customer asks to have an invoice refunded",
    lesson="Ask for the number of the order before any money is moved",
)
# A script in the place of a model: name one of yours, as in dspy.LM("openai/gpt-5").
lm = DummyLM([{"answer": "Order found, refunded [m1]."}])
dspy.configure(lm=lm, callbacks=[ScoreCallback(memory)])
program = Advised(dspy.Predict("guideline, task -> answer"), memory, arm="on")
examples = [dspy.Example(task="Refund invoice 8812").with_inputs("task")]
evaluate = dspy.Evaluate(devset=examples, metric=lambda _, said: "refunded" in said.answer)
print(evaluate(program).score)

memory.apply_outcomes()
print(f"weight 1.00, now {memory.get_experience(note.id).effective_weight:.2f}")
