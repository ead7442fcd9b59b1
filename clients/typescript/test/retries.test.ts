import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { ConnectionFailed, MemLift, MemLiftProblem, RETRY_POLICY, unwrap } from "@memlift/client";
import { delayAfter, waitAfter } from "../dist/retries.js";
import { aProblem, QUICK, Script } from "./scripted.js";

const LIVE = () => Response.json({ status: "live" });
const REFUSED = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });

function aClient(script: Script): MemLift {
  return new MemLift("http://memlift.test", "ml_k", { retryPolicy: QUICK, fetch: script.fetch });
}

const busy = (seconds: string) => aProblem(429, "too_many", { "retry-after": seconds });

test("the wait doubles up to its longest", () => {
  const policy = { ...RETRY_POLICY, firstDelay: 1000, longestDelay: 3000 };

  assert.deepEqual([1, 2, 3, 4].map((n) => delayAfter(policy, n, 0)), [500, 1000, 1500, 1500]);
});

test("jitter stays in the upper half", () => {
  for (const chance of [0, 0.3, 0.999]) {
    const delay = delayAfter(RETRY_POLICY, 2, chance);
    assert.ok(delay >= 200 && delay <= 400);
  }
});

test("a Retry-After is kept to, and does not keep a client for ever", () => {
  const waits = ["7", "86400", "Wed, 21 Oct 2015 07:28:00 GMT"].map((text) =>
    waitAfter(RETRY_POLICY, 1, 0, busy(text)),
  );

  assert.deepEqual(waits, [7000, 60_000, 100]);
});

for (const answer of [aProblem(503, "unavailable"), busy("0"), REFUSED]) {
  const kind = answer instanceof Response ? answer.status : answer.message;
  test(`${kind} is asked again`, async () => {
    const script = new Script(answer, LIVE());

    assert.deepEqual(await unwrap(aClient(script).api.GET("/health/live")), { status: "live" });
    assert.equal(script.requests.length, 2);
  });
}

test("a call that is still at work is asked again, another conflict is not", async () => {
  const running = new Script(aProblem(409, "idempotency_running"), LIVE());
  const other = new Script(aProblem(409, "other_metric"));

  await unwrap(aClient(running).api.GET("/health/live"));
  await assert.rejects(unwrap(aClient(other).api.GET("/health/live")), MemLiftProblem);

  assert.deepEqual([running.requests.length, other.requests.length], [2, 1]);
});

test("all attempts of a POST carry one key, and another call another", async () => {
  const script = new Script(REFUSED);
  const memory = aClient(script);

  await assert.rejects(memory.retrieve("T"), ConnectionFailed);
  await assert.rejects(memory.retrieve("T"), /POST \/v1\/.*fetch failed: connect ECONNREFUSED/);

  const keys = script.heads("idempotency-key");
  assert.equal(keys.length, 10);
  assert.equal(new Set(keys.slice(0, 5)).size, 1);
  assert.equal(new Set(keys).size, 2);
  assert.deepEqual(await script.requests[4]?.json(), { agent: "agent", task: { text: "T" } });
});

test("an edit whose answer is lost is not repeated", async () => {
  const script = new Script(REFUSED);
  const path = { namespace: "default", memory_id: "m" };
  const edit = aClient(script).api.PATCH("/v1/namespaces/{namespace}/experiences/{memory_id}", {
    params: { path, header: { "if-match": '"1"' } },
    body: { lesson: "Wait." },
  });

  await assert.rejects(edit, ConnectionFailed);
  assert.equal(script.requests.length, 1);
});

test("that a server is not ready is an answer", async () => {
  const script = new Script(Response.json({ status: "starting" }, { status: 503 }));

  const { response } = await aClient(script).api.GET("/health/ready");

  assert.deepEqual([response.status, script.requests.length], [503, 1]);
});

test("a caller who hangs up is not answered by a retry", async () => {
  const caller = new AbortController();
  const script = new Script(busy("60"));
  const memory = new MemLift("http://memlift.test", "ml_k", {
    fetch: (...request) => {
      setImmediate(() => caller.abort());
      return script.fetch(...request);
    },
  });

  const asked = memory.api.GET("/health/live", { signal: caller.signal });

  await assert.rejects(asked, { name: "AbortError" });
  assert.equal(script.requests.length, 1);
});

test("an answer that does not come, or breaks off, is none", async () => {
  const server = createServer((request, response) => {
    if (request.url !== "/health/live") return;
    response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
    response.write("{", () => response.destroy());
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const memory = new MemLift(url, null, { retryPolicy: { ...QUICK, attempts: 2, timeout: 200 } });
  try {
    await assert.rejects(memory.api.GET("/health/live"), ConnectionFailed);
    await assert.rejects(memory.api.GET("/v1/me"), /no answer within 200 ms/);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
