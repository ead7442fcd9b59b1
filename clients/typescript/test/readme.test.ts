import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

// Within the package, so that its name and what it depends on are found.
const HERE = new URL("readme/", import.meta.url);
const COMPILER = fileURLToPath(new URL("../node_modules/typescript/bin/tsc", import.meta.url));
const OPTIONS = "--strict --skipLibCheck --target es2022 --module nodenext --types node".split(" ");

const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/^<!-- ([^\n]*) -->\n```ts\n(.*?)^```$/gms)].map(
  ([, note = "", code = ""], index) => ({ isRun: note.includes("runs it"), code, name: `${index}` }),
);

function node(...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, words, {
    cwd: HERE,
    encoding: "utf8",
  });
  assert.equal(status, 0, `${words.join(" ")}: ${stdout}${stderr}`);
  return stdout;
}

const squeezed = (text: string) => text.replaceAll(/\s+/g, "");

test("the examples of the README compile, run, and print what it shows", () => {
  assert.equal(blocks.length, page.split("```ts\n").length - 1);
  mkdirSync(HERE, { recursive: true });
  const files = blocks.map(({ name, code }) => {
    writeFileSync(new URL(`${name}.mts`, HERE), code);
    return `${name}.mts`;
  });

  node(COMPILER, ...OPTIONS, ...files);
  const printed = blocks.map(({ isRun, name }) => (isRun ? node(`${name}.mjs`) : null));

  const [, shown = ""] = /^```text\n(.*?)^```$/ms.exec(page) ?? [];
  assert.equal(squeezed(printed[0] ?? ""), squeezed(shown));
  assert.deepEqual(printed.map((text) => text !== null), [true, false, true]);
});
