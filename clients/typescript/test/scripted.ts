/** A fetch that gives its answers one after another, the last one again and again. */

import type { Send } from "@memlift/client";

export const QUICK = { firstDelay: 0, longestWait: 0 };

export type Answer = Response | Error;

export function aProblem(status: number, code: string, headers: HeadersInit = {}): Response {
  return Response.json({ title: "T", status, code, detail: "D" }, { status, headers });
}

export class Script {
  readonly requests: Request[] = [];
  readonly #answers: Answer[];

  constructor(...answers: Answer[]) {
    this.#answers = answers;
  }

  readonly fetch: Send = async (url, init) => {
    this.requests.push(new Request(url, init));
    const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0];
    if (answer instanceof Response) return answer.clone();
    throw answer ?? new Error("the script has no answer");
  };

  heads(name: string): (string | null)[] {
    return this.requests.map((request) => request.headers.get(name));
  }
}
