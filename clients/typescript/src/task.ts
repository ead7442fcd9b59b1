/**
 * One run of a task: it asks when it begins, and says how it went when it ends.
 *
 * What went wrong in the run is reward 0, by the agent's own word, and is thrown on as it was. A run
 * that was aborted, or that says no reward, leaves its receipt pending: whoever learns the result
 * reports it later, by the key of the task.
 */

import { cited } from "./citations.js";
import type { Asked, OutcomeTaken, Report, Retrieval } from "./client.js";
import { MemLiftError } from "./faults.js";

/** Names the receipt of the run to the processes that it starts. */
export const RECEIPT = "MEMLIFT_RECEIPT";

/** What is asked for a task, and how its result is measured. */
export type TaskSettings = Asked & Pick<Report, "reward_kind" | "evaluator">;

/** The run inside `memory.withTask(...)`. */
export class TaskRun {
  /** The whole answer; null where the server was not reached: the run has no memory. */
  served: Retrieval | null = null;
  /** The memories that the agent acted on; undefined where nothing is known of it. */
  used: string[] | undefined = undefined;
  /** What the server made of the report, once the run has ended. */
  outcome: OutcomeTaken | null = null;
  /** What to ask when the run begins. */
  readonly asked: Asked;
  readonly #measured: Report;
  #report: Report | null = null;

  constructor({ reward_kind, evaluator, ...asked }: TaskSettings) {
    this.asked = asked;
    this.#measured = { reward_kind, evaluator };
  }

  /** The text for the prompt; empty where there is no advice. */
  get guideline(): string {
    return this.served?.guideline.text ?? "";
  }

  /** The id to report under; null where the server could not be reached, and for a preview. */
  get receipt(): string | null {
    return this.served?.retrieval_id ?? null;
  }

  /** Whether a reward was said. */
  get isJudged(): boolean {
    return this.#report !== null;
  }

  /** For a process that the run starts, whose own reports are then of this run. */
  get environment(): Record<string, string | undefined> {
    return this.receipt === null ? process.env : { ...process.env, [RECEIPT]: this.receipt };
  }

  /**
   * Take what the agent's own text cites, such as `[m1]`, for what it used: that alone learns from
   * the result. Nothing cited means that nothing was used.
   */
  cited(answer: string): string[] {
    this.used = this.served === null ? [] : cited(answer, this.served);
    return this.used;
  }

  /** How it went, 0 to 1; sent when the run ends, the last word said. */
  reward(reward: number, more: Omit<Report, "reward"> = {}): void {
    this.#report = { ...more, reward };
  }

  /** What to report of a run that ended well; null: nothing is known. */
  closing(report: Report | null = this.#report): Report | null {
    return report && { ...this.#measured, used: this.used, ...report };
  }

  /**
   * The same of a run that ended by `fault`. What MemLift itself throws, and what ends a run from
   * outside, says nothing of the run.
   */
  closingAfter(fault: unknown): Report | null {
    const isOfTheRun = !(fault instanceof MemLiftError) && !isAbort(fault);
    return this.closing(this.#report ?? (isOfTheRun ? { reward: 0, verifier: "self" } : null));
  }
}

function isAbort(fault: unknown): boolean {
  return fault instanceof Error && fault.name === "AbortError";
}
