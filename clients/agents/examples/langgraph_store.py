"""A LangGraph store whose items learn: run it while `memlift serve` runs on this machine."""

import os
from typing import Any, NotRequired, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from memlift_agents.langgraph import MemLiftStore
from memlift_client import MemLift

memory = MemLift.from_home(namespace=os.environ.get("MEMLIFT_NAMESPACE", "default"), agent="bot")
store = MemLiftStore(memory)
store.put(("notes",), "refunds", {"content": "Ask for the order's number before a refund is paid"})


class State(TypedDict):
    """What the graph passes on."""

    task: str
    found: NotRequired[list[Any]]


def act(state: State, *, store: BaseStore) -> State:
    """Where a model would be given what was found."""
    return {**state, "found": store.search(("notes",), query=state["task"], limit=3)}


graph = StateGraph(State).add_node(act).add_edge(START, "act").add_edge("act", END)
result = graph.compile(store=store).invoke({"task": "A customer asks to be paid a refund"})
print(result["found"][0].value["content"])

store.report(result["found"], reward=1.0)
memory.apply_outcomes()
weight = memory.get_experience(result["found"][0].memory_id).effective_weight
print(f"weight 1.00, now {weight:.2f}")
