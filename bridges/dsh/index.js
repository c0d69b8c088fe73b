// The plugin for DeepSeek Harness: hooks in, refold's answers out.

import process from "node:process";

import { Pruner } from "./pruner.js";

export const name = "refold";

const DEFAULTS = { policy: "keep3", meter: "dsh", command: ["refold", "serve"], waitMs: 2000 };
const TOO_LONG = "CONTEXT_WINDOW_EXCEEDED";
const HELP = "say /refold on, /refold off or /refold status";

export function apply(ctx, config) {
  const say = (line) => process.stderr.write(`refold: ${line}\n`);
  let pruner;
  try {
    pruner = new Pruner(checked(config ?? {}), say);
    pruner.start();
  } catch (error) {
    say(`tool results are left whole: ${error.message}`);
    return;
  }
  const prune = async (payload) => {
    try {
      return await pruner.prune(payload?.agent?.session, payload?.signal);
    } catch (error) {
      say(`tool results are left whole at this step: ${error.message}`);
      return 0;
    }
  };
  ctx.on("agent/pre-step", async (payload, next) => {
    await prune(payload);
    return next();
  });
  // First, because the harness's own recovery asks a model for a summary of the whole session.
  ctx.on(
    "agent/request-error",
    async (payload, next) => {
      const tooLong = payload?.failure?.code === TOO_LONG;
      return tooLong && (await prune(payload)) > 0 ? { kind: "retry" } : next();
    },
    { prepend: true },
  );
  ctx.on("session/event", (session) => pruner.observe(session));
  ctx.on("session/disposed", (session) => pruner.forget(session));
  if (typeof ctx.effect === "function") ctx.effect(() => () => pruner.stop());
  else ctx.on("dispose", () => pruner.stop());
  ctx.inject?.(["commands"], (inner) => {
    inner.commands.register({
      definitionId: "refold-dsh",
      name: "refold",
      description: "Cut old tool results: on, off, status",
      input: { hint: "on|off|status" },
      handler: ({ agent, rawInput }) => run(pruner, agent.session, rawInput.trim()),
    });
  });
}

async function run(pruner, session, word) {
  switch (word) {
    case "on":
      pruner.turnOn();
      return { kind: "success", text: `refold: ${await pruner.status(session)}` };
    case "off":
      pruner.on = false;
      return { kind: "success", text: "refold: off; what was cut stays cut" };
    case "status":
    case "":
      return { kind: "success", text: `refold: ${await pruner.status(session)}` };
    default:
      return { kind: "error", text: HELP };
  }
}

function checked(config) {
  const unknown = Object.keys(config).find((key) => !(key in DEFAULTS));
  if (unknown !== undefined) {
    throw new Error(`the plugin's config has the unknown key ${unknown}; known: ${Object.keys(DEFAULTS).join(", ")}`);
  }
  const settings = { ...DEFAULTS, ...config };
  const { command, waitMs } = settings;
  if (!Array.isArray(command) || command.length === 0 || !command.every((word) => typeof word === "string" && word)) {
    throw new Error('the plugin\'s command must be a list of words, like ["refold", "serve"]');
  }
  if (!Number.isInteger(waitMs) || waitMs < 1) throw new Error("the plugin's waitMs must be a whole number from 1 on");
  return settings;
}
