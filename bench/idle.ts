// What a gateway costs that nobody uses: processor time of its own process and of its PostgreSQL's.
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds, processTree } from './lib/child-server.ts'
import { printFigure } from './lib/figures.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'

/** What a start leaves to be done, and compilers to be made quick, is over by then. */
const SETTLE_MS = 30_000
const MEASURED_MS = 60_000
const AIM_PERCENT = 1

const gateway = await startGatewayProcess()
try {
  const id = process.argv.includes('machine') ? await gateway.deploy() : null
  if (id !== null) await gateway.until(id, 'running')
  await sleep(SETTLE_MS)
  const { pid } = gateway.server
  const before = times(pid)
  const beganAt = performance.now()
  await sleep(MEASURED_MS)
  const tookSeconds = (performance.now() - beganAt) / 1_000
  const after = times(pid)
  const percent = (seconds: number) => (100 * seconds) / tookSeconds
  const own = percent(after.own - before.own)
  const others = percent(after.others - before.others)
  printFigure({
    what: `a gateway that nobody uses${id === null ? '' : ', one machine of it running'}`,
    ours: `${own.toFixed(2)} % of a core`,
    bare: '0 %',
    compared: `and its PostgreSQL ${others.toFixed(2)} %`,
    aim: { says: `under ${AIM_PERCENT} %`, met: own < AIM_PERCENT },
  })
} finally {
  await gateway.stop()
}

/** Seconds of a process, and of all that come from it together. */
function times(pid: number): { own: number; others: number } {
  const [, ...children] = processTree(pid)
  return { own: cpuSeconds(pid), others: children.reduce((sum, child) => sum + cpuSeconds(child), 0) }
}
