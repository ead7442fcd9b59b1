/**
 * MemLift's client: remember, retrieve, report.
 *
 *     const memory = new MemLift("http://127.0.0.1:8000", key);
 *     await memory.withTask("Cancel order 17", async (t) => {
 *       const answer = await act(t.guideline);
 *       t.cited(answer);
 *       t.reward(1);
 *     });
 */

export { cited, type Served } from "./citations.js";
export {
  MemLift,
  unwrap,
  type Asked,
  type ExperienceDraft,
  type KeyedReport,
  type Options,
  type OutcomeBound,
  type OutcomeTaken,
  type Remembered,
  type Report,
  type Retrieval,
  type Schemas,
} from "./client.js";
export type { components, operations, paths } from "./contract.js";
export {
  ConfigurationError,
  ConnectionFailed,
  KeyRefused,
  MemLiftError,
  MemLiftProblem,
  UnexpectedAnswer,
  type FieldProblem,
} from "./faults.js";
export { SYSTEM_PROMPT } from "./prompt.js";
export { RETRY_POLICY, type RetryPolicy, type Send } from "./retries.js";
export { RECEIPT, TaskRun, type TaskSettings } from "./task.js";
