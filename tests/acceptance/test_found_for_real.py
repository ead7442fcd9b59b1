"""With the real model, over HTTP: a name finds its memory, and a filter narrows what is served."""

from uuid import uuid4

from memlift_client import AsyncMemLift

from tests.acceptance.servers import Server

SETTINGS = {"control_rate": 0.0, "coins": False, "slot_rate": 0.0, "meta_guidelines": False}
CODE = "E4012 means that the cookie belongs to the old domain: clear it"
PATH = "memory/retrieval/head.py rounds a query once; compare it with what is stored"


async def test_a_name_finds_its_memory_and_a_filter_narrows(shared_server: Server) -> None:
    slug = f"found-{uuid4().hex[:8]}"
    shared_server.client().create_namespace(slug, settings=SETTINGS)
    memory = shared_server.client(slug)
    situation = "The pear trees in the back garden were pruned late"
    code = memory.remember(situation=situation, lesson=CODE, metadata={"tags": ["auth"]})
    path = memory.remember(situation=situation, lesson=PATH, agent="reviewer")

    by_code = memory.retrieve("Some people meet E4012 on a Monday", explain=True)
    by_path = memory.retrieve("Why does memory/retrieval/head.py fail in CI?")
    plain = memory.retrieve("Some people meet a problem on a Monday")

    assert [(m.memory_id, m.identifiers) for m in by_code.memories] == [(code.id, ("e4012",))]
    assert by_code.memories[0].similarity < by_code.gates.raw
    assert CODE in by_code.guideline.text
    assert by_code.sentences is not None
    assert "found by an identifier" in by_code.sentences[code.id]
    assert [m.memory_id for m in by_path.memories] == [path.id]
    assert plain.memories == ()

    task = "The pear trees in the back garden have to be pruned"
    assert len(memory.retrieve(task).memories) == 2
    tagged = memory.retrieve(task, filter={"tags": ["auth", "billing"]})
    assert [m.memory_id for m in tagged.memories] == [code.id]
    kept = memory.get_retrieval(str(tagged.retrieval_id)).search
    assert kept is not None
    assert kept.filter is not None
    assert kept.filter.tags == ("auth", "billing")
    key = shared_server.home.operator_key.read_text().strip()
    async with AsyncMemLift(shared_server.url, key, slug) as waiting:
        authored = await waiting.retrieve(task, filter={"authors": ["reviewer"]})
    assert [m.memory_id for m in authored.memories] == [path.id]
