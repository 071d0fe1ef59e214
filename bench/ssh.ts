// 200 MB into an instance of the sandbox and out of it by `scp`, beside `docker exec` piping the same bytes into a container,
// and beside a bare pipe into a sandbox of our own, which is nothing but the kernel's.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { getConnection } from '@berth/contract/instances'
import { addSshKey } from '@berth/contract/ssh-keys'
import Docker from 'dockerode'
import { probeDocker } from '../apps/gateway/src/drivers/compute/docker/probe-docker.ts'
import { importTestImage } from '../apps/gateway/src/drivers/compute/docker/test-image.ts'
import { cpuSeconds, processTree, threadMs } from './lib/child-server.ts'
import { median, printFigure, quantile } from './lib/figures.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'

const ROUNDS = 3
const BYTES = 200_000_000
const AIM_RATIO = 0.5
const OTHERS_MS = 5_000
const PAUSE_MS = 5
const BYTES_PER_MB = 1_000_000
const MS_PER_S = 1_000
const PORT = 20_000 + (process.pid % 10_000)

const folder = mkdtempSync(join(tmpdir(), 'berth-bench-ssh-'))
const file = join(folder, 'bytes')
const key = join(folder, 'key')
writeFileSync(file, '')
truncateSync(file, BYTES)
execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key])
const gateway = await startGatewayProcess({ BERTH_SSH_PORT: String(PORT) })
const rates: Record<'in' | 'out' | 'execIn' | 'execOut' | 'pipeIn' | 'pipeOut', number[]> = {
  in: [],
  out: [],
  execIn: [],
  execOut: [],
  pipeIn: [],
  pipeOut: [],
}
/** How long the gateway's thread worked for our transfers, and the SSH process with all of its own, in ms for each MB. */
const work: Record<'in' | 'out', { gateway: number[]; ssh: number[] }> = {
  in: { gateway: [], ssh: [] },
  out: { gateway: [], ssh: [] },
}
const container = await startContainer()
try {
  await gateway.call(addSshKey, {
    body: { name: 'bench', public_key: readFileSync(`${key}.pub`, 'utf8').trim() },
  })
  const id = await gateway.deploy()
  await gateway.until(id, 'running')
  const { ssh } = await gateway.call(getConnection, { params: { id } })
  if (!ssh) throw new Error(`no SSH on port ${PORT}`)
  const at = `${ssh.user}@${ssh.host}:bytes`
  const options = [
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
  ]
  const scpArgs = (paths: string[]) => [
    '-q',
    '-F',
    'none',
    '-i',
    key,
    '-P',
    String(ssh.port),
    ...options.flatMap(one => ['-o', one]),
    ...paths,
  ]
  const scp = (...paths: string[]) => timed('scp', scpArgs(paths))
  // What others feel is to be of the gateway, and not of how a small machine shares its processors.
  const scpBehind = (...paths: string[]) => timed('nice', ['-n', '19', 'scp', ...scpArgs(paths)])
  const home = mkdtempSync(join(folder, 'home-'))
  const wall = [
    '--unshare-all',
    '--ro-bind',
    '/',
    '/',
    '--bind',
    home,
    home,
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    '--chdir',
    home,
  ]
  const bare = (line: string) => timed('sh', ['-c', line, 'sh', file, ...wall])
  const sshProcess = processTree(gateway.server.pid).find(isSshProcess) ?? 0
  // The first round of each warms it up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = async (what: 'in' | 'out', ...paths: string[]) => {
      const [gatewayMs, sshMs] = [threadMs(gateway.server.pid), cpuSeconds(sshProcess) * MS_PER_S]
      const took = await scp(...paths)
      if (round === 0) return took
      work[what].gateway.push((threadMs(gateway.server.pid) - gatewayMs) / (BYTES / BYTES_PER_MB))
      work[what].ssh.push((cpuSeconds(sshProcess) * MS_PER_S - sshMs) / (BYTES / BYTES_PER_MB))
      return took
    }
    const took = {
      in: await measured('in', file, at),
      ...(container && { execIn: await container.write() }),
      pipeIn: await bare('f=$1; shift; cat "$f" | bwrap "$@" sh -c "cat > bytes"'),
      out: await measured('out', at, join(folder, 'back')),
      ...(container && { execOut: await container.read() }),
      pipeOut: await bare('f=$1; shift; bwrap "$@" cat bytes | cat > "$f.back"'),
    }
    if (round === 0) continue
    for (const [what, ms] of Object.entries(took))
      rates[what as keyof typeof rates].push(BYTES / BYTES_PER_MB / (ms / MS_PER_S))
  }
  const others = {
    'while nobody transfers': await healthCalls(async () => void (await sleep(OTHERS_MS))),
    'while four transfer at once, two in and two out': await healthCalls(() =>
      Promise.all([
        scpBehind(file, `${at}1`),
        scpBehind(file, `${at}2`),
        scpBehind(at, join(folder, 'back1')),
        scpBehind(at, join(folder, 'back2')),
      ]),
    ),
  }
  for (const [when, times] of Object.entries(others)) {
    const p99 = quantile(times, 0.99)
    console.log(
      `the health call of others ${when}: p50 ${median(times).toFixed(1)} ms, p99 ${p99.toFixed(0)} ms`,
    )
  }
} finally {
  await gateway.stop()
  await container?.remove()
  rmSync(folder, { recursive: true })
}
if (!container) console.log('no Docker Engine answers: nothing to compare with but a bare pipe')
for (const [what, ours, exec, pipe, worked] of [
  ['scp into an instance', rates.in, rates.execIn, rates.pipeIn, work.in],
  ['scp out of an instance', rates.out, rates.execOut, rates.pipeOut, work.out],
] as const) {
  const said =
    `${median(ours).toFixed(1)} MB/s, ${median(worked.gateway).toFixed(2)} ms of the gateway's thread for each MB, ` +
    `and ${median(worked.ssh).toFixed(1)} ms of the SSH process`
  for (const [beside, floor, aims] of [
    ['docker exec', exec, true],
    ['a bare pipe', pipe, false],
  ] as const) {
    if (floor.length === 0) continue
    const ratio = median(ours) / median(floor)
    printFigure({
      what: `${what}, beside ${beside}`,
      ours: said,
      bare: `${median(floor).toFixed(1)} MB/s`,
      compared: `ratio ${ratio.toFixed(2)}`,
      aim: aims ? { says: `at least ${AIM_RATIO}`, met: ratio >= AIM_RATIO } : null,
    })
  }
}

function isSshProcess(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('ssh-process')
  } catch {
    return false
  }
}

/** What calls for the gateway's health take, one after the other, for as long as something else lasts. */
async function healthCalls(meanwhile: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  let isOver = false
  const lasting = meanwhile().finally(() => {
    isOver = true
  })
  while (!isOver) {
    const startedAt = performance.now()
    await (await fetch(`${gateway.origin}/gateway/health`)).text()
    times.push(performance.now() - startedAt)
    await sleep(PAUSE_MS)
  }
  await lasting
  return times
}

/** A container to pipe into by `docker exec`; null where there is no engine. */
async function startContainer() {
  const probe = await probeDocker()
  if (!probe.ok) return null
  const image = await importTestImage(new Docker({ socketPath: probe.socket_path }))
  const name = `berth-bench-ssh-${process.pid}`
  const kept = ['--init', '--network', 'none', '--name', name]
  execFileSync('docker', ['run', '-d', ...kept, image, 'sleep', '86400'], {
    stdio: 'ignore',
  })
  const exec = (line: string) => timed('sh', ['-c', line, 'sh', file, name])
  return {
    write: () => exec('docker exec -i "$2" sh -c "cat > /tmp/bytes" < "$1"'),
    read: () => exec('docker exec "$2" cat /tmp/bytes > "$1.back"'),
    remove: async () => void execFileSync('docker', ['rm', '-f', name], { stdio: 'ignore' }),
  }
}

/** How long a program takes that must end well, in milliseconds. */
async function timed(program: string, args: string[]): Promise<number> {
  const startedAt = performance.now()
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const code = await new Promise(resolve => child.once('close', resolve))
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
  return performance.now() - startedAt
}
