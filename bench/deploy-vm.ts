// From the deploy call to a virtual machine's first word on its serial line, beside bare QEMU with the same guest.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { getInstanceLogs } from '@berth/contract/instances'
import { hypervisorArgv, INSIDE } from '../apps/gateway/src/drivers/compute/qemu/hypervisor-argv.ts'
import { HYPERVISOR_FDS } from '../apps/gateway/src/drivers/compute/qemu/keeper/keeper-orders.ts'
import { findHypervisor } from '../apps/gateway/src/drivers/compute/qemu/probe-qemu.ts'
import { untilItSpoke } from './lib/bare-process.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'
import { inTurns, printOverhead, timeDeploy } from './lib/rounds.ts'

const ROUNDS = 10
const AIM_MS = 500
const ASK_PAUSE_MS = 10
const UNTIL_MS = 60_000
const CATALOGUE = resolve(import.meta.dirname, '../config/catalogue.yaml')
const MEMORY_MB = 1_024
const DISK_GB = 20
const VM = { kind: 'VM', container_disk_gb: DISK_GB } as const
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
try {
  const rounds = await inTurns(ROUNDS, {
    ours: () => timeDeploy(gateway, { part: VM, pauseMs: ASK_PAUSE_MS, ready: untilItSpeaks }),
    bare: round => startByHand(`by-hand-${round}`),
    words: { ours: 'deploy to first word', bare: 'bare' },
  })
  printOverhead({ what: 'deploy to the first word of a virtual machine', rounds, aimMs: AIM_MS })
} finally {
  await gateway.stop()
  rmSync(folder, { recursive: true, force: true })
}

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
  const boot = { kernel: false, initrd: false, cmdline: null, network: null, volumes: [] }
  const argv = hypervisorArgv(hypervisor, { cpu_count: 1, memory_mb: MEMORY_MB }, boot)
    .filter(word => word !== '-S')
    .map(word => word.replace(INSIDE.disk, overlay).replace(INSIDE.seed, disk))
  const stdio = ['ignore', 'ignore', 'inherit', 'pipe', 'pipe', 'pipe', 'pipe'] as const
  const bare = { argv, stdio: [...stdio], fd: HYPERVISOR_FDS.serial, word: SAYS }
  const spokeAt = await untilItSpoke(bare, kill => kill())
  rmSync(overlay)
  return spokeAt - startedAt
}
