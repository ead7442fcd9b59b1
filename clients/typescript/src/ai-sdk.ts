/** The Vercel AI SDK: a model that is advised for the run of a task, and whose text says what it used. */

import type { LanguageModelMiddleware } from "ai";
import { SYSTEM_PROMPT } from "./prompt.js";
import type { TaskRun } from "./task.js";

/**
 * The middleware of one run, for `wrapLanguageModel`: the guideline, with the rules of its use, stands
 * at the end of the system prompt of every call of the run, and what the text of all of them cites is
 * what was used. The reward is left to the run. A stream counts once it was read to its end.
 */
export function advised(run: TaskRun): LanguageModelMiddleware {
  let written = "";
  const write = (text: string) => {
    written += `${text}\n`;
    run.cited(written);
  };
  return {
    specificationVersion: "v3",
    transformParams: async ({ params }) =>
      run.guideline === "" ? params : { ...params, prompt: withGuideline(params.prompt, run.guideline) },
    wrapGenerate: async ({ doGenerate }) => {
      const result = await doGenerate();
      write(result.content.map((part) => (part.type === "text" ? part.text : "")).join(""));
      return result;
    },
    wrapStream: async ({ doStream }) => {
      const { stream, ...result } = await doStream();
      let text = "";
      const reading = new TransformStream<Part, Part>({
        transform: (part, controller) => {
          if (part.type === "text-delta") text += part.delta;
          controller.enqueue(part);
        },
        flush: () => write(text),
      });
      return { ...result, stream: stream.pipeThrough(reading) };
    },
  };
}

type Wrapping = NonNullable<LanguageModelMiddleware["wrapStream"]>;
type Part = Awaited<ReturnType<Wrapping>>["stream"] extends ReadableStream<infer P> ? P : never;
type Prompt = Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"]["prompt"];

/** Within the first system message, as not every provider takes a second one. */
function withGuideline(prompt: Prompt, guideline: string): Prompt {
  const advice = `${SYSTEM_PROMPT}\n\n${guideline}`;
  const [first, ...rest] = prompt;
  return first?.role === "system"
    ? [{ ...first, content: `${first.content}\n\n${advice}` }, ...rest]
    : [{ role: "system", content: advice }, ...prompt];
}
