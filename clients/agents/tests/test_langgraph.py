"""LangGraph's store interface and LangMem's tools over a real server."""

import json
from typing import Any

import pytest
from conftest import LESSON, SITUATION, Address, run_example
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langmem import create_manage_memory_tool, create_search_memory_tool
from memlift_agents.langgraph import MemLiftStore, ServedItem
from memlift_client import MemLift

USER = ("memories", "user-1")
FACT = {"content": "The customer prefers refunds by bank transfer", "rank": 3}


@pytest.fixture
def store(memory: MemLift) -> MemLiftStore:
    return MemLiftStore(memory)


def test_items_are_put_got_changed_and_deleted(store: MemLiftStore):
    deep: dict[str, Any] = {"a": [{"b": {"c": {"d": {"e": {"f": "\x00 ü"}}}}}]}
    store.put(USER, "fact", FACT)
    store.put(USER, "deep", deep)

    item = store.get(USER, "fact")
    assert item is not None
    assert (item.value, item.key, item.namespace) == (FACT, "fact", USER)
    assert getattr(store.get(USER, "deep"), "value", None) == deep

    store.put(USER, "fact", {"content": "The customer prefers vouchers"})
    changed = store.get(USER, "fact")
    assert changed is not None
    assert changed.value == {"content": "The customer prefers vouchers"}

    store.delete(USER, "fact")
    assert store.get(USER, "fact") is None
    store.put(USER, "fact", FACT)
    assert store.get(USER, "fact") is not None


def test_the_same_words_of_two_users_stay_two_items(store: MemLiftStore, memory: MemLift):
    other = ("memories", "user-2")
    store.put(USER, "1", FACT)
    store.put(other, "2", FACT)

    assert memory.list_experiences().total == 1
    assert [item.key for item in store.search(USER)] == ["1"]
    assert [item.key for item in store.search(other, query="How to refund?")] == ["2"]
    store.delete(USER, "1")
    assert (store.search(USER), len(store.search(other))) == ([], 1)


def test_a_search_filters_pages_and_lists_namespaces(store: MemLiftStore):
    for number in range(3):
        content = f"Refund rule {number}: ask {'abc'[number]} first"
        store.put(("rules", str(number)), "rule", {"content": content, "rank": number})

    found = store.search(("rules",), query="Which refund rule?", filter={"rank": {"$gte": 1}})
    assert sorted(item.value["rank"] for item in found) == [1, 2]
    assert len(store.search(("rules",), limit=1, offset=2)) == 1
    assert store.search(("rules",), filter={"rank": 2})[0].namespace == ("rules", "2")
    assert store.list_namespaces(prefix=("rules",), max_depth=1) == [("rules",)]
    assert store.list_namespaces(suffix=("2",)) == [("rules", "2")]


def test_a_graph_that_uses_its_store_moves_the_weight(store: MemLiftStore, memory: MemLift):
    store.put(("notes",), "1", {"situation": SITUATION, "lesson": LESSON})
    found: list[Any] = []

    def act(state: dict[str, str], *, store: BaseStore) -> dict[str, str]:
        found.extend(store.search(("notes",), query="Refund invoice 8812 for a customer"))
        return {"answer": found[0].value["lesson"]}

    graph = StateGraph(dict).add_node(act).add_edge(START, "act").add_edge("act", END)
    answer = graph.compile(store=store).invoke({"answer": ""})
    assert answer == {"answer": LESSON}
    store.report(found, reward=1.0)

    memory.apply_outcomes()
    [served] = [item for item in found if isinstance(item, ServedItem)]
    [outcome] = memory.list_outcomes().items
    assert (outcome.retrieval_id, outcome.used) == (served.receipt, (served.memory_id,))
    assert memory.get_experience(served.memory_id).effective_weight > 1


async def test_the_tools_of_langmem_work_over_the_store(store: MemLiftStore, memory: MemLift):
    manage = create_manage_memory_tool(namespace=USER, store=store)
    search = create_search_memory_tool(
        namespace=USER, store=store, response_format="content_and_artifact"
    )

    said = await manage.ainvoke({"content": FACT["content"]})
    call = {"query": "How does the customer want refunds?"}
    answer = await search.ainvoke({"type": "tool_call", "name": "s", "id": "1", "args": call})

    [item] = json.loads(answer.content)
    assert item["value"] == {"content": FACT["content"]}
    store.report(answer.artifact, reward=1.0)
    memory.apply_outcomes()
    assert memory.get_experience(answer.artifact[0].memory_id).effective_weight > 1

    key = said.split()[-1]
    manage.invoke({"content": "Refunds go by cheque", "action": "update", "id": key})
    assert [one.value["content"] for one in store.search(USER)] == ["Refunds go by cheque"]
    manage.invoke({"action": "delete", "id": key})
    assert store.search(USER) == []


def test_the_example_moves_a_first_weight(server: Address, namespace: str):
    assert "weight 1.00, now 1." in run_example("langgraph_store.py", server, namespace)
