/** When to ask again, and how long to wait. */

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { ConnectionFailed, problemOf } from "./faults.js";

/**
 * How long a client waits, and how often it asks again. Times are in milliseconds.
 *
 * The delay before the second attempt is `firstDelay`, doubled for each later one up to
 * `longestDelay`; the wait is drawn from the upper half of that, so that clients which failed
 * together do not return together. A Retry-After is kept to, up to `longestWait`.
 */
export interface RetryPolicy {
  /** How long an answer may take. */
  timeout: number;
  /** At least 1, the first included. */
  attempts: number;
  firstDelay: number;
  longestDelay: number;
  longestWait: number;
}

export const RETRY_POLICY: Readonly<RetryPolicy> = {
  timeout: 30_000,
  attempts: 5,
  firstDelay: 200,
  longestDelay: 10_000,
  longestWait: 60_000,
};

export type Send = (url: string, init: RequestInit) => Promise<Response>;

const CONFLICT = 409;
const BUSY = [429, 503];

/** The wait before attempt `attempt` + 1; `chance` in [0, 1). */
export function delayAfter(policy: RetryPolicy, attempt: number, chance: number): number {
  const ceiling = Math.min(policy.longestDelay, policy.firstDelay * 2 ** (attempt - 1));
  return ceiling * (0.5 + 0.5 * chance);
}

/** The same after this answer: a Retry-After in seconds counts, its other form, a date, does not. */
export function waitAfter(
  policy: RetryPolicy,
  attempt: number,
  chance: number,
  answer: Response | null,
): number {
  const delay = delayAfter(policy, attempt, chance);
  const seconds = Number(answer?.headers.get("retry-after") || NaN);
  if (Number.isNaN(seconds)) return delay;
  return Math.min(Math.max(seconds * 1000, delay), policy.longestWait);
}

/**
 * A fetch that asks until it is answered for good. Gives the last answer, whatever its status;
 * throws ConnectionFailed when none came, and what the caller's own signal says when it is aborted.
 * All attempts of a POST carry the same idempotency key.
 */
export function retrying(
  policy: RetryPolicy,
  send: Send = fetch,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const headers = new Headers(request.headers);
    if (request.method === "POST" && !headers.has("idempotency-key")) {
      headers.set("idempotency-key", randomUUID());
    }
    const content = await request.arrayBuffer();
    const body = content.byteLength === 0 ? null : content;
    const { method, redirect } = request;
    const attempts = isAskedOnce(request) ? 1 : policy.attempts;
    for (let attempt = 1; ; attempt += 1) {
      const last = attempt >= attempts;
      let answer: Response | null = null;
      try {
        answer = await withinTime(request.signal, policy.timeout, (signal) =>
          send(request.url, { method, headers, body, redirect, signal }),
        );
      } catch (fault) {
        request.signal.throwIfAborted();
        if (last || !mayRepeat(request)) throw noAnswer(request, fault);
      }
      if (answer !== null && (last || !(await isWorthAnother(answer)))) return answer;
      const wait = waitAfter(policy, attempt, Math.random(), answer);
      await pause(wait, undefined, { signal: request.signal });
    }
  };
}

/** The whole answer, its body included: one that breaks off is no answer. */
async function withinTime(
  outer: AbortSignal,
  milliseconds: number,
  send: (signal: AbortSignal) => Promise<Response>,
): Promise<Response> {
  const inner = new AbortController();
  const abort = () => inner.abort(outer.reason);
  const late = () => inner.abort(new Error(`no answer within ${milliseconds} ms`));
  const timer = setTimeout(late, milliseconds);
  outer.addEventListener("abort", abort, { once: true });
  try {
    outer.throwIfAborted();
    const answer = await send(inner.signal);
    const content = await answer.arrayBuffer();
    return new Response(content.byteLength === 0 ? null : content, answer);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener("abort", abort);
  }
}

/** That a server is not ready is what was asked. */
function isAskedOnce(request: Request): boolean {
  return new URL(request.url).pathname.endsWith("/health/ready");
}

async function isWorthAnother(answer: Response): Promise<boolean> {
  if (BUSY.includes(answer.status)) return true;
  // The first attempt of this very call is still at work: its answer will be there soon.
  if (answer.status !== CONFLICT) return false;
  const document: unknown = await answer.clone().json().catch(() => null);
  return problemOf(answer, document).code === "idempotency_running";
}

/** An edit that may have arrived is not repeated: its version would be stale by its own deed. */
function mayRepeat(request: Request): boolean {
  return !(["PATCH", "PUT"].includes(request.method) && request.headers.has("if-match"));
}

function noAnswer(request: Request, fault: unknown): ConnectionFailed {
  const { message, cause } = fault as Error;
  const detail = cause instanceof Error ? `${message}: ${cause.message}` : message;
  const path = new URL(request.url).pathname;
  return new ConnectionFailed(`${request.method} ${path}: ${detail}`, { cause: fault });
}
