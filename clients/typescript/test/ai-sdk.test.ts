import assert from "node:assert/strict";
import { test } from "node:test";
import { generateText, jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { SYSTEM_PROMPT } from "@memlift/client";
import { advised } from "@memlift/client/ai-sdk";
import { aBank, aNamespace, LESSON, outcomes, SURE } from "./live.js";

type Generated = Awaited<ReturnType<MockLanguageModelV3["doGenerate"]>>;

const COUNT = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
const USAGE = { inputTokens: COUNT, outputTokens: COUNT };

function aStep(content: Generated["content"], unified: "stop" | "tool-calls"): Generated {
  return { content, finishReason: { unified, raw: unified }, usage: USAGE, warnings: [] };
}

function aText(text: string): Generated {
  return aStep([{ type: "text", text }], "stop");
}

function systemOf(model: MockLanguageModelV3, call = 0): string {
  const [first, ...rest] = (model.doGenerateCalls[call] ?? model.doStreamCalls[call])?.prompt ?? [];
  assert.ok(first?.role === "system");
  assert.ok(rest.every((message) => message.role !== "system"));
  return first.content;
}

test("a model gets the guideline behind the caller's own words, and its citations are used", async () => {
  const [memory, id] = await aBank();
  const mock = new MockLanguageModelV3({ doGenerate: aText("I offered the label [m1].") });

  const text = await memory.withTask(SURE, async (t) => {
    const model = wrapLanguageModel({ model: mock, middleware: advised(t) });
    const result = await generateText({ model, system: "You are brief.", prompt: t.asked.task?.text ?? "" });
    t.reward(1);
    return result.text;
  });

  assert.equal(text, "I offered the label [m1].");
  const system = systemOf(mock);
  assert.ok(system.startsWith(`You are brief.\n\n${SYSTEM_PROMPT}\n\n`));
  assert.ok(system.includes(LESSON));
  assert.deepEqual((await outcomes(memory)).map((one) => one.used), [[id]]);
});

test("what any step of a run cites is used", async () => {
  const [memory, id] = await aBank();
  const call = { type: "tool-call", toolCallId: "1", toolName: "label", input: "{}" } as const;
  const mock = new MockLanguageModelV3({
    doGenerate: [
      aStep([{ type: "text", text: "By [m1] the label comes first." }, call], "tool-calls"),
      aText("Done."),
    ],
  });
  const label = tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => "sent" });

  await memory.withTask(SURE, async (t) => {
    const model = wrapLanguageModel({ model: mock, middleware: advised(t) });
    await generateText({ model, prompt: "Go", tools: { label }, stopWhen: stepCountIs(3) });
    assert.deepEqual(t.used, [id]);
  });

  assert.equal(systemOf(mock, 0), systemOf(mock, 1));
});

test("a stream passes through as it was, and counts when it was read", async () => {
  const [memory, id] = await aBank();
  const deltas = ["As [m", "1] says, ", "the label."];
  const mock = new MockLanguageModelV3({
    doStream: {
      stream: simulateReadableStream({
        chunks: [
          { type: "text-start" as const, id: "1" },
          ...deltas.map((delta) => ({ type: "text-delta" as const, id: "1", delta })),
          { type: "text-end" as const, id: "1" },
          {
            type: "finish" as const,
            finishReason: { unified: "stop" as const, raw: "stop" },
            usage: USAGE,
          },
        ],
      }),
    },
  });

  await memory.withTask(SURE, async (t) => {
    const model = wrapLanguageModel({ model: mock, middleware: advised(t) });
    const read: string[] = [];
    for await (const delta of streamText({ model, prompt: "Go" }).textStream) read.push(delta);
    assert.deepEqual([read.join(""), t.used], [deltas.join(""), [id]]);
  });
  assert.ok(systemOf(mock).includes(LESSON));
});

test("a run without advice leaves the prompt as it is", async () => {
  const memory = await aNamespace();
  const mock = new MockLanguageModelV3({ doGenerate: aText("Done.") });

  await memory.withTask(SURE, async (t) => {
    const model = wrapLanguageModel({ model: mock, middleware: advised(t) });
    await generateText({ model, prompt: "Go" });
    assert.deepEqual(t.used, []);
  });

  assert.deepEqual(mock.doGenerateCalls[0]?.prompt.map(({ role }) => role), ["user"]);
});
