// From the deploy call to a virtual machine's first word on its serial line, beside bare QEMU with the same guest.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { getInstanceLogs } from '@berth/contract/instances'
import { hypervisorArgv, INSIDE } from '../apps/gateway/src/drivers/compute/qemu/hypervisor-argv.ts'
import { HYPERVISOR_FDS } from '../apps/gateway/src/drivers/compute/qemu/keeper/keeper-orders.ts'
import { findHypervisor } from '../apps/gateway/src/drivers/compute/qemu/probe-qemu.ts'
import { median, printFigure, quantile } from './lib/figures.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'

const ROUNDS = 10
const AIM_MS = 500
const ASK_PAUSE_MS = 10
const UNTIL_MS = 60_000
const CATALOGUE = resolve(import.meta.dirname, '../config/catalogue.yaml')
const MEMORY_MB = 1_024
const DISK_GB = 20
/** `mov dx, 0x3f8; mov al, 'U'; out dx, al; hlt; jmp $-1`: says one letter, and stands still. */
const GUEST = 'baf803b055eef4ebfd'
const SAYS = 'U'

const found = await findHypervisor()
if (!found.ok) throw new Error(`${found.why}. To have it: ${found.how_to_get_it}`)
const { hypervisor } = found
const folder = mkdtempSync(join(tmpdir(), 'berth-bench-vm-'))
const disk = join(folder, 'guest.raw')
const sector = Buffer.alloc(512)
Buffer.from(GUEST, 'hex').copy(sector)
sector.writeUInt16BE(0x55aa, 510)
writeFileSync(disk, sector)
const catalogue = join(folder, 'catalogue.yaml')
const text = readFileSync(CATALOGUE, 'utf8')
  .replace(
    '  - code: us-west\n',
    `  - code: us-west\n    engines: [{ driver: qemu, dir: ${join(folder, 'vms')} }]\n`,
  )
  .replace('    sandbox: host\n', `    sandbox: host\n    kind: VM\n    qemu: { file: ${disk} }\n`)
writeFileSync(catalogue, text)

const gateway = await startGatewayProcess({ BERTH_CATALOGUE: catalogue })
const ours: number[] = []
const byHand: number[] = []
try {
  // The first round of each warms it up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const startedAt = performance.now()
    const id = await gateway.deploy({ kind: 'VM', container_disk_gb: DISK_GB })
    await gateway.until(id, 'running', ASK_PAUSE_MS)
    await untilItSpeaks(id)
    const took = performance.now() - startedAt
    await gateway.terminate(id)
    const bare = await startByHand(`by-hand-${round}`)
    if (round === 0) continue
    ours.push(took)
    byHand.push(bare)
    console.log(`round ${round}: deploy to first word ${took.toFixed(0)} ms, bare ${bare.toFixed(0)} ms`)
  }
} finally {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
}
const overhead = median(ours) - median(byHand)
printFigure({
  what: 'deploy to the first word of a virtual machine, median',
  ours: `${median(ours).toFixed(0)} ms (p90 ${quantile(ours, 0.9).toFixed(0)})`,
  bare: `${median(byHand).toFixed(0)} ms (p90 ${quantile(byHand, 0.9).toFixed(0)})`,
  compared: `overhead ${overhead.toFixed(0)} ms, ratio ${(median(ours) / median(byHand)).toFixed(2)}`,
  aim: { says: `overhead under ${AIM_MS} ms`, met: overhead < AIM_MS },
})

async function untilItSpeaks(id: string): Promise<void> {
  const deadline = performance.now() + UNTIL_MS
  while (!(await gateway.call(getInstanceLogs, { params: { id } })).text.includes(SAYS)) {
    if (performance.now() > deadline) throw new Error(`${id} says nothing`)
    await new Promise(resolve => setTimeout(resolve, ASK_PAUSE_MS))
  }
}

/** A disk over the same base and the same QEMU, until the guest has spoken. */
async function startByHand(name: string): Promise<number> {
  const startedAt = performance.now()
  const overlay = join(folder, `${name}.qcow2`)
  const over = ['-F', 'raw', '-b', disk, overlay, `${DISK_GB}G`]
  await promisify(execFile)(hypervisor.disk_tool, ['create', '-q', '-f', 'qcow2', ...over])
  const boot = { kernel: false, initrd: false, cmdline: null, network: null }
  const argv = hypervisorArgv(hypervisor, { cpu_count: 1, memory_mb: MEMORY_MB }, boot)
    .filter(word => word !== '-S')
    .map(word => word.replace(INSIDE.disk, overlay).replace(INSIDE.seed, disk))
  const [program = '', ...args] = argv
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe', 'pipe', 'pipe', 'pipe'],
  })
  const exit = once(child, 'exit')
  const serial = child.stdio[HYPERVISOR_FDS.serial] as Readable
  const [chunk] = (await Promise.race([once(serial, 'data'), exit])) as [unknown]
  if (!String(chunk).includes(SAYS)) throw new Error(`bare QEMU ended with ${String(chunk)}`)
  const took = performance.now() - startedAt
  child.kill('SIGKILL')
  await exit
  rmSync(overlay)
  return took
}
