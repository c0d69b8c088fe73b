// Beside the refold plugin in the tests: it keeps what is printed to stderr, and types commands at given steps.

import { appendFileSync } from "node:fs";
import process from "node:process";

export const name = "watch";

export function apply(ctx, { stderr, commands }) {
  const write = process.stderr.write.bind(process.stderr);
  process.stderr.write = (text, ...rest) => {
    appendFileSync(stderr, text);
    return write(text, ...rest);
  };
  let step = 0;
  ctx.on("agent/pre-step", async ({ agent }, next) => {
    step += 1;
    for (const line of commands[step] ?? []) {
      await ctx.get("commands").execute(agent, line, [], new AbortController().signal);
    }
    return next();
  });
}
