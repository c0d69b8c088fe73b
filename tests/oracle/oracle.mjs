// Answers with the official DSH packages (npm, MIT, log format V0), one JSON line per JSON line on stdin:
//   {"op":"prune","config":{...},"blocks":[...]}    -> {"ok": blocks | null}       ToolResultPruner.pruneContent
//   {"op":"measure","blocks":[...]}                 -> {"ok": code points}
//   {"op":"surface","events":[...]}                 -> {"ok": {nodes, replacements}}    foldSurface
//   {"op":"meter","events":[...]}                   -> {"ok": {totalTokens, surfaceTokens, baseline, nodes}}
//   {"op":"meters","events":[...]}                  -> {"ok": {after, nodes, refusal}}   measure after every event:
//        after = [[totalTokens, surfaceTokens], ...], up to the refused event if the meter throws
//   {"op":"lines","events":[...]}                   -> {"ok": [line, ...]}         as the JSONL backend stores them
//   {"op":"pruneSession","events":[...],"config":{}} -> {"ok": {pruned, charsRemoved, events}}  events = those appended
// A rejection comes back as {"error": message, "at": index of the refused event, where one is}.
import readline from 'node:readline'
import { ToolResultPruner, resolveConfig } from '@deepseek-ai/dsh-compaction-tool-result-pruner'
import { Session, SessionId, foldSurface, packChunkRuns } from '@deepseek-ai/dsh-session'
import { SurfaceManager } from '@deepseek-ai/dsh-session/surface'
import { TokenMeter } from '@deepseek-ai/dsh-token-meter'

const { measureContent, pruneContent, pruneSession } = ToolResultPruner.prototype

// The services want a host around them; their methods need only what is set here.
function pruner(config) {
  const ctx = { tokenMeter: TokenMeter.prototype }
  return { config: resolveConfig(config ?? {}), ctx, measureContent, pruneContent, pruneSession }
}

function tokenMeter() {
  const service = Object.create(TokenMeter.prototype)
  service.states = new WeakMap()
  return service
}

function surface(events) {
  try {
    return foldSurface(events)
  } catch (error) {
    const log = []
    const manager = new SurfaceManager(log)
    try {
      for (const event of events) {
        manager.validateNext(event)
        log.push(event)
      }
    } catch {
      error.at = log.length
    }
    throw error
  }
}

function meters(events) {
  const service = tokenMeter()
  const session = { events: [] }
  const after = []
  let nodes = []
  for (const [at, event] of events.entries()) {
    session.events.push(event)
    try {
      const measured = service.measure(session)
      after.push([measured.totalTokens, measured.surfaceTokens])
      nodes = measured.nodes
    } catch (error) {
      return { after, nodes, refusal: { at, message: error.message } }
    }
  }
  return { after, nodes, refusal: null }
}

function pruned(events, config) {
  const session = Session.create(SessionId('session'))
  for (const { type, data, surfaceOp, sourceEventSeqs } of events) {
    session.append(type, data, { surfaceOp, sourceEventSeqs })
  }
  const length = session.events.length
  const result = pruner(config).pruneSession(session)
  return { ...result, events: session.events.slice(length).map(({ time, ...event }) => event) }
}

const answer = {
  prune: ({ config, blocks }) => pruner(config).pruneContent(blocks),
  measure: ({ blocks }) => measureContent(blocks),
  surface: ({ events }) => surface(events),
  meter: ({ events }) => tokenMeter().measure({ events }),
  meters: ({ events }) => meters(events),
  lines: ({ events }) => packChunkRuns(events).map(row => JSON.stringify(row)),
  pruneSession: ({ events, config }) => pruned(events, config),
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  if (!line.trim()) continue
  let reply
  try {
    const request = JSON.parse(line)
    reply = { ok: answer[request.op](request) ?? null }
  } catch (error) {
    reply = { error: String(error?.message ?? error), at: error?.at }
  }
  process.stdout.write(JSON.stringify(reply) + '\n')
}
