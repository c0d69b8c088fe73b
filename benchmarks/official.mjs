// Times what a DSH harness does after /resume, with the official packages: parse, foldSurface, measure.
//   node official.mjs LOG.jsonl RUNS   ->  one line of JSON: {"wall": [...], "cpu": [...], "nodes": n, "tokens": n}, in seconds
// Run from a folder whose node_modules holds the packages (make bench sees to it).
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const require = createRequire(process.cwd() + '/')
const load = name => import(pathToFileURL(require.resolve(name)))
const { foldSurface } = await load('@deepseek-ai/dsh-session')
const { TokenMeter } = await load('@deepseek-ai/dsh-token-meter')

const wall = []
const cpu = []
let surface, measure
for (let run = 0; run < Number(process.argv[3]); run++) {
  const start = process.hrtime.bigint()
  const used = process.cpuUsage()
  const rows = readFileSync(process.argv[2], 'utf8').split('\n')
  const events = []
  for (let row = 1; row < rows.length; row++) if (rows[row]) events.push(JSON.parse(rows[row]))
  surface = foldSurface(events)
  const meter = Object.create(TokenMeter.prototype)
  meter.states = new WeakMap()
  measure = meter.measure({ events })
  const { user, system } = process.cpuUsage(used)
  wall.push(Number(process.hrtime.bigint() - start) / 1e9)
  cpu.push((user + system) / 1e6)
}
console.log(JSON.stringify({ wall, cpu, nodes: surface.nodes.length, tokens: measure.totalTokens }))
