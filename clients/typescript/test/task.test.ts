import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { KeyRefused, MemLift, MemLiftProblem, RECEIPT, unwrap } from "@memlift/client";
import { aBank, aNamespace, KEY, outcomes, receipts, SURE, TASK, URL_OF_SERVER } from "./live.js";
import { QUICK } from "./scripted.js";

test("a run asks, tells what it used and how it went, and moves a weight", async () => {
  const [memory, id] = await aBank();
  const asked = { ...SURE, purpose: "paired" } as const;

  const answer = await memory.withTask({ ...asked, evaluator: "the desk" }, async (t) => {
    assert.match(t.guideline, /Offer the return label first.*\[m1\]/s);
    const script = `process.stdout.write(process.env.${RECEIPT})`;
    const child = execFileSync(process.execPath, ["-e", script], { env: t.environment });
    assert.equal(String(child), t.receipt);
    const said = "I sent the return label [m1].";
    assert.deepEqual(t.cited(said), [id]);
    t.reward(1, { without: { reward: 0 } });
    return said;
  });

  assert.equal(answer, "I sent the return label [m1].");
  const [outcome] = await outcomes(memory);
  assert.deepEqual(
    [outcome?.reward, outcome?.used, outcome?.evaluator],
    [1, [id], "the desk"],
  );
  const path = { namespace: memory.namespace };
  await unwrap(memory.api.POST("/v1/namespaces/{namespace}/outcomes/apply", { params: { path } }));
  const weight = await unwrap(
    memory.api.GET("/v1/namespaces/{namespace}/experiences/{memory_id}/weight", {
      params: { path: { ...path, memory_id: id } },
    }),
  );
  assert.ok(weight.effective_weight > 1);
});

test("an exception is reward 0 by the agent's own word, and is thrown on as it was", async () => {
  const memory = await aNamespace();
  const fault = new RangeError("no such order");

  const run = memory.withTask({ task: { text: TASK }, reward_kind: "binary" }, () => {
    throw fault;
  });

  await assert.rejects(run, (thrown) => thrown === fault);
  const [outcome] = await outcomes(memory);
  assert.deepEqual(
    [outcome?.reward, outcome?.verifier, outcome?.reward_kind],
    [0, "self", "binary"],
  );
});

test("a run without a reward leaves its receipt pending, to be reported by its key", async () => {
  const memory = await aNamespace();

  await memory.withTask({ task: { text: TASK, key: "order-17" } }, (t) => t.cited("nothing"));

  assert.deepEqual(await outcomes(memory), []);
  const [bound] = await memory.reportByKey({ task_key: "order-17", reward: 1 });
  const [receipt] = (await receipts(memory)).items;
  assert.equal(bound?.retrieval_id, receipt?.retrieval_id);
});

test("a run that was aborted stays pending", async () => {
  const memory = await aNamespace();

  const run = memory.withTask(TASK, () => AbortSignal.abort().throwIfAborted());

  await assert.rejects(run, { name: "AbortError" });
  assert.deepEqual(await outcomes(memory), []);
});

test("what MemLift refuses inside a run is no failure of it", async () => {
  const memory = await aNamespace();
  const long = "x".repeat(100_000);

  const run = memory.withTask(TASK, () => memory.remember({ situation: long, lesson: "Wait." }));

  await assert.rejects(run, (fault: MemLiftProblem) => {
    assert.ok(fault instanceof MemLiftProblem);
    assert.deepEqual([fault.status, fault.field], [413, "situation"]);
    assert.equal(typeof fault.limit, "number");
    assert.ok(fault.message.includes("situation") && fault.requestId);
    return true;
  });
  assert.deepEqual(await outcomes(memory), []);
});

test("a failure whose report is refused is thrown, and the refusal is told", async () => {
  const told: string[] = [];
  const memory = await aNamespace({ warn: (message) => told.push(message) });

  const run = memory.withTask({ task: { text: TASK }, evaluator: "" }, () => {
    throw new RangeError("first");
  });

  await assert.rejects(run, RangeError);
  assert.match(told.join(), /how this run went was not reported: 422 .*evaluator/);
});

test("a reward that is refused is not swallowed", async () => {
  const memory = await aNamespace();

  await assert.rejects(memory.withTask(TASK, (t) => t.reward(7)), (fault: MemLiftProblem) => {
    assert.deepEqual([fault.status, fault.field], [422, "reward"]);
    return true;
  });
});

test("without a server a run goes on without advice", async () => {
  const told: string[] = [];
  const memory = new MemLift("http://127.0.0.1:14999", KEY, {
    retryPolicy: { ...QUICK, attempts: 2 },
    warn: (message) => told.push(message),
    fetch: () => Promise.reject(new TypeError("fetch failed")),
  });

  const answer = await memory.withTask(TASK, (t) => {
    t.cited("[m1]");
    t.reward(1);
    return [t.receipt, t.guideline, t.served];
  });

  assert.deepEqual(answer, [null, "", null]);
  assert.match(told.join(), /no advice/);
});

test("a key that is refused is not taken for a server that is away", async () => {
  const memory = new MemLift(URL_OF_SERVER, "ml_of_nobody");

  await assert.rejects(memory.withTask(TASK, () => assert.fail("it began")), KeyRefused);
});

test("what the server warns of is told once", async () => {
  const told: string[] = [];
  const memory = await aNamespace({ warn: (message) => told.push(message) });

  for (const reward of [1, 0]) await memory.withTask(SURE, (t) => t.reward(reward));

  assert.deepEqual(told.map((message) => message.split(": ")[1]), ["observational"]);
});
