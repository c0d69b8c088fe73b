// One session as one co-process knows it: how much of its log has been sent, and what is due.

import { logOf } from "./core.js";

const BATCH_CHARS = 1 << 20;

export class Mirror {
  #coprocess;
  #session;
  #sent = -1; // -1: not opened yet
  #sending = null;

  /** Throws an Error for a core that is not understood. */
  constructor(coprocess, session) {
    this.log = logOf(session);
    this.#coprocess = coprocess;
    this.#session = session.id;
  }

  /** Send what the log has more; calls while one runs join it. Rejects as Coprocess.ask does. */
  catchUp() {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  /** The operations due for the log as it stands when they arrive. Rejects as Coprocess.ask does. */
  async plan() {
    for (;;) {
      await this.catchUp();
      const position = this.#sent;
      const { operations } = await this.#ask({ op: "plan", position });
      if (this.log.length() === position) return operations;
    }
  }

  /** What the co-process derives from the session. Rejects as Coprocess.ask does. */
  async status() {
    await this.catchUp();
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
      const { position } = await this.#ask({ op: "events" }, this.#batch());
      this.#sent = position;
    }
  }

  #batch() {
    const rows = [];
    let chars = 0;
    for (let seq = this.#sent; seq < this.log.length() && chars < BATCH_CHARS; seq++) {
      rows.push(JSON.stringify(this.log.at(seq)));
      chars += rows.at(-1).length;
    }
    return rows;
  }

  #ask(request, rows) {
    return this.#coprocess.ask({ ...request, session: this.#session }, rows);
  }
}
