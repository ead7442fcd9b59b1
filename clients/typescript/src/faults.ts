/**
 * What can go wrong between an agent and the server; reading the tree tells what to catch.
 *
 *     MemLiftError
 *     ├── ConfigurationError  this client cannot ask: its URL or its key is none
 *     ├── MemLiftProblem      the server answered with a problem document
 *     │   └── KeyRefused      it does not know the key: asking again will not help
 *     ├── ConnectionFailed    no answer came, after every retry
 *     └── UnexpectedAnswer    an answer came that is not of the published contract
 *
 * Acting without advice is right after ConnectionFailed alone. No message holds a key.
 */

/** One field that was refused, and why. */
export interface FieldProblem {
  field: string;
  detail: string;
}

/** Base of everything this client throws on purpose. */
export class MemLiftError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** What this client was given cannot work: to be set right by people, not to be tried again. */
export class ConfigurationError extends MemLiftError {}

/** The answer is not of the published contract: another server, or another version. */
export class UnexpectedAnswer extends MemLiftError {}

/**
 * No answer came. The call may or may not have had its effect; the same idempotency key tells the
 * server that it is the same call.
 */
export class ConnectionFailed extends MemLiftError {}

/**
 * The server refused the call (RFC 9457): `code` is stable, `detail` is a sentence for people.
 * `field` and `limit` name what was refused and where its bound lies; null where it is about
 * something else.
 */
export class MemLiftProblem extends MemLiftError {
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly field: string | null;
  readonly limit: unknown;
  readonly errors: readonly FieldProblem[];
  readonly requestId: string | null;

  /** From whatever the server sent: missing members become empty, a text becomes the detail. */
  constructor(
    readonly status: number,
    document: unknown,
    requestId: string | null = null,
  ) {
    const sent = isObject(document) ? document : { detail: textOf(document)?.slice(0, 200) };
    const code = textOf(sent["code"]) ?? "unknown";
    const detail = textOf(sent["detail"]) ?? "";
    super(`${status} ${code}: ${detail}`);
    this.code = code;
    this.title = textOf(sent["title"]) ?? "";
    this.detail = detail;
    this.field = textOf(sent["field"]);
    this.limit = sent["limit"] ?? null;
    const errors: unknown[] = Array.isArray(sent["errors"]) ? sent["errors"] : [];
    this.errors = errors.filter(isObject).map((one) => ({
      field: textOf(one["field"]) ?? "",
      detail: textOf(one["detail"]) ?? "",
    }));
    this.requestId = textOf(sent["request_id"]) ?? requestId;
  }
}

/** The key is missing, unknown, expired or revoked. */
export class KeyRefused extends MemLiftProblem {}

const UNAUTHORIZED = 401;

/** The problem of an answer that refuses the call. */
export function problemOf(response: Response, document: unknown): MemLiftProblem {
  const kind = response.status === UNAUTHORIZED ? KeyRefused : MemLiftProblem;
  return new kind(response.status, document, response.headers.get("x-request-id"));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
