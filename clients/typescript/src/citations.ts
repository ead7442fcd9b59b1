/** Which of the served memories a text cites, for the `used` of a report. */

/** Stands for a memory that the key may not read. */
const HIDDEN = "00000000-0000-0000-0000-000000000000";

/** What a text says in other words than its own: code, quotations, lines behind a mark. */
const QUOTED =
  /```.*?(?:```|$)|«[^«»]*»|“[^“”]*”|"[^"\n]*"|`[^`\n]*`|(?<![^\n])[ \t]*(?:>|\| )[^\n]*/gsu;
const BRACKETS = /\[([^[\]]{1,400})\]/gu;
const BETWEEN = /[\s,;]+/u;

/** A retrieval or a receipt, as far as it says what its citations stand for. */
export interface Served {
  guideline: { citations: Record<string, string> };
}

/**
 * The ids of the served memories that an agent's own text cites, each once, in the order of their
 * first citation: for `used` of a report or a prediction.
 *
 * A citation is what the guideline maps to a memory, such as `[m1]`, or the memory's id; several may
 * stand between two brackets, as in `[m1, m3]`. Within a quotation or code it is not the agent's
 * own, and a memory that the key may not read has no id to be named by. Empty where the text cites
 * nothing: this says that nothing was used only of an agent that cites what it uses.
 */
export function cited(text: string, served: Served): string[] {
  const labels = Object.entries(served.guideline.citations);
  const known = new Map([...labels, ...labels.map(([, id]) => [id, id] as const)]);
  const found = new Set<string>();
  for (const [, group = ""] of text.replace(QUOTED, " ").matchAll(BRACKETS)) {
    for (const name of group.split(BETWEEN)) {
      const id = known.get(name);
      if (id !== undefined && id !== HIDDEN) found.add(id);
    }
  }
  return [...found];
}
