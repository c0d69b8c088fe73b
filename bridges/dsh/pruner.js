// Keeps one `refold serve` running and asks it what to cut. Whatever goes wrong, the agent goes on unpruned.

import { commit } from "./core.js";
import { Coprocess, Ended, Refused } from "./coprocess.js";
import { Mirror } from "./mirror.js";

const PROTOCOL = 1;
const HUNG_MS = 30_000;
const LONGEST_REST_MS = 300_000;

export class Pruner {
  on = true;
  #config;
  #say;
  #coprocess = null;
  #mirrors = new WeakMap();
  #hello = null; // resolves to what the co-process says of itself
  #down = null; // why no session is pruned now, null while they are
  #failures = 0;
  #restart = null;
  #lateSince = null;
  #refused = new WeakMap(); // sessions that are not pruned, and why
  #said = new Set();

  /** `say(line)` reaches the user. */
  constructor(config, say) {
    this.#config = config;
    this.#say = say;
  }

  start() {
    const { command, policy, meter } = this.#config;
    this.#mirrors = new WeakMap();
    this.#lateSince = null;
    this.#coprocess = new Coprocess(command, (reason) => this.#ended(reason));
    this.#hello = this.#coprocess.ask({ op: "hello", protocol: PROTOCOL, policy, meter });
    this.#hello.catch((error) => {
      if (error instanceof Refused) this.#giveUp(error.message);
    });
  }

  stop() {
    clearTimeout(this.#restart);
    const coprocess = this.#coprocess;
    this.#coprocess = null;
    coprocess?.kill();
  }

  /**
   * Append what is due to the session's log; how many results that cut. Never throws, and takes little more than the
   * time it may wait.
   */
  async prune(session, signal) {
    if (!this.on || signal?.aborted || this.#refused.has(session) || this.#coprocess === null) return 0;
    if (this.#lateSince !== null) {
      if (Date.now() - this.#lateSince > HUNG_MS) this.#coprocess.kill();
      return 0;
    }
    try {
      const operations = await this.#inTime(this.#mirrored(session).then((mirror) => mirror.plan()));
      if (operations === null || signal?.aborted) return 0;
      for (const operation of operations) commit(session, operation);
      this.#down = null;
      this.#failures = 0;
      return operations.length;
    } catch (error) {
      this.#failed(session, error);
      return 0;
    }
  }

  /** Something was appended to the session's log. */
  observe(session) {
    const mirror = this.#mirrors.get(session);
    if (this.on && mirror !== undefined) mirror.catchUp().catch((error) => this.#failed(session, error));
  }

  forget(session) {
    this.#mirrors.get(session)?.close();
    this.#mirrors.delete(session);
  }

  /** Begin again, also with sessions that were given up. */
  turnOn() {
    this.on = true;
    this.#refused = new WeakMap();
    this.#said.clear();
  }

  /** One line for the user about one session. */
  async status(session) {
    if (!this.on) return "off";
    const idle = this.#coprocess === null || this.#lateSince !== null;
    const why = this.#refused.get(session) ?? (idle ? this.#down : null);
    if (why !== null) return `on, but results are left whole: ${why}`;
    try {
      const view = await this.#inTime(this.#mirrored(session).then((mirror) => mirror.status()));
      if (view === null) return `on, but results are left whole: ${this.#down}`;
      const { refold, policy, meter } = await this.#hello;
      const counts = Object.entries(view.results).map(([state, count]) => `${count} ${state}`);
      const gate = view.latch === null ? "" : `, gate open since ${view.latch.tokens} tokens`;
      const results = counts.join(", ") || "none";
      return `on, refold ${refold}, policy ${policy}, meter ${meter}; ${view.tokens} tokens${gate}; results: ${results}`;
    } catch (error) {
      this.#failed(session, error);
      return `on, but results are left whole: ${error.message}`;
    }
  }

  async #mirrored(session) {
    await this.#hello;
    let mirror = this.#mirrors.get(session);
    if (mirror === undefined) {
      mirror = new Mirror(this.#coprocess, session);
      this.#mirrors.set(session, mirror);
    }
    return mirror;
  }

  /** What the promise resolves to, null where that takes longer than may be waited. */
  async #inTime(work) {
    const { waitMs } = this.#config;
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, waitMs, null);
    });
    const outcome = await Promise.race([work, late]).finally(() => clearTimeout(timer));
    if (outcome !== null) return outcome;
    this.#trouble(`no answer within ${waitMs} ms`);
    const coprocess = this.#coprocess;
    this.#lateSince = Date.now();
    const arrived = () => {
      if (coprocess === this.#coprocess) this.#lateSince = null;
    };
    work.then(arrived, arrived);
    return null;
  }

  #failed(session, error) {
    // What ends all sessions is told by #trouble; every other failure concerns this one alone.
    if (error instanceof Ended || this.#coprocess === null) return;
    if (session !== undefined) this.#refused.set(session, error.message);
    if (this.#said.has(error.message)) return;
    this.#said.add(error.message);
    this.#say(`session ${session?.id}: tool results are left whole from here on: ${error.message}`);
  }

  #ended(reason) {
    if (this.#coprocess === null) return;
    this.#coprocess = null;
    this.#trouble(reason);
    this.#failures += 1;
    const rest = this.#failures === 1 ? 0 : Math.min(1000 * 2 ** (this.#failures - 2), LONGEST_REST_MS);
    this.#restart = setTimeout(() => this.start(), rest);
    this.#restart.unref();
  }

  #giveUp(reason) {
    this.#trouble(reason);
    this.stop();
  }

  #trouble(reason) {
    if (this.#down === null) this.#say(`tool results are left whole: ${reason}`);
    this.#down = reason;
  }
}
