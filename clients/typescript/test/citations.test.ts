import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { cited } from "@memlift/client";

// The client in Python is held to the same.
const shared = new URL("../../../tests/clients/citations.json", import.meta.url);
const { citations, cases } = JSON.parse(readFileSync(shared, "utf8")) as {
  citations: Record<string, string>;
  cases: [string, string[]][];
};
const served = { guideline: { citations } };

for (const [text, found] of cases) {
  test(`a text cites what the guideline maps: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(cited(text, served), found);
  });
}

test("a text of brackets is read as quickly as any", () => {
  assert.deepEqual(cited(`${"[".repeat(50_000)}m1]`, served), [citations["m1"]]);
});

test("it goes by the mapping, whatever the form of a citation", () => {
  const other = { guideline: { citations: { "m:01900000": "one", "note-7": "two" } } };

  assert.deepEqual(cited("As [m:01900000] and [note-7] say, not [m1].", other), ["one", "two"]);
});
