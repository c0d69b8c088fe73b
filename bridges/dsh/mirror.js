// One session as one co-process knows it: how much of its log has been sent, and what is due.

import { logOf } from "./core.js";
import { Refused } from "./coprocess.js";

const BATCH_CHARS = 1 << 20;

export class Mirror {
  #coprocess;
  #session;
  #sent = -1; // -1: not opened yet
  #sending = null;

  /** Throws an Error for a core that is not understood. */
  constructor(coprocess, session) {
    this.#coprocess = coprocess;
    this.#session = session;
    this.log = logOf(session);
    /** Why this session is not pruned any more, null while it is. */
    this.refused = null;
  }

  /** Send what the log has more; calls while one runs join it. Rejects when the co-process refuses or ends. */
  catchUp() {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  /** The operations due now, for the log as it stands when the promise resolves. */
  async plan() {
    for (;;) {
      await this.catchUp();
      const position = this.#sent;
      const { operations } = await this.#ask({ op: "plan", position });
      if (this.log.length() === position) return operations;
    }
  }

  status() {
    return this.#ask({ op: "status" });
  }

  close() {
    if (this.#sent >= 0) this.#ask({ op: "close" }).catch(() => {});
  }

  async #send() {
    if (this.#sent < 0) {
      await this.#ask({ op: "open", version: this.log.version });
      this.#sent = 0;
    }
    while (this.#sent < this.log.length()) {
      const { position } = await this.#ask({ op: "events", rows: this.#batch() });
      this.#sent = position;
    }
  }

  #batch() {
    const rows = [];
    let chars = 0;
    for (let seq = this.#sent; seq < this.log.length() && chars < BATCH_CHARS; seq++) {
      const row = JSON.stringify(this.log.at(seq));
      chars += row.length;
      rows.push(row);
    }
    return rows;
  }

  async #ask(request) {
    try {
      return await this.#coprocess.ask({ ...request, session: this.#session.id });
    } catch (error) {
      if (error instanceof Refused) this.refused = error.message;
      throw error;
    }
  }
}
