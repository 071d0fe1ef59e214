// 200 MB into an instance and out of it by `scp`, beside the same bytes through a pipe into the same kind of sandbox.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getConnection } from '@berth/contract/instances'
import { addSshKey } from '@berth/contract/ssh-keys'
import { median, printFigure } from './lib/figures.ts'
import { startGatewayProcess } from './lib/gateway-process.ts'

const ROUNDS = 3
const BYTES = 200_000_000
const AIM_RATIO = 0.5
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
const rates: Record<'in' | 'out' | 'bareIn' | 'bareOut', number[]> = {
  in: [],
  out: [],
  bareIn: [],
  bareOut: [],
}
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
  const scp = (...paths: string[]) =>
    timed('scp', [
      '-q',
      '-F',
      'none',
      '-i',
      key,
      '-P',
      String(ssh.port),
      ...options.flatMap(one => ['-o', one]),
      ...paths,
    ])
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
  // The first round of each warms it up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    const took = {
      in: await scp(file, at),
      bareIn: await bare('f=$1; shift; cat "$f" | bwrap "$@" sh -c "cat > bytes"'),
      out: await scp(at, join(folder, 'back')),
      bareOut: await bare('f=$1; shift; bwrap "$@" cat bytes | cat > "$f.back"'),
    }
    if (round === 0) continue
    for (const [what, ms] of Object.entries(took))
      rates[what as keyof typeof rates].push(BYTES / BYTES_PER_MB / (ms / MS_PER_S))
  }
} finally {
  await gateway.stop()
  rmSync(folder, { recursive: true })
}
for (const [what, ours, floor] of [
  ['scp into an instance', rates.in, rates.bareIn],
  ['scp out of an instance', rates.out, rates.bareOut],
] as const) {
  const ratio = median(ours) / median(floor)
  printFigure({
    what,
    ours: `${median(ours).toFixed(1)} MB/s`,
    bare: `${median(floor).toFixed(1)} MB/s`,
    compared: `ratio ${ratio.toFixed(2)}`,
    aim: { says: `at least ${AIM_RATIO}`, met: ratio >= AIM_RATIO },
  })
}

/** How long a program takes that must end well, in milliseconds. */
async function timed(program: string, args: string[]): Promise<number> {
  const startedAt = performance.now()
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const code = await new Promise(resolve => child.once('close', resolve))
  if (code !== 0) throw new Error(`${program} ended with ${code}`)
  return performance.now() - startedAt
}
