import { execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ADMIN, BIN, CONTAINERD, kubectl, nameGpus, RUN } from './cluster-fixture.ts'

const run = promisify(execFile)
/** By its name the API server finds its kubelet. */
export const SECOND_NODE = '127.0.0.2'
const THERE_MS = 60_000
const LOOK_MS = 200
const ENDED_MS = 20_000

/**
 * Adds a node to the cluster of this computer: another kubelet with a containerd of its own and everything else as the first one has
 * it, so that pods can be made on one of two.
 * @param references Images that it is given of the first one's.
 * @returns Takes it away again.
 */
export async function addSecondNode(references: readonly string[]): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), 'berth-node-'))
  const real = join(RUN, 'real')
  const socket = join(dir, 'c.sock')
  const copy = async (name: string, change: (text: string) => string) =>
    writeFile(join(dir, name), change((await readFile(join(real, name), 'utf8')).replaceAll(real, dir)))
  await cp(join(real, 'cni'), join(dir, 'cni'), { recursive: true })
  await copy('cni/conf/10-ptp.conflist', text =>
    text.replace('"pods"', '"pods-of-second"').replace('10.244.0.0', '10.244.1.0'),
  )
  await copy('containerd.toml', text => text)
  await copy('kubelet.yaml', text => text.replace('address: 127.0.0.1', `address: ${SECOND_NODE}`))
  const script = `
    mount --make-rshared /; cd "$0"; mkdir -p podlogs volplugins
    containerd --config containerd.toml >containerd.log 2>&1 & echo $! >containerd.pid
    for i in $(seq 100); do [ -S c.sock ] && break; sleep 0.1; done
    "$1/kubelet" --config kubelet.yaml --kubeconfig "$2" --hostname-override ${SECOND_NODE} \\
      --root-dir "$0/kubelet" --cert-dir "$0/kubelet/pki" >kubelet.log 2>&1 & echo $! >kubelet.pid
    wait`
  const log = openSync(join(dir, 'log'), 'a')
  const child = spawn('unshare', ['-m', '--propagation', 'slave', 'bash', '-c', script, dir, BIN, ADMIN], {
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  child.unref()

  async function stop(): Promise<void> {
    await kubectl('delete', 'node', SECOND_NODE, '--ignore-not-found')
    for (const name of ['kubelet', 'containerd']) {
      const pid = Number(await readFile(join(dir, `${name}.pid`), 'utf8').catch(() => '0'))
      if (pid > 0) await end(pid)
    }
    // What is left of its pods ends with what keeps each of them.
    const { stdout } = await run('pgrep', ['-f', `containerd-shim.*${socket}`]).catch(() => ({ stdout: '' }))
    for (const pid of stdout.split('\n').filter(line => line !== '')) await end(Number(pid))
    if (child.pid !== undefined) await end(child.pid)
    await rm(dir, { recursive: true, force: true }).catch(() => undefined)
  }

  try {
    const images = join(dir, 'images.tar')
    const ctr = (place: string, ...args: string[]) => run('ctr', ['-a', place, '-n', 'k8s.io', ...args])
    await ctr(CONTAINERD, 'images', 'export', images, ...references)
    await patiently(() => ctr(socket, 'images', 'import', images))
    await ctr(socket, 'images', 'import', join(real, 'img.tar'))
    await patiently(() => kubectl('wait', '--for=condition=Ready', `node/${SECOND_NODE}`, '--timeout=60s'))
    await nameGpus()
    const gpus = JSON.stringify({ 'nvidia.com/gpu': '8' })
    const patch = `{"status":{"capacity":${gpus},"allocatable":${gpus}}}`
    await kubectl('patch', 'node', SECOND_NODE, '--subresource=status', '--type=merge', '-p', patch)
  } catch (error) {
    await stop()
    throw error
  }
  return stop
}

async function patiently(attempt: () => Promise<unknown>): Promise<void> {
  for (const deadline = Date.now() + THERE_MS; ; ) {
    try {
      await attempt()
      return
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise(resolve => setTimeout(resolve, LOOK_MS))
    }
  }
}

async function end(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGTERM')
    for (const deadline = Date.now() + ENDED_MS; Date.now() < deadline; ) {
      process.kill(pid, 0)
      await new Promise(resolve => setTimeout(resolve, LOOK_MS))
    }
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
