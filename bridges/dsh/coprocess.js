// One run of `refold serve`: lines out, lines in. See docs/serve.md of refold.

import { spawn } from "node:child_process";

const STDERR_KEPT = 2000;

/** A reply that is an error. The process goes on, and so may other requests. */
export class Refused extends Error {}

/** The process has ended, or was never there; `onEnd` says why. */
export class Ended extends Error {}

export class Coprocess {
  #child;
  #pending = new Map();
  #nextId = 0;
  #stdout = "";
  #stderr = "";
  #ended = false;

  /** `onEnd(reason)` is called once, when the process has ended or could not be started. */
  constructor([file, ...args], onEnd) {
    this.#child = spawn(file, args, { stdio: ["pipe", "pipe", "pipe"], windowsHide: true });
    const { stdin, stdout, stderr } = this.#child;
    const end = (reason) => {
      if (this.#ended) return;
      this.#ended = true;
      const error = new Ended(reason);
      for (const { reject } of this.#pending.values()) reject(error);
      this.#pending.clear();
      onEnd(reason);
    };
    this.#child.on("error", (error) => {
      const missing = error.code === "ENOENT" ? "no such command; install it with `pip install refold`" : error.message;
      end(`cannot start ${JSON.stringify(file)}: ${missing}`);
    });
    this.#child.on("close", (code, signal) => {
      const last = this.#stderr.trim().split("\n").at(-1);
      end(`${JSON.stringify(file)} ended (${signal ?? `exit code ${code}`})${last ? `: ${last}` : ""}`);
    });
    stdin.on("error", () => {}); // a write to a dead process; `close` tells
    stdout.setEncoding("utf8").on("data", (text) => this.#receive(text));
    stderr.setEncoding("utf8").on("data", (text) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT);
    });
    // It must not keep the harness alive; its end of input ends it.
    for (const handle of [this.#child, stdin, stdout, stderr]) handle.unref?.();
  }

  get pid() {
    return this.#child.pid;
  }

  /**
   * The reply's `ok`. `rows`, where a request has some, are JSON texts already. Rejects with Refused for an error reply,
   * with Ended when the process ends first.
   */
  ask(request, rows = null) {
    if (this.#ended) return Promise.reject(new Ended("the process has ended"));
    const id = this.#nextId++;
    const head = JSON.stringify({ ...request, id });
    const line = rows === null ? head : `${head.slice(0, -1)},"rows":[${rows.join(",")}]}`;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#child.stdin.write(`${line}\n`);
    });
  }

  kill() {
    this.#child.kill("SIGKILL");
  }

  #receive(text) {
    // Split by hand: node:readline also ends lines at U+2028, which a reply may hold.
    const lines = (this.#stdout + text).split("\n");
    this.#stdout = lines.pop();
    for (const line of lines) this.#settle(line);
  }

  #settle(line) {
    let reply;
    try {
      reply = JSON.parse(line);
    } catch {
      this.#stderr += `\nit printed what is no reply: ${line.slice(0, 200)}`;
      this.kill();
      return;
    }
    // A line that could not even be read has no id; replies come in order, so the oldest is meant.
    const id = reply.id ?? this.#pending.keys().next().value;
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    if (reply.error) waiting?.reject(new Refused(`${reply.error.message}`));
    else waiting?.resolve(reply.ok);
  }
}
