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


QUEUE = "先清空重排队列再让用户登录"
CACHE = "ตรวจปฏิกิริยาของแคชก่อนเริ่มใหม่"
RARE = "For a quokka call the tower before anything else"
ANIMALS = (
    *("fox", "deer", "hare", "goose", "heron", "dog", "cat", "badger", "cow", "horse", "swan"),
    *("gull", "crow", "owl", "sheep", "goat", "boar", "elk", "otter", "stork", "crane", "duck"),
)


async def test_with_words_rare_ones_of_any_script_find_their_memory(shared_server: Server) -> None:
    slug = f"words-{uuid4().hex[:8]}"
    shared_server.client().create_namespace(slug, settings={**SETTINGS, "rerank": "fused"})
    memory = shared_server.client(slug)
    for n, animal in enumerate(ANIMALS):
        lesson = f"Tell gate {n} and wait for a vehicle"
        memory.remember(situation=f"A {animal} stands beside the runway", lesson=lesson)
    rare = memory.remember(situation="Wild animals near a runway", lesson=RARE)
    situation = "The pear trees in the back garden were pruned late"
    queue = memory.remember(situation=situation, lesson=QUEUE)
    cache = memory.remember(situation=situation, lesson=CACHE)
    task = "What to do about a quokka beside the runway?"

    fused = memory.retrieve(task, k=3)
    plain = memory.retrieve(task, k=3, rerank="none")
    chinese = memory.retrieve("用户说重排队列卡住了")
    thai = memory.retrieve("ระบบแจ้งว่าปฏิกิริยาช้ามาก")

    assert rare.id in [one.memory_id for one in fused.memories]
    assert rare.id not in [one.memory_id for one in plain.memories]
    assert [(m.memory_id, m.identifiers) for m in chinese.memories][:1] == [
        (queue.id, ("重排队列",))
    ]
    assert [(m.memory_id, m.identifiers) for m in thai.memories][:1] == [(cache.id, ("ปฏิกิริยา",))]
    assert (fused.search.rerank, plain.search.rerank) == ("fused", "none")
    assert fused.search.ordered_by == ("relevance", "word_pieces", "raw_terms")
    kept = memory.get_retrieval(str(fused.retrieval_id))
    found = next(item for item in kept.items if item.memory_id == rare.id)
    assert found.fused is not None
    assert found.fused > found.relevance
