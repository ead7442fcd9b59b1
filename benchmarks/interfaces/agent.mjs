// `agent.py` for Node: the user's own tasks, answers and judge, and the turns that it waits for.

import { once } from "node:events";
import { connect } from "node:net";

export const TASKS = Array.from(
  { length: Number(process.env.BENCH_TASKS ?? 20) },
  (_, number) => `Refund invoice ${8800 + number} for a customer`,
);
let turns;

export async function act(task, guideline) {
  await takeTurn();
  const note = /\[m\d+\]/.exec(guideline)?.[0] ?? "";
  return `${task}: the number of the order is known, so the money may go ${note}.`;
}

export function judge(answer) {
  return answer.includes("the money may go") ? 1 : 0;
}

async function takeTurn() {
  const port = process.env.BENCH_TURNS;
  if (port === undefined) return;
  if (turns === undefined) {
    turns = connect(Number(port), "127.0.0.1").unref();
    await once(turns, "connect");
  }
  const turn = once(turns.ref(), "data");
  turns.write(".");
  await turn;
  turns.unref();
}
