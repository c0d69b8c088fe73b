// What the plugin needs of the harness's core, under the names that its versions have given it.

/**
 * A session's log, whatever the core calls it: `version` is the log format's, `length()` the number of events, `at(seq)`
 * one of them.
 * Throws an Error that says what is missing, for a core that this plugin does not understand.
 */
export function logOf(session) {
  const version = session?.header?.version;
  if (!Number.isInteger(version)) throw new Error("this core's sessions have no header with a format version");
  if (typeof session.append !== "function") throw new Error("this core's sessions have no append()");
  // 0.2: seq and eventAt; before: an array, `events` to 0.1.1, then `log`.
  if (Number.isInteger(session.seq) && typeof session.eventAt === "function") {
    return { version, length: () => session.seq, at: (seq) => session.eventAt(seq) };
  }
  const name = ["log", "events"].find((candidate) => Array.isArray(session[candidate]));
  if (name === undefined) throw new Error("this core's sessions have neither eventAt() nor an array of events");
  return { version, length: () => session[name].length, at: (seq) => session[name][seq] };
}

/** Put an operation into the session's log: its price, then the result with its new content. Throws what append does. */
export function commit(session, { seq, prune, path, content, surface }) {
  const event = logOf(session).at(seq);
  if (event?.type !== "tool/result" || !session.surface?.nodes?.includes(seq)) {
    throw new Error(`seq ${seq} is no tool result on the surface`);
  }
  session.append("compaction/prune", prune);
  session.append("tool/result", replaced(event.data, path, content), surface);
}

function replaced(value, [key, ...rest], content) {
  const copy = Array.isArray(value) ? [...value] : { ...value };
  copy[key] = rest.length > 0 ? replaced(value[key], rest, content) : content;
  return copy;
}
