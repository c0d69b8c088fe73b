// One run of `refold serve`: lines out, lines in. See docs/serve.md of refold.

import { spawn } from "node:child_process";

const STDERR_KEPT = 2000;

/** A reply that is an error. The process goes on, and so may other requests. */
export class Refused extends Error {}

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
      const error = new Error(reason);
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

  /** The reply's `ok`. Rejects with Refused for an error reply, with an Error when the process ends first. */
  ask(request) {
    if (this.#ended) return Promise.reject(new Error("the process has ended"));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ ...request, id })}\n`);
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
    const waiting = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (reply.error) waiting?.reject(new Refused(`${reply.error.message}`));
    else waiting?.resolve(reply.ok);
  }
}
