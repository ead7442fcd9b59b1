// A block around the agent's work, in TypeScript or JavaScript.

import { MemLift } from "../../../clients/typescript/dist/index.js";
import { TASKS, act, judge } from "../agent.mjs";

const memory = MemLift.fromHome({ namespace: process.env.MEMLIFT_NAMESPACE, agent: "bot" });
for (const task of TASKS) {
  await memory.withTask(task, async (t) => {
    const answer = await act(task, t.guideline);
    t.cited(answer);
    t.reward(judge(answer));
  });
}
