import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Docker from 'dockerode'
import { freePort } from '../../../../../../scripts/test/free-port.ts'

const run = promisify(execFile)

/** Only what never comes meets it, also on a computer that does much else. */
const READY_TIMEOUT_MS = 120_000
const READY_POLL_MS = 100
const RUNTIME = 'berth-test-runtime'
/** Of a disk in a file, which takes room only as it fills. */
const DISK_BYTES = 4 * 1024 ** 3
const STOP_TIMEOUT_MS = 20_000

/** A Docker daemon of a test's own, which listens on TCP with TLS. */
export interface TestDaemon {
  url: string
  socket_path: string
  /** Names of the PEM files in `dir` by which a client speaks to it. */
  dir: string
  files: { ca_file: string; cert_file: string; key_file: string }
  docker: Docker
  /** `btrfs` or `vfs`. */
  storage: string
  /** A second runtime that it knows, which is `runc` and notes how it was called. */
  runtime: { name: string; calls(): Promise<string[]> }
  /** Ends the daemon, and with it every container. */
  stop(): Promise<void>
  /** Ends it with SIGKILL; what runs on it goes on until it is started again. */
  kill(): Promise<void>
  /** Starts it again with what it stored, unless it runs. */
  start(): Promise<void>
  /** Has another one in its place, which never heard of what it stored. It is started by `start`. */
  replace(): Promise<void>
  /** Ends it and removes all that it stored. */
  remove(): Promise<void>
}

interface DaemonOptions {
  /** Has its storage in a file that is a disk of Btrfs, whose quotas it uses; where that cannot be, on plain folders. */
  btrfs?: true
  network_namespace?: string
  /** Where it takes the networks of its containers from, such as 198.18.7.0/24: one of it at most. */
  networks?: string
}

/**
 * Starts a second daemon beside the one that runs: root, network and socket of its own.
 * @param options.network_namespace One that is the daemon's whole computer: it sets packet rules there, and its
 *   machines reach what that namespace reaches. Left out, it sets none.
 * @returns Or why that cannot be done here.
 */
export async function startDockerd(options: DaemonOptions = {}): Promise<TestDaemon | { why: string }> {
  if (process.getuid?.() !== 0) return { why: 'only root can start a Docker daemon' }
  const version = await run('dockerd', ['--version']).then(
    ({ stdout }) => stdout,
    () => null,
  )
  if (version === null) return { why: 'there is no dockerd' }
  const dir = await mkdtemp(join(tmpdir(), 'berth-dockerd-'))
  const daemon = await prepare(dir, Number(/version (\d+)\./.exec(version)?.[1] ?? 0), options)
  try {
    await daemon.start()
    return daemon
  } catch (error) {
    await daemon.remove()
    return { why: `a second Docker daemon does not start: ${(error as Error).message}` }
  }
}

async function prepare(dir: string, major: number, options: DaemonOptions): Promise<TestDaemon> {
  const at = (name: string) => join(dir, name)
  const storage = options.btrfs && (await mountDisk(dir)) ? 'btrfs' : 'vfs'
  const port = await freePort()
  await makeCertificates(dir)
  // Before version 23 daemons of one computer shared one key, and with it their id, unless told otherwise.
  const config = {
    ...(major < 23 ? { 'deprecated-key-path': at('key.json') } : {}),
    runtimes: { [RUNTIME]: { path: at('runtime') } },
    ...(options.networks && {
      'default-address-pools': [{ base: options.networks, size: Number(options.networks.split('/')[1]) }],
    }),
  }
  await writeFile(at('daemon.json'), JSON.stringify(config))
  await writeFile(at('runtime'), `#!/bin/sh\necho "$*" >> ${at('runtime.log')}\nexec runc "$@"\n`, {
    mode: 0o755,
  })
  const read = (name: string) => readFile(at(name), 'utf8')
  const [ca, cert, key] = await Promise.all(['ca.pem', 'client.pem', 'client-key.pem'].map(read))
  const socket_path = at('docker.sock')
  // From another network namespace its TCP port is out of reach, its socket is not.
  const place = options.network_namespace
    ? { socketPath: socket_path }
    : { host: '127.0.0.1', port, protocol: 'https' as const, ca, cert, key }
  const docker = new Docker(place)
  const args = [
    ...['--config-file', at('daemon.json'), '--data-root', at('data'), '--exec-root', at('exec')],
    ...['--pidfile', at('pid'), `--storage-driver=${storage}`, '--bridge=none'],
    ...(options.network_namespace ? [] : ['--iptables=false']),
    ...[
      '--host',
      `unix://${socket_path}`,
      '--host',
      `tcp://127.0.0.1:${port}`,
      '--tlsverify',
      '--tlscacert',
      at('ca.pem'),
    ],
    ...['--tlscert', at('server.pem'), '--tlskey', at('server-key.pem')],
  ]
  let child: ChildProcess | null = null
  let wasKilled = false

  async function stop(): Promise<void> {
    const ending = child
    child = null
    if (!ending || ending.exitCode !== null) return
    const ended = once(ending, 'exit')
    ending.kill('SIGTERM')
    const timer = setTimeout(() => ending.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await ended
    clearTimeout(timer)
  }

  async function start(): Promise<void> {
    if (child?.exitCode === null && child.signalCode === null) return
    const [program = '', ...rest] = [
      ...(options.network_namespace ? ['nsenter', `--net=/run/netns/${options.network_namespace}`] : []),
      ...['dockerd', ...args],
    ]
    const started = spawn(program, rest, { stdio: ['ignore', 'ignore', 'pipe'] })
    child = started
    started.stderr.pipe(createWriteStream(at('log'), { flags: 'a' }))
    const failed = once(started, 'error').then(([error]) => Promise.reject(error))
    await Promise.race([ready(docker, started, at('log')), failed])
    failed.catch(() => undefined)
  }

  /** Networks are bridges of the kernel, which outlive their daemon and take addresses from the next ones. */
  async function removeBridges(): Promise<void> {
    const networks = child
      ? await docker.listNetworks({ filters: { driver: ['bridge'] } }).catch(() => [])
      : []
    await stop()
    for (const { Id } of networks)
      await run('ip', ['link', 'del', `br-${Id.slice(0, 12)}`]).catch(() => undefined)
  }

  return {
    url: `tcp://127.0.0.1:${port}`,
    socket_path,
    dir,
    files: { ca_file: 'ca.pem', cert_file: 'client.pem', key_file: 'client-key.pem' },
    docker,
    storage,
    runtime: {
      name: RUNTIME,
      calls: async () => (await readFile(at('runtime.log'), 'utf8').catch(() => '')).split('\n').slice(0, -1),
    },
    stop,
    async kill() {
      const ending = child
      child = null
      if (!ending || ending.exitCode !== null) return
      wasKilled = true
      const ended = once(ending, 'exit')
      const containerd = Number(await readFile(at('exec/containerd/containerd.pid'), 'utf8').catch(() => ''))
      ending.kill('SIGKILL')
      await ended
      // It dies with its daemon, and a new one that sees it dying takes it for one that is of use.
      const deadline = Date.now() + READY_TIMEOUT_MS
      while (containerd > 0 && isAlive(containerd) && Date.now() < deadline)
        await new Promise(resolve => setTimeout(resolve, READY_POLL_MS))
    },
    start,
    async replace() {
      await removeBridges()
      await rm(at('key.json'), { force: true })
      if (storage === 'vfs') await rm(at('data'), { recursive: true, force: true })
      else {
        await unmountAll(at('data'))
        if (!(await mountDisk(dir))) throw new Error('there is no other disk to be had')
      }
    },
    async remove() {
      // What ran on one that was killed runs on: only a daemon ends that.
      if (wasKilled) await start().catch(() => undefined)
      await removeBridges()
      // Left over where a container had the network of its computer.
      await run('umount', [at('exec/netns/default')]).catch(() => undefined)
      // Its disk, or what is left over by one that was killed.
      await unmountAll(at('data'))
      await rm(dir, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

async function ready(docker: Docker, child: ChildProcess, logFile: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  for (;;) {
    try {
      await docker.ping()
      return
    } catch (error) {
      if (child.exitCode !== null || Date.now() > deadline) {
        const log = await readFile(logFile, 'utf8').catch(() => '')
        throw new Error(log.trim().split('\n').at(-1) ?? '', { cause: error })
      }
      await new Promise(resolve => setTimeout(resolve, READY_POLL_MS))
    }
  }
}

/** A disk of Btrfs in a file, empty, where a daemon in that folder stores. False where that cannot be had. */
async function mountDisk(dir: string): Promise<boolean> {
  // The one before may be in use for a moment.
  const file = join(dir, `disk-${Date.now()}`)
  const data = join(dir, 'data')
  try {
    await mkdir(data, { recursive: true })
    await writeFile(file, '')
    await truncate(file, DISK_BYTES)
    await run('mkfs.btrfs', ['-q', '-f', file])
    await run('mount', ['-o', 'loop', file, data])
    return true
  } catch {
    return false
  }
}

/** A daemon mounts its folder once more over itself where it is not shared with its containers. */
async function unmountAll(folder: string): Promise<void> {
  const { stdout } = await run('findmnt', ['--noheadings', '--output', 'TARGET', '--list'])
  for (const target of stdout.split('\n')) if (target === folder) await run('umount', ['-l', folder])
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** An authority, and a certificate of its for a server at 127.0.0.1 and one for a client, in PEM. */
export async function makeCertificates(dir: string): Promise<void> {
  const make = (name: string, extra: string[]) =>
    run(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
        ...['-keyout', `${name}-key.pem`, '-out', `${name}.pem`, '-subj', `/CN=berth test ${name}`],
        ...extra,
      ],
      { cwd: dir },
    )
  await make('ca', [])
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-addext', 'basicConstraints=critical,CA:FALSE']
  await make('server', [...signed, '-addext', 'subjectAltName=IP:127.0.0.1'])
  await make('client', [...signed, '-addext', 'extendedKeyUsage=clientAuth'])
}
