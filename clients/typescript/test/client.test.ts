import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { test } from "node:test";
import {
  ConfigurationError,
  KeyRefused,
  MemLift,
  MemLiftProblem,
  UnexpectedAnswer,
  unwrap,
} from "@memlift/client";
import { findLocal } from "../dist/local.js";
import { aProblem, Script } from "./scripted.js";

const SECRET = "ml_secret";

for (const [url, key] of [
  ["127.0.0.1:8000", SECRET],
  ["ftp://host", SECRET],
  ["http://", SECRET],
  ["http://a b", SECRET],
  ["http://host", " \n"],
  ["http://host", "two words"],
  ["http://host", "ml_\u00e9"],
] as const) {
  test(`what cannot be a URL or a key is refused: ${JSON.stringify([url, key])}`, () => {
    assert.throws(
      () => new MemLift(url, key),
      (fault) => fault instanceof ConfigurationError && !fault.message.includes(SECRET),
    );
  });
}

test("a key is sent without the newline of its file, and printed nowhere", async () => {
  const script = new Script(Response.json({ status: "live" }));
  const memory = new MemLift(" http://host/ ", `${SECRET}\n`, { fetch: script.fetch });

  await unwrap(memory.within("acme").api.GET("/health/live"));

  assert.deepEqual(script.heads("authorization"), [`Bearer ${SECRET}`]);
  assert.equal(script.requests[0]?.url, "http://host/health/live");
  assert.ok(!inspect(memory, { depth: 9, showHidden: true }).includes(SECRET));
  assert.ok(!JSON.stringify(memory).includes(SECRET));
});

test("a problem says what its document says", async () => {
  const document = {
    code: "too_long",
    title: "Unprocessable",
    detail: "lesson has 5,001 characters, the limit is 4,000",
    field: "lesson",
    limit: 4000,
    errors: [{ field: "lesson", detail: "too long" }],
    request_id: "r-1",
  };
  const script = new Script(Response.json(document, { status: 422 }));

  const refusal = await refusalOf(script);

  assert.ok(!(refusal instanceof KeyRefused));
  const { name, message, status, requestId, ...said } = refusal;
  assert.deepEqual([name, status, requestId], ["MemLiftProblem", 422, "r-1"]);
  assert.equal(message, `422 too_long: ${document.detail}`);
  const { request_id, ...expected } = document;
  assert.deepEqual(said, expected);
});

test("a refused key is an error of its own", async () => {
  assert.ok((await refusalOf(new Script(aProblem(401, "unauthorized")))) instanceof KeyRefused);
});

test("what another server answers is told by its status", async () => {
  const page = new Response("<h1>Bad Gateway</h1>", { status: 502 });
  const moved = new Response(null, { status: 307, headers: { location: "http://elsewhere" } });

  const refusals = [await refusalOf(new Script(page)), await refusalOf(new Script(moved))];

  assert.deepEqual(refusals.map(({ message }) => message), [
    "502 unknown: <h1>Bad Gateway</h1>",
    "307 unknown: ",
  ]);
});

test("an answer that is no JSON is unexpected", async () => {
  const memory = new MemLift("http://host", SECRET, {
    fetch: new Script(new Response("<h1>Hello</h1>")).fetch,
  });

  await assert.rejects(memory.retrieve("T"), UnexpectedAnswer);
});

async function refusalOf(script: Script): Promise<MemLiftProblem> {
  const memory = new MemLift("http://host", SECRET, { fetch: script.fetch });
  const refusal: unknown = await memory.retrieve("T").then(() => null, (fault) => fault);
  assert.ok(refusal instanceof MemLiftProblem);
  return refusal;
}

test("a server of this machine is found in its home", (t) => {
  const home = mkdtempSync(join(tmpdir(), "memlift-"));
  t.after(() => rmSync(home, { recursive: true }));
  for (const name of ["MEMLIFT_URL", "MEMLIFT_KEY", "MEMLIFT_HOME"]) {
    const before = process.env[name];
    t.after(() => (before === undefined ? delete process.env[name] : (process.env[name] = before)));
    delete process.env[name];
  }
  assert.throws(() => findLocal(home), { name: "ConfigurationError", message: RegExp(home) });
  writeFileSync(join(home, "operator.key"), "ml_home\n");

  const byCustom = findLocal(home);
  writeFileSync(join(home, "url"), "http://127.0.0.1:8123\n");
  process.env["MEMLIFT_HOME"] = home;
  const named = findLocal();
  process.env["MEMLIFT_URL"] = "http://localhost:9";
  assert.equal(findLocal().key, "ml_home\n");
  process.env["MEMLIFT_URL"] = "http://elsewhere:9";
  assert.throws(() => findLocal(), { name: "ConfigurationError", message: /is not sent to/ });
  process.env["MEMLIFT_KEY"] = "ml_set";
  const told = findLocal();

  assert.deepEqual([byCustom, named, told], [
    { url: "http://127.0.0.1:8000", key: "ml_home\n" },
    { url: "http://127.0.0.1:8123", key: "ml_home\n" },
    { url: "http://elsewhere:9", key: "ml_set" },
  ]);
});
