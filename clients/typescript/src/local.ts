/** Where a server of this machine listens, and its key: from the environment, else from its data. */

import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ConfigurationError } from "./faults.js";

const DEFAULT_URL = "http://127.0.0.1:8000";

/** What it takes to speak to a server. */
export interface LocalServer {
  url: string;
  key: string;
}

/**
 * `MEMLIFT_URL` and `MEMLIFT_KEY` where they are set; else what a server on this machine left in its
 * data directory: `home`, `MEMLIFT_HOME`, or where it lies by custom. Throws ConfigurationError that
 * names the places which hold no key, or the other machine's address that a key has to be named for.
 */
export function findLocal(home?: string): LocalServer {
  const { MEMLIFT_URL: url, MEMLIFT_KEY: key } = home === undefined ? process.env : {};
  if (url && key) return { url, key };
  const places = home === undefined ? customaryPlaces() : [home];
  const found = places.find((place) => existsSync(join(place, "operator.key")));
  if (found !== undefined) {
    const own = textIn(join(found, "url")) || DEFAULT_URL;
    if (url && !key && url !== own && !isLoopback(url)) {
      throw new ConfigurationError(
        `the operator's key of this machine is not sent to ${url}: name a key of that server by MEMLIFT_KEY`,
      );
    }
    return { url: url || own, key: key || keyIn(join(found, "operator.key")) };
  }
  if (key) return { url: url || DEFAULT_URL, key };
  throw new ConfigurationError(
    `no operator.key in ${places.join(" or ")}: start \`memlift serve\` on this machine, name its` +
      " data directory, or set MEMLIFT_URL and MEMLIFT_KEY",
  );
}

function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const host = new URL(url).hostname;
  return host === "localhost" || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** As the server chooses: what is named, else the user's place, else the system's for root. */
function customaryPlaces(): string[] {
  const { MEMLIFT_HOME, XDG_STATE_HOME } = process.env;
  if (MEMLIFT_HOME) return [MEMLIFT_HOME];
  const state = XDG_STATE_HOME || join(homedir(), ".local", "state");
  return [join(state, "memlift"), "/var/lib/memlift"];
}

function keyIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (fault) {
    throw new ConfigurationError(`${path} cannot be read: ${(fault as Error).message}`);
  }
}

/** The text of a file; null where there is none. */
function textIn(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8").trim() : null;
}
