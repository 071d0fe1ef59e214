import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeImage, startRegistry } from '../../src/drivers/compute/oci/registry-fixture.ts'
import { obedientDisk } from '../../src/drivers/compute/qemu/guest-fixture.ts'
import { findHypervisor } from '../../src/drivers/compute/qemu/probe-qemu.ts'
import { probeSandbox } from '../../src/drivers/compute/sandbox/probe-sandbox.ts'
import { programsLayer } from '../../src/drivers/compute/sandbox/programs-layer-fixture.ts'
import type { KilledEngine, Victim } from './killed-engine-fixture.ts'
import { endProcesses, isFirstProcess, killProcesses, machinesOf, processesOf } from './processes-fixture.ts'

/** A host of sandboxes whose machines run on an image of a registry, since of others no image is made. */
export async function startKilledSandboxes(): Promise<KilledEngine | { why: string }> {
  const probe = await probeSandbox()
  if (!probe.ok) return probe
  const folder = mkdtempSync(join(tmpdir(), 'berth-kill-sandbox-'))
  const layer = { bytes: await programsLayer(folder), packing: '' as const }
  const registry = await startRegistry(makeImage([layer], { Env: ['PATH=/usr/bin:/bin'] }))
  const host = createHost(folder, {
    helper: ({ command }) => command.startsWith('berth-agent'),
    machine: ({ pid }) => isFirstProcess(pid),
  })
  return {
    ...host,
    name: 'sandbox',
    kind: 'POD',
    description: { driver: 'sandbox', dir: host.dir },
    recipe: { sandbox: { image: registry.reference } },
    settings: { BERTH_PRIVATE_REGISTRIES: registry.host },
    async remove() {
      registry.close()
      await host.remove()
    },
  }
}

/** A host of virtual machines, whose guest is one sector that shuts down when it is told to. */
export async function startKilledVms(): Promise<KilledEngine | { why: string }> {
  const probe = await findHypervisor()
  if (!probe.ok) return probe
  const folder = mkdtempSync(join(tmpdir(), 'berth-kill-qemu-'))
  const file = join(folder, 'guest.raw')
  writeFileSync(file, obedientDisk())
  const host = createHost(folder, {
    helper: ({ command }) => command.startsWith('berth-keeper'),
    machine: ({ command }) => /^\S*qemu-system/.test(command),
  })
  return {
    ...host,
    name: 'qemu',
    kind: 'VM',
    description: { driver: 'qemu', dir: host.dir },
    recipe: { qemu: { file } },
  }
}

type IsVictim = (process: { pid: number; command: string }) => boolean

/** What sandboxes and virtual machines have in common: a folder each, and processes that see it. */
function createHost(folder: string, victims: Record<Victim, IsVictim>) {
  const dir = join(folder, 'host')
  return {
    dir,
    waits: true,
    async kill(victim: Victim) {
      killProcesses(processesOf(dir).filter(victims[victim]))
    },
    running: async () => machinesOf(dir),
    strays: async (ids: readonly string[]) => namesIn(join(dir, 'machines')).filter(id => !ids.includes(id)),
    left: async () => [
      ...namesIn(join(dir, 'machines')),
      ...namesIn(join(dir, 'own')).filter(name => name !== 'making'),
      ...processesOf(dir).map(({ command }) => command),
    ],
    async remove() {
      await endProcesses(() => processesOf(dir))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
