/** The client: the whole loop by name, and every other operation through `api`. */

import createClient, { type Client } from "openapi-fetch";
import type { components, paths } from "./contract.js";
import { ConfigurationError, ConnectionFailed, problemOf, UnexpectedAnswer } from "./faults.js";
import { findLocal } from "./local.js";
import { RETRY_POLICY, retrying, type RetryPolicy, type Send } from "./retries.js";
import { TaskRun, type TaskSettings } from "./task.js";

/** What is sent and answered, as the contract names it. */
export type Schemas = components["schemas"];
export type ExperienceDraft = Schemas["ExperienceDraft"];
export type KeyedReport = Schemas["KeyedReport"];
export type OutcomeBound = Schemas["Rows_OutcomeBound_"];
export type OutcomeTaken = Schemas["OutcomeTaken"];
export type Remembered = Schemas["Remembered"];
export type Report = Schemas["Report"];
export type Retrieval = Schemas["Retrieval"];

/** What is asked before a task; without an agent it is the client's own who asks. */
export type Asked = Omit<Schemas["RetrievalRequest"], "agent"> & { agent?: string };

export interface Options {
  /** The namespace that all calls are made in; `default` where it is left out. */
  namespace?: string;
  /** Who asks, where a call does not say; `agent` where it is left out. */
  agent?: string;
  /** What differs from `RETRY_POLICY`. */
  retryPolicy?: Partial<RetryPolicy>;
  /** Sends the requests; Node's own `fetch` where it is left out. */
  fetch?: Send;
  /** Takes what the caller should know though nothing failed; `console.warn` by default. */
  warn?: (message: string) => void;
}

/** Speaks to one server with one key, inside one namespace. */
export class MemLift {
  readonly url: string;
  readonly namespace: string;
  readonly agent: string;
  /**
   * Every operation of the contract, by its path; the answer is `{ data, error, response }`, and
   * `unwrap` makes it the data or a MemLiftProblem. Retries and idempotency keys are taken care of.
   */
  readonly api: Client<paths>;
  readonly #key: string | null;
  readonly #options: Options;
  readonly #warn: (message: string) => void;
  readonly #warned = new Set<string>();

  /**
   * White space around URL and key is dropped, as a file's last newline is; what cannot be a URL or
   * a key throws ConfigurationError. The key is printed nowhere.
   */
  constructor(url: string, key?: string | null, options: Options = {}) {
    this.url = checkedUrl(url);
    this.#key = checkedKey(key ?? null);
    this.#options = options;
    this.#warn = options.warn ?? console.warn;
    this.namespace = options.namespace ?? "default";
    this.agent = options.agent ?? "agent";
    const accept = { accept: "application/json, application/problem+json" };
    this.api = createClient<paths>({
      baseUrl: this.url,
      headers: this.#key === null ? accept : { ...accept, authorization: `Bearer ${this.#key}` },
      redirect: "manual",
      fetch: retrying({ ...RETRY_POLICY, ...options.retryPolicy }, options.fetch),
    });
  }

  /**
   * The client of a server on this machine: address and key by `MEMLIFT_URL` and `MEMLIFT_KEY`, else
   * from its data directory. Throws ConfigurationError where there is none.
   */
  static fromHome({ home, ...options }: Options & { home?: string } = {}): MemLift {
    const { url, key } = findLocal(home);
    return new MemLift(url, key, options);
  }

  /** The same server and key, in another namespace. */
  within(namespace: string): MemLift {
    return new MemLift(this.url, this.#key, { ...this.#options, namespace });
  }

  /** A guideline for a task, by its text or by all that is known of it. A preview stores nothing. */
  async retrieve(asked: string | Asked): Promise<Retrieval> {
    const body = { agent: this.agent, ...settingsOf(asked) };
    return unwrap(
      this.api.POST("/v1/namespaces/{namespace}/retrievals", { params: this.#here, body }),
    );
  }

  /** How the attempt went. */
  async report(receipt: string, body: Report): Promise<OutcomeTaken> {
    const path = { namespace: this.namespace, retrieval_id: receipt };
    const taken = await unwrap(
      this.api.POST("/v1/namespaces/{namespace}/retrievals/{retrieval_id}/outcome", {
        params: { path },
        body,
      }),
    );
    return this.#told(taken);
  }

  /** The same, by who does not hold the receipt: it names the task by its key, or the trace. */
  async reportByKey(body: KeyedReport): Promise<OutcomeBound["items"]> {
    const { items } = await unwrap(
      this.api.POST("/v1/namespaces/{namespace}/outcomes", { params: this.#here, body }),
    );
    return items.map((taken) => this.#told(taken));
  }

  /** Adds an experience to the bank; without an agent it is the client's own who learned it. */
  async remember(draft: Omit<ExperienceDraft, "agent"> & { agent?: string }): Promise<Remembered> {
    const body = { agent: this.agent, ...draft };
    return this.#told(
      await unwrap(
        this.api.POST("/v1/namespaces/{namespace}/experiences", { params: this.#here, body }),
      ),
    );
  }

  /**
   * The run of a task: asks, hands the run to `body`, and reports at its end what `t.reward` said.
   * What `body` throws is reward 0, by the agent's own word, and is thrown on; without a reward the
   * receipt stays pending. Where the server is not reached, the run goes on without advice. A report
   * of a run that ended well is thrown where it is refused.
   */
  async withTask<Result>(
    task: string | TaskSettings,
    body: (t: TaskRun) => Result | Promise<Result>,
  ): Promise<Result> {
    const run = new TaskRun(settingsOf(task));
    try {
      run.served = await this.retrieve(run.asked);
    } catch (fault) {
      if (!(fault instanceof ConnectionFailed)) throw fault;
      this.#warn(`no advice, for the server was not reached: ${fault.message}`);
    }
    let result: Result;
    try {
      result = await body(run);
    } catch (fault) {
      // What went wrong in the run is told first, and that its report failed with it.
      await this.#close(run, run.closingAfter(fault)).catch((refusal: Error) =>
        this.#warn(`how this run went was not reported: ${refusal.message}`),
      );
      throw fault;
    }
    await this.#close(run, run.closing());
    return result;
  }

  async #close(run: TaskRun, report: Report | null): Promise<void> {
    if (run.receipt !== null && report !== null) {
      run.outcome = await this.report(run.receipt, report);
    }
  }

  get #here() {
    return { path: { namespace: this.namespace } };
  }

  /** So that a report which was accepted and teaches nothing is noticed, each reason once. */
  #told<Answer extends { warnings: { code: string; detail: string }[] }>(answer: Answer): Answer {
    for (const { code, detail } of answer.warnings) {
      if (!this.#warned.has(code)) {
        this.#warned.add(code);
        this.#warn(`the server took it and warns: ${code}: ${detail}`);
      }
    }
    return answer;
  }
}

/**
 * The data of an answer of `api`. Throws MemLiftProblem where the server refused, KeyRefused where
 * it refused the key.
 */
export async function unwrap<Answer extends { data?: unknown; error?: unknown; response: Response }>(
  answer: Promise<Answer>,
): Promise<Exclude<Answer["data"], undefined>> {
  try {
    const { data, error, response } = await answer;
    if (!response.ok) throw problemOf(response, error);
    return data as Exclude<Answer["data"], undefined>;
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault;
    throw new UnexpectedAnswer("the answer is no JSON", { cause: fault });
  }
}

function settingsOf<Settings extends Asked>(task: string | Settings): Settings | Asked {
  return typeof task === "string" ? { task: { text: task } } : task;
}

/** No message repeats it, as it may hold a password, or be the key in the wrong place. */
function checkedUrl(url: string): string {
  const bare = url.trim();
  if (!/^https?:\/\//i.test(bare)) {
    throw new ConfigurationError(
      "the server's URL needs a scheme: http:// or https:// before the host",
    );
  }
  if (!URL.canParse(bare) || /\s/u.test(bare)) {
    throw new ConfigurationError("the server's URL cannot be read");
  }
  return bare;
}

/** It may hold no more than a header may. */
function checkedKey(key: string | null): string | null {
  const bare = key?.trim() ?? null;
  if (bare === "") {
    throw new ConfigurationError("the key is empty: leave it out, or read it from its file");
  }
  if (bare !== null && !/^[!-~]+$/u.test(bare)) {
    throw new ConfigurationError("the key holds characters that no key has");
  }
  return bare;
}
