/** A server to test against, with a namespace for each test. */

import { randomUUID } from "node:crypto";
import { MemLift, unwrap, type Options } from "@memlift/client";

const { MEMLIFT_URL, MEMLIFT_KEY } = process.env;
if (!MEMLIFT_URL || !MEMLIFT_KEY) {
  throw new Error("no server: `make test-typescript` starts one and names it here");
}
export const URL_OF_SERVER: string = MEMLIFT_URL;
export const KEY: string = MEMLIFT_KEY;

export const SITUATION = "A customer wants to cancel an order that has already shipped";
export const LESSON = "Offer the return label first; cancelling fails once it is on its way";
export const TASK = "Cancel order 17, it left the warehouse yesterday";

/** Asks so that what is similar is served: no control run, nothing left out at random. */
export const SURE = { task: { text: TASK }, arm: "on", explore: false } as const;

const QUIET: Options = { agent: "bot", warn: () => {} };

export async function aNamespace(options: Options = {}): Promise<MemLift> {
  const namespace = `ts-${randomUUID().slice(0, 8)}`;
  const memory = new MemLift(URL_OF_SERVER, KEY, { ...QUIET, namespace, ...options });
  await unwrap(memory.api.POST("/v1/namespaces", { body: { slug: namespace } }));
  return memory;
}

/** A namespace with one memory, and its id. */
export async function aBank(options: Options = {}): Promise<[MemLift, string]> {
  const memory = await aNamespace(options);
  const { id } = await memory.remember({ situation: SITUATION, lesson: LESSON });
  return [memory, id];
}

export async function receipts(memory: MemLift) {
  const params = { path: { namespace: memory.namespace } };
  return unwrap(memory.api.GET("/v1/namespaces/{namespace}/retrievals", { params }));
}

export async function outcomes(memory: MemLift) {
  const params = { path: { namespace: memory.namespace } };
  const page = await unwrap(memory.api.GET("/v1/namespaces/{namespace}/outcomes", { params }));
  return page.items;
}
