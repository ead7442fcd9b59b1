"""An evaluation of Inspect AI whose scores move a first weight; run it beside `memlift serve`."""

import os
import tempfile

from inspect_ai import Task, eval  # noqa: A004 - as Inspect calls it
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate
from memlift_agents.inspect_ai import advised, report_scores
from memlift_client import MemLift

# A script in the place of a model: name one of yours, such as "openai/gpt-5".
answer = ModelOutput.from_content("mockllm/model", "Order found, refunded [m1].")
answer.usage = ModelUsage()
model = get_model("mockllm/model", custom_outputs=[answer])

memory = MemLift.from_home(namespace=os.environ.get("MEMLIFT_NAMESPACE", "default"), agent="bot")
note = memory.remember(
    agent="author",
    situation="A customer asks to have an invoice refunded",
    lesson="Ask for the number of the order before any money is moved",
)
report_scores(memory)
samples = [Sample(input="Refund invoice 8812", target="refunded")]
task = Task(dataset=samples, solver=[advised(memory, arm="on"), generate()], scorer=includes())
[log] = eval(task, model=model, display="none", log_dir=tempfile.mkdtemp())
print(log.status)

memory.apply_outcomes()
print(f"weight 1.00, now {memory.get_experience(note.id).effective_weight:.2f}")
