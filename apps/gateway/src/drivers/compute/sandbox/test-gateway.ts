/**
 * A stand-in for the gateway that tests may kill or run as another user: makes a driver on the folder that is
 * its first argument, creates and starts the machine that is its second, and writes one line for each step.
 * With a third argument, `--round`, it uses the machine in every way, removes it, and ends.
 */
import pino from 'pino'
import type { MachineSpec } from '../port.ts'
import { createSandboxDriver } from './sandbox-driver.ts'

const [dataDir = '', id = '', mode = ''] = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)
const never = new AbortController().signal
const spec: MachineSpec = {
  id,
  hostname: id,
  image: { id: 'host', docker: null, sandbox: { userland: 'host' } },
  cpu_count: 1,
  memory_mb: 256,
  disk_gb: 1,
  gpu_uuids: [],
  env: {},
  command: null,
  ports: [],
}

const driver = await createSandboxDriver({ dataDir, log: pino({ level: 'silent' }) })
say('made')
await driver.create(spec, never)
say('created')
await driver.start(id, never)
say('running')
if (mode === '--round') {
  say(`limits ${JSON.stringify(driver.capabilities.memory_limit)}`)
  say(`user ${(await driver.exec(id, ['sh', '-c', 'id -u; touch ~/mine && stat -c %u ~/mine'])).stdout}`)
  const pty = await driver.openPty(id, { cols: 80, rows: 24 })
  const ended = new Promise<number | null>(resolve => pty.onExit(({ code }) => resolve(code)))
  pty.onData(() => undefined)
  pty.write('exit 4\n')
  say(`shell ${await ended}`)
  const stats = await driver.stats(id)
  say(`memory ${stats.memory_used_mb !== null && stats.memory_used_mb > 1}`)
  await driver.stop(id, never)
  say(`state ${(await driver.status(id)).state}`)
  await driver.remove(id, never)
  say(`left ${JSON.stringify(await driver.list())}`)
} else {
  // Stays until it is killed.
  setInterval(() => undefined, 1000)
}
