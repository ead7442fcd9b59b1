import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { MemLift } from "@memlift/client";
import { aNamespace, KEY, receipts, SURE, URL_OF_SERVER } from "./live.js";
import { QUICK } from "./scripted.js";

type Cut = "before it arrives" | "before its answer";

/** Stands between client and server, and breaks the first connection off; `keys` of each POST. */
async function aProxy(t: TestContext, cut: Cut): Promise<{ url: string; keys: unknown[] }> {
  const keys: unknown[] = [];
  const server = createServer(async (request, response) => {
    keys.push(request.headers["idempotency-key"]);
    const isFirst = keys.length === 1;
    const body = await whole(request);
    if (isFirst && cut === "before it arrives") return request.socket.destroy();
    const { host, connection, ...headers } = request.headers;
    const answer = await fetch(`${URL_OF_SERVER}${request.url}`, {
      method: request.method ?? "GET",
      headers: headers as Record<string, string>,
      body,
    });
    const content = await answer.text();
    if (isFirst) return request.socket.destroy();
    const type = answer.headers.get("content-type") ?? "";
    return response.writeHead(answer.status, { "content-type": type }).end(content);
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys };
}

async function whole(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request.setEncoding("utf8")) text += part;
  return text;
}

for (const cut of ["before it arrives", "before its answer"] as const) {
  test(`a POST whose connection breaks ${cut} takes effect once`, async (t) => {
    const direct = await aNamespace();
    const { url, keys } = await aProxy(t, cut);
    const { namespace } = direct;
    const memory = new MemLift(url, KEY, { namespace, retryPolicy: QUICK });

    const served = await memory.retrieve(SURE);

    const { items, total } = await receipts(direct);
    assert.deepEqual([total, items[0]?.retrieval_id], [1, served.retrieval_id]);
    assert.equal(keys.length, 2);
    assert.ok(keys[0] && keys[0] === keys[1]);
  });
}
