"""A bank in which private memories are in everything that is made of memories."""

import json
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from sqlalchemy import text

from memory.inference.service import register_model
from memory.kernel.engine import Engine
from memory.kernel.ids import new_id
from memory.llm.provider import ProviderClient, ProviderPolicy
from server.app import create_app
from server.settings import Settings
from tests.fixtures.engine import NOON, an_engine
from tests.fixtures.http import a_client, a_namespace
from tests.fixtures.language_model import API_KEY, Script

# A Secure cookie is kept over HTTPS alone, as by a browser.
SITE = "https://memlift.test"
OWNER, OTHER = "owner", "other"
TASK = {"text": "a forecast of rain", "category": "weather"}
TRIGGER = "a sum of parts is asked for and the parts are given in several different units"
ENFORCE = "converting every part to the unit of the answer before adding any of them up"
AVOID = "adding the parts up as they stand in the text and converting the total afterwards"
SUM = {"text": "Ada rides 40 minutes. How long in all?", "category": "mathematics"}

WORDS = {
    "situation": "zephyrquilt",
    "lesson": "obsidianfern",
    "metadata": "amberlynx",
    "older version": "cobaltheron",
    "model's line": "velvetotter",
    "reason": "quartzibis",
    "twin": "harvestmouse",
    "candidate": "indigotapir",
    "constraint": "copperjackal",
}
"""A word of each private text, which stands nowhere else."""


@dataclass(slots=True)
class Bank:
    """The application, its keys by name, what is private, and ids to ask about, by path name."""

    app: FastAPI
    slug: str
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    secret: list[str] = field(default_factory=list[str])
    ids: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def told(self, text: str, sent: str = "") -> list[str]:
        """The private words in an answer, and the private ids that were not sent with the call."""
        words = [word for word in WORDS.values() if word in text]
        ids = [one for one in self.secret if one not in sent and _names(one, text)]
        return words + ids

    def path(self, suffix: str) -> str:
        return f"/v1/namespaces/{self.slug}{suffix}"

    def client(self, who: str) -> httpx.AsyncClient:
        return a_client(self.app, self.tokens[who])


def _names(memory_id: str, text: str) -> bool:
    bare = memory_id.replace("-", "")
    return memory_id in text or bare in text or bare[-8:] in text


@asynccontextmanager
async def speaking(
    database_url: str, llm: ProviderClient | None, data: Path
) -> AsyncGenerator[FastAPI]:
    """The whole application, with this language model."""

    async def opened(_: Settings) -> Engine:
        engine = an_engine(database_url, llm=llm)
        await register_model(engine, NOON)
        return engine

    settings = Settings(data=data, database_url=database_url, request_rate=1e6, request_burst=10**6)
    made = create_app(settings, opened, jobs=None)
    async with made.router.lifespan_context(made):
        yield made


KEYS: Mapping[str, Mapping[str, object]] = {
    OWNER: {"role": "agent", "agents": [OWNER]},
    "reader of the owner's": {"role": "reader", "agents": [OWNER]},
    "admin of the owner's": {"role": "admin", "agents": [OWNER]},
    OTHER: {"role": "agent", "agents": [OTHER]},
    "agent": {"role": "agent"},
    "evaluator": {"role": "evaluator"},
    "reader": {"role": "reader"},
    "reader of others'": {"role": "reader", "agents": [OTHER]},
    "admin": {"role": "admin"},
    "operator": {"role": "operator"},
}
MAY_READ = frozenset({OWNER, "reader of the owner's", "admin of the owner's"})


async def fill(app: FastAPI, operator_token: str, slug: str, script: Script) -> Bank:
    """A bank whose private memories are `owner`'s, with every kind of object made of them."""
    bank = Bank(app, slug, {"operator": operator_token})
    async with AsyncExitStack() as stack:
        operator = await stack.enter_async_context(bank.client("operator"))
        for name, draft in KEYS.items():
            if name != "operator":
                body = {"name": name, "namespace": slug, **draft}
                bank.tokens[name] = (await sent(operator, "/v1/keys", body))["token"]
        spare = {"role": "reader", "name": "spare", "namespace": slug}
        bank.ids["key_id"] = [(await sent(operator, "/v1/keys", spare))["id"]]
        owner = await stack.enter_async_context(bank.client(OWNER))
        other = await stack.enter_async_context(bank.client(OTHER))
        admin = await stack.enter_async_context(bank.client("admin"))
        # The admin's keys are those of this namespace, however many others the server has.
        keys = (await admin.get("/v1/keys", params={"limit": 200})).json()["items"]
        [mine] = [key["id"] for key in keys if key["name"] == OWNER]
        bank.ids["key_id"].append(mine)
        public = await _remember(bank, other, OTHER, "look up the base rate of rain first")
        await _fill_with_memories(bank, owner)
        bank.ids["memory_id"] = [*bank.secret[:3], public]
        await _fill_with_receipts(bank, owner, script)
        await _fill_with_contrasts(bank, admin, other)
        await _fill_with_changesets(bank, public)
        await _fill_with_runs(bank, operator)
        guide = {
            "agent": "curator",
            "failure_reason": "details were carried over",
            "instruction": "carry over the method alone",
            "category": "weather",
        }
        made = await sent(admin, bank.path("/meta-guidelines"), guide)
        bank.ids["memory_id"].append(made["id"])
        categories = (await admin.get(bank.path("/categories"))).json()["items"]
        bank.ids["category_id"] = [one["id"] for one in categories]
        calls = (await admin.get(bank.path("/llm-calls"), params={"limit": 200})).json()["items"]
        bank.ids["llm_call_id"] = [one["id"] for one in calls]
        assert bank.ids["llm_call_id"]
        runs = (await admin.get(bank.path("/jobs/runs"))).json()["items"]
        bank.ids["run_id"] = [one["id"] for one in runs[:2]]
        assert bank.ids["run_id"]
    bank.ids |= {"name": [OWNER], "job": ["merge", "decay"], "namespace": [slug]}
    return bank


async def sent(client: httpx.AsyncClient, path: str, body: object, **headers: str) -> Any:
    answer = await client.post(path, json=body, headers=headers)
    assert answer.is_success, (path, answer.text)
    return answer.json()


async def _remember(
    bank: Bank, client: httpx.AsyncClient, agent: str, lesson: str, **more: object
) -> str:
    body = {"agent": agent, "situation": "a forecast of rain", "lesson": lesson, **more}
    draft = {"category": "weather"} | body
    return (await sent(client, bank.path("/experiences"), draft))["id"]


async def _fill_with_memories(bank: Bank, owner: httpx.AsyncClient) -> None:
    private: dict[str, object] = {"visibility": "agent"}
    secret = await _remember(
        bank,
        owner,
        OWNER,
        "a forecast of cobaltheron",
        situation="a forecast of rain zephyrquilt",
        metadata={"note": "amberlynx"},
        **private,
    )
    place = bank.path(f"/experiences/{secret}")
    edit = {"lesson": "a forecast of obsidianfern rain"}
    edited = await owner.patch(place, json=edit, headers={"If-Match": '"1"'})
    assert edited.is_success, edited.text
    for action in ("suspend", "restore"):
        await sent(owner, f"{place}/{action}", {"reason": "because of quartzibis"})
    twins = [
        await _remember(bank, owner, OWNER, lesson, **private)
        for lesson in (
            "count the rain harvestmouse before the forecast is made",
            "Count the rain harvestmouse, before the forecast is made.",
        )
    ]
    candidate = await _remember(
        bank, owner, OWNER, "a forecast of indigotapir", task=TASK, verify=True, **private
    )
    own = {
        "agent": OWNER,
        "task": SUM,
        "trigger": f"{TRIGGER} of copperjackal",
        "enforce": ENFORCE,
        "avoid": AVOID,
    }
    constraint = (await sent(owner, bank.path("/constraints"), own))["id"]
    bank.secret = [secret, candidate, constraint, *twins]
    tickets = (await owner.get(bank.path("/tickets"))).json()["items"]
    bank.ids["ticket_id"] = [one["id"] for one in tickets]
    assert bank.ids["ticket_id"]


async def _fill_with_receipts(bank: Bank, owner: httpx.AsyncClient, script: Script) -> None:
    """By rule, by a model, with something cut, as data; and an outcome and a prediction."""
    model = {"lines": [{"text": "velvetotter comes first", "cites": ["m1"]}]}
    receipts: list[dict[str, Any]] = []
    for said, more in (
        ("refusal", {}),
        (json.dumps(model), {}),
        ("refusal", {"max_tokens": 60}),
        ("refusal", {"format": "memories"}),
    ):
        script.say(said, said)
        ask = {"agent": OWNER, "task": TASK, "arm": "on", "k": 8, **more}
        again = {"Idempotency-Key": f"receipt {len(receipts)}"}
        receipts.append(await sent(owner, bank.path("/retrievals"), ask, **again))
    script.say()
    by_rule, by_model, short, as_data = receipts
    assert "obsidianfern" in by_rule["guideline"]["text"]
    assert "velvetotter" in by_model["guideline"]["text"]
    assert {cut["memory_id"] for cut in short["guideline"]["cut"]} & set(bank.secret)
    assert "obsidianfern" in json.dumps(as_data["memories"])
    # The twins say the same, so one of them is served for both.
    items = await owner.get(bank.path(f"/retrievals/{by_rule['retrieval_id']}"))
    served = [item["memory_id"] for item in items.json()["items"] if item["served"]]
    [twin] = set(bank.secret[-2:]) & set(served)
    report = {
        "reward": 0.1,
        "helpful": bank.secret[:1],
        "harmful": [twin],
        "used": bank.secret[:1],
        "lesson": {"lesson": "next time look at obsidianfern"},
    }
    place = bank.path(f"/retrievals/{by_rule['retrieval_id']}/outcome")
    outcome = await sent(owner, place, report)
    await sent(owner, bank.path("/outcomes/apply"), {})
    forecast = {
        "agent": OWNER,
        "task": {"text": "a forecast of rain", "key": "rain#1", "group_key": "rain"},
        "probabilities": {"yes": 0.7, "no": 0.3},
    }
    prediction = await sent(owner, bank.path("/predictions"), forecast)
    bank.ids["retrieval_id"] = [one["retrieval_id"] for one in receipts]
    bank.ids["task_id"] = [by_rule["task_id"]]
    bank.ids["outcome_id"] = [outcome["outcome_id"]]
    bank.ids["prediction_id"] = [prediction["id"]]


async def _fill_with_contrasts(
    bank: Bank, admin: httpx.AsyncClient, other: httpx.AsyncClient
) -> None:
    settled = {"event": "rain", "resolutions": {"yes": "yes", "no": "no"}}
    bank.ids["settlement_id"] = [(await sent(admin, bank.path("/settlements"), settled))["id"]]
    for enforce, avoid in ((ENFORCE, AVOID), (AVOID, ENFORCE)):
        body = {"agent": "curator", "task": SUM | {"text": f"How long? {enforce[:9]}"}}
        made = {"trigger": "a length is asked for in two units", "enforce": enforce, "avoid": avoid}
        await sent(admin, bank.path("/constraints"), body | made)
    found = (await admin.get(bank.path("/contradictions"))).json()["items"]
    bank.ids["contradiction_id"] = [one["id"] for one in found]
    runs = [
        await sent(
            client,
            bank.path("/trajectories"),
            {
                "agent": agent,
                "task": {"text": "How many pens?", "key": "pens", "category": "mathematics"},
                "steps": [{"text": f"There are {reward} pens."}],
                "reward": reward,
            },
        )
        for client, agent, reward in ((other, OTHER, 1.0), (admin, "alpha", 0.0))
    ]
    bank.ids["trajectory_id"] = [run["id"] for run in runs]
    bank.ids["other_id"] = bank.ids["trajectory_id"]
    pair = await sent(admin, bank.path("/contrasts"), {"trajectory_ids": bank.ids["trajectory_id"]})
    bank.ids["contrast_id"] = [one["id"] for one in pair["contrasts"]]


async def _fill_with_changesets(bank: Bank, public: str) -> None:
    """One that was applied to memories of which one has become private since."""
    ids = (("edit", public, bank.secret[0]), ("create", bank.secret[1], None))
    changes = [
        {"change": change, "memory_id": new, "replaces": old, "version": 1, "was": None}
        for change, new, old in ids
    ]
    made, state = str(new_id()), "applied"
    values = {"id": made, "changes": json.dumps(changes), "state": state, "slug": bank.slug}
    values |= {"outcomes": bank.ids["outcome_id"], "now": NOON}
    database = shared_engine(bank.app).database
    async with database.transaction() as connection:
        here = text("SELECT id FROM namespace WHERE slug = :slug")
        namespace_id = await connection.scalar(here, {"slug": bank.slug})
    async with database.transaction(namespace_id) as connection:
        await connection.execute(_CHANGESET, values)
        rolled_back = {"memories": [[bank.secret[0], "active", None]], **NOTHING_ELSE}
        hook = {"id": str(new_id()), "now": NOON}
        await connection.execute(_WEBHOOK, hook)
        again = {"id": str(new_id()), "taken": json.dumps(rolled_back), "now": NOON}
        await connection.execute(_ROLLBACK, again)
    bank.ids["changeset_id"] = [made]
    bank.ids["rollback_id"] = [again["id"]]
    bank.ids["webhook_id"] = [hook["id"]]


NOTHING_ELSE = {"outcomes": [], "runs": [], "contrasts": [], "pieces": [], "weakened": []}

_WEBHOOK = text("""
    INSERT INTO webhook (id, namespace_id, url, kinds, secret, created_at)
    SELECT :id, current_setting('memlift.namespace')::uuid, 'https://hooks.invalid/', '{}',
        'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', :now
""")

_ROLLBACK = text("""
    INSERT INTO rollback (id, namespace_id, source, taken, bank_version, recorded_at)
    SELECT :id, current_setting('memlift.namespace')::uuid, '{}', :taken, 1, :now
""")


def shared_engine(app: FastAPI) -> Engine:
    engine = app.state.shared.engine
    assert isinstance(engine, Engine)
    return engine


_CHANGESET = text("""
    INSERT INTO changeset (id, namespace_id, state, category_id, family, outcome_ids, similarity,
        changes, recorded_at)
    SELECT CAST(:id AS uuid), n.id, :state, (SELECT min(CAST(c.id AS text)) FROM category c
        WHERE c.namespace_id = n.id)::uuid, 'owl', CAST(:outcomes AS uuid[]), 0.9,
        CAST(:changes AS jsonb), :now
    FROM namespace n WHERE n.slug = :slug
""")


async def _fill_with_runs(bank: Bank, operator: httpx.AsyncClient) -> None:
    """Jobs that leave a record of what they did to private memories, or would do."""
    merged = await sent(operator, bank.path("/jobs/merge/runs"), {})
    assert merged["result"]["changes"], merged
    await sent(operator, bank.path("/jobs/decay/runs"), {})


async def a_bank(
    database_url: str, operator_token: str, language_model: Script, data: Path
) -> AsyncGenerator[Bank]:
    llm = ProviderClient(ProviderPolicy("openai/stub", language_model.url, API_KEY))
    llm.start()
    await llm.wait_until_ready()
    async with speaking(database_url, llm, data) as app:
        async with a_client(app, operator_token) as operator:
            slug = await a_namespace(operator, "wall")
        yield await fill(app, operator_token, slug, language_model)
    await llm.close()


STORY_ID = re.compile(r"019ab2c4-5d6e-7f80-9a1b-2c3d4e5f6071")
