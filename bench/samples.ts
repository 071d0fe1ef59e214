// What it costs the gateway's process to measure a thousand machines each second, beside a bare loop that reads the same files.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDockerEngine } from '../apps/gateway/src/drivers/compute/docker/docker-engine.ts'
import { groupMounts } from '../apps/gateway/src/drivers/compute/samples/control-groups.ts'
import { countingFiles } from '../apps/gateway/src/drivers/compute/samples/group-reader.ts'
import { createLog } from '../apps/gateway/src/platform/log.ts'
import { printFigure } from './lib/figures.ts'

const MACHINES = 1_000
const ROUND_MS = 1_000
/** Of ours, at least a minute: each disk is asked for once in it. */
const OURS_ROUNDS = 63
const BARE_ROUNDS = 10
const AIM_PERCENT = 5
const FOLDER = 'berth-bench-samples'

interface Order {
  role: 'ours' | 'bare'
  socketPath: string
  /** The files of each machine. */
  files: string[][]
}

const mounts = groupMounts()
if (process.send) {
  const [order] = (await once(process, 'message')) as [Order]
  process.send(await measure(order))
} else await run()

async function run(): Promise<void> {
  const ids = Array.from({ length: MACHINES }, (_, at) => String(at).padStart(64, '0'))
  const cpuTree = mounts.v1.get('cpuacct') ?? mounts.v2
  const memoryTree = mounts.v1.get('memory') ?? mounts.v2
  if (process.getuid?.() !== 0 || !cpuTree || !memoryTree)
    throw new Error('run it as root, where control groups are')
  const trees = [...new Set([cpuTree, memoryTree])].map(tree => join(tree, FOLDER))
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-samples-'))
  const sleepers = await startSleepers()
  const socketPath = join(folder, 'engine.sock')
  const engine = createServer((request, response) =>
    response.end(answer(request.url ?? '', ids, sleepers.pids)),
  )
  engine.listen(socketPath)
  try {
    for (const tree of trees) {
      mkdirSync(tree)
      if (!mounts.v1.has('memory')) writeFileSync(join(tree, 'cgroup.subtree_control'), '+cpu +memory')
      for (const [at, id] of ids.entries()) {
        mkdirSync(join(tree, id))
        writeFileSync(join(tree, id, 'cgroup.procs'), String(sleepers.pids[at]))
      }
    }
    const version = mounts.v1.has('memory') ? 1 : 2
    const groupIn = (tree: string, id: string) => ({ version, dir: join(tree, FOLDER, id) }) as const
    const files = ids.map(id => countingFiles(groupIn(cpuTree, id), groupIn(memoryTree, id)))
    const before = await percentOf({ role: 'bare', socketPath, files })
    const ours = await percentOf({ role: 'ours', socketPath, files })
    const bare = (before + (await percentOf({ role: 'bare', socketPath, files }))) / 2
    printFigure({
      what: `samples of ${MACHINES} machines each second, of one core`,
      ours: `${ours.toFixed(2)} %`,
      bare: `${bare.toFixed(2)} %`,
      compared: `ratio ${(ours / bare).toFixed(2)}`,
      aim: { says: `under ${AIM_PERCENT} %`, met: ours < AIM_PERCENT },
    })
  } finally {
    await sleepers.end()
    engine.closeAllConnections()
    engine.close()
    for (const tree of trees.filter(existsSync)) await removeTree(tree)
    rmSync(folder, { recursive: true })
  }
}

/** The kernel refuses for a moment after the processes were killed. */
async function removeTree(tree: string): Promise<void> {
  const folders = readdirSync(tree, { withFileTypes: true }).filter(entry => entry.isDirectory())
  for (const dir of [...folders.map(({ name }) => join(tree, name)), tree])
    for (let tries = 0; existsSync(dir) && tries < 100; tries++)
      try {
        rmdirSync(dir)
      } catch {
        await new Promise(resolve => setTimeout(resolve, 20))
      }
}

/** What a Docker Engine with these containers says. */
function answer(url: string, ids: string[], pids: number[]): string {
  if (url.startsWith('/info'))
    return JSON.stringify({ ID: 'bench', NCPU: 1, MemTotal: 1, MemoryLimit: true, KernelVersion: release() })
  const at = Number(/berth-x-m(\d+)\/json/.exec(url)?.[1])
  return JSON.stringify({
    Id: ids[at],
    State: { Running: true, Status: 'running', Pid: pids[at] },
    HostConfig: { Memory: 2 ** 30, DeviceRequests: [] },
    Config: { Labels: {} },
    SizeRw: 1,
    SizeRootFs: 1,
  })
}

/** A process for each machine. */
async function startSleepers(): Promise<{ pids: number[]; end(): Promise<void> }> {
  const line = `i=0; while [ $i -lt ${MACHINES} ]; do sleep 1000000 & echo $!; i=$((i + 1)); done; echo done; wait`
  const shell = spawn('sh', ['-c', line], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  let told = ''
  for await (const chunk of shell.stdout) {
    told += chunk
    if (told.endsWith('done\n')) break
  }
  return {
    pids: told.split('\n').slice(0, MACHINES).map(Number),
    end: async () => {
      const ended = once(shell, 'exit')
      process.kill(-(shell.pid ?? 0), 'SIGKILL')
      await ended
    },
  }
}

/** The processor time of a process of its own, in percent of one core. */
async function percentOf(order: Order): Promise<number> {
  const child: ChildProcess = fork(import.meta.filename)
  child.send(order)
  const [percent] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [number]
  if (child.exitCode !== null) throw new Error(`${order.role} ended with ${child.exitCode}`)
  console.log(`${order.role}: ${percent.toFixed(2)} %`)
  child.kill()
  return percent
}

/** Measures all machines each second, and says what that took of a core. */
async function measure({ role, socketPath, files }: Order): Promise<number> {
  const round = role === 'ours' ? await sampleAll(socketPath) : readAll(files)
  // What is found, opened and compiled once does not count.
  for (let warm = 0; warm < 3; warm++) await round()
  const startedAt = performance.now()
  const before = process.cpuUsage()
  const rounds = role === 'ours' ? OURS_ROUNDS : BARE_ROUNDS
  for (let at = 1; at <= rounds; at++) {
    await round()
    const left = startedAt + at * ROUND_MS - performance.now()
    await new Promise(resolve => setTimeout(resolve, left))
  }
  const { user, system } = process.cpuUsage(before)
  return ((user + system) / 1000 / (performance.now() - startedAt)) * 100
}

/** By the real driver of an engine that is here. */
async function sampleAll(socketPath: string): Promise<() => Promise<void>> {
  const place = { kind: 'unix' as const, socket_path: socketPath }
  const engine = await createDockerEngine({
    place,
    cloudId: 'x',
    egress: null,
    log: createLog({ level: 'silent' }),
  })
  return async () => {
    const samples = await Promise.all(
      Array.from({ length: MACHINES }, (_, at) => engine.observation.sample(`m${at}`)),
    )
    if (samples.some(one => one.memory_used_mb === null)) throw new Error('a machine was not measured')
  }
}

/** Nothing but reads, from descriptors that stay open. */
function readAll(files: string[][]): () => Promise<void> {
  const descriptors = files.flat().map(path => openSync(path, 'r'))
  const buffer = Buffer.alloc(16 * 1024)
  return async () => {
    for (const descriptor of descriptors) readSync(descriptor, buffer, 0, buffer.length, 0)
  }
}
