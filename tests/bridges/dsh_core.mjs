// A core as small as can be, under the names that one version of the harness gave it, with the plugin inside.
//
//     node dsh_core.mjs '{"rows": [...], "version": 0, "api": "events", "config": {...}}'
//
// It runs two pre-steps, or tells twice of a refused request where a "failure" is given. It prints the session's rows
// after that, how often next() was called, and what the listener answered.

import process from "node:process";

import { apply } from "../../bridges/dsh/index.js";

const { rows, version, api, config, failure } = JSON.parse(process.argv[2]);
const listeners = {};
const session = {
  id: "s-1",
  header: version === null ? {} : { version },
  surface: { nodes: rows.filter((row) => "surfaceOp" in row).map((row) => row.seq) },
  append(type, data, options = {}) {
    rows.push({ type, seq: rows.length, time: 0, data, ...options });
    listeners["session/event"](session, rows.at(-1));
  },
};
if (api === "eventAt") {
  Object.defineProperty(session, "seq", { get: () => rows.length });
  session.eventAt = (seq) => rows[seq];
} else if (api !== null) {
  session[api] = rows;
}
let dispose;
apply(
  {
    on: (name, listener) => {
      listeners[name] = listener;
    },
    effect: (begin) => {
      dispose = begin();
    },
  },
  config,
);
let nexts = 0;
const next = async () => {
  nexts += 1;
  return "entered";
};
const point = failure ? "agent/request-error" : "agent/pre-step";
const listener = listeners[point] ?? ((payload, next) => next());
const payload = { agent: { session }, failure, signal: new AbortController().signal };
const decisions = [await listener(payload, next), await listener(payload, next)];
dispose?.();
process.stdout.write(JSON.stringify({ rows, nexts, decisions }));
