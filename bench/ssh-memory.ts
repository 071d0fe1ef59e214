// What the process of the SSH server holds for a customer whose machine reads nothing of what is sent to it: 250 channels that
// send as much as they may in long packets, and eight that send single bytes. Beside what it held with the channels open.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import ssh2, { type Client, type ClientChannel } from 'ssh2'
import { createSshBeside } from '../apps/gateway/src/domains/reach/ssh/process/ssh-beside.ts'
import { SSH_LIMITS } from '../apps/gateway/src/domains/reach/ssh/ssh-limits.ts'
import {
  createMachineTurns,
  PROCESS_CLOCKS,
} from '../apps/gateway/src/domains/reach/streams/machine-turns.ts'
import { STREAM_LIMITS } from '../apps/gateway/src/domains/reach/streams/stream-limits.ts'
import { createGuestKeys } from '../apps/gateway/src/domains/ssh-keys/guest-keys.ts'
import { fingerprintOf } from '../apps/gateway/src/domains/ssh-keys/public-key.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { processTree } from './lib/child-server.ts'
import { residentBytes } from './lib/event-streams.ts'
import { printFigure } from './lib/figures.ts'

/** As many as one machine may have. */
const CHANNELS = 250
const SINGLE_CHANNELS = 8
const AIM_BYTES = 80_000_000
const BYTES_PER_MB = 1_000_000
/** More than any window. */
const LONG = Buffer.alloc(6 * 1024 * 1024)
/** Each of them is a packet. */
const SINGLE_BYTES_MAX = 64 * 1024
const STILL_MS = 2_000

const folder = mkdtempSync(join(tmpdir(), 'berth-bench-ssh-'))
const keys = ssh2.utils.generateKeyPairSync('ed25519')
const blob = Buffer.from(keys.public.split(' ')[1] ?? '', 'base64')

for (const [what, count, send] of [
  ['long packets', CHANNELS, (channel: ClientChannel) => void channel.write(LONG)],
  ['packets of one byte', SINGLE_CHANNELS, sendSingly],
] as const) {
  const { before, after } = await measure(count, send)
  printFigure({
    what: `memory of the SSH process, ${count} channels that nobody reads, ${what}`,
    ours: `${(after / BYTES_PER_MB).toFixed(0)} MB`,
    bare: `${(before / BYTES_PER_MB).toFixed(0)} MB before`,
    compared: `${((after - before) / BYTES_PER_MB).toFixed(0)} MB more`,
    aim: { says: `under ${AIM_BYTES / BYTES_PER_MB} MB more`, met: after - before < AIM_BYTES },
  })
}
rmSync(folder, { recursive: true })
process.exit()

async function measure(
  count: number,
  send: (channel: ClientChannel) => void,
): Promise<{ before: number; after: number }> {
  // Little of what nobody reads stays in the kernel.
  const path = join(folder, `machine-${count}`)
  const machine = createServer({ pauseOnConnect: true }).listen(path)
  await once(machine, 'listening')
  const ssh = createSshBeside({
    rootKey: new Uint8Array(32).fill(5),
    log: createLog({ level: 'error', pretty: false }),
    listen: async () => () => undefined,
    uses: { hold: () => () => undefined },
    ways: {
      async lend() {
        const stream = connect({ path, allowHalfOpen: true })
        await once(stream, 'connect')
        return { stream, giveBack: () => undefined }
      },
    },
    instances: {
      accessOf: async () => ({ userId: 'anna', sshKeyIds: null, tcpPorts: [], udpPorts: [] }),
      findRunning: async () => ({}) as never,
    },
    sshKeys: {
      holder: async asked => ({
        fingerprint: fingerprintOf(asked),
        key: asked.equals(blob) ? { id: 'key', userId: 'anna', publicKey: keys.public } : null,
      }),
      fate: async () => 'stored',
      guestKeys: createGuestKeys(Buffer.alloc(32)),
    },
    languageOf: async () => 'en',
    attempts: { note: async () => undefined },
    countRefusal: async () => ({ current: 1, ttlMs: 1 }),
    turns: createMachineTurns({ ...PROCESS_CLOCKS, limits: STREAM_LIMITS }),
  })
  await ssh.listen('127.0.0.1', 0)
  const [pid = 0] = processTree(process.pid).filter(one => one !== process.pid)
  const clients: Client[] = []
  const channels: ClientChannel[] = []
  while (channels.length < count) {
    if (channels.length % SSH_LIMITS.forwardsPerConnectionMax === 0) {
      clients.push(await signIn(ssh.address()?.port ?? 0))
    }
    channels.push(await openPort(clients.at(-1) as Client))
  }
  const before = await settled(pid)
  for (const channel of channels) send(channel.on('error', () => undefined))
  const after = await settled(pid)
  for (const client of clients) client.destroy()
  ssh.shutdown()
  machine.close()
  return { before, after }
}

/** Once it does not grow any more. */
async function settled(pid: number): Promise<number> {
  for (let last = -1; ; ) {
    await sleep(STILL_MS)
    const now = residentBytes(pid)
    if (now <= last * 1.01 && last > 0) return now
    last = now
  }
}

function sendSingly(channel: ClientChannel): void {
  const byte = Buffer.alloc(1)
  let left = SINGLE_BYTES_MAX
  const more = () => {
    if (left-- > 0) channel.write(byte, more)
  }
  more()
}

async function signIn(port: number): Promise<Client> {
  const client = new ssh2.Client()
  client.on('error', () => undefined)
  client.connect({ host: '127.0.0.1', port, username: 'i-abcdefg', privateKey: keys.private })
  await once(client, 'ready')
  return client
}

function openPort(client: Client): Promise<ClientChannel> {
  return new Promise((resolve, reject) => {
    client.forwardOut('::1', 1, 'localhost', 1, (error, channel) =>
      error ? reject(error) : resolve(channel),
    )
  })
}
