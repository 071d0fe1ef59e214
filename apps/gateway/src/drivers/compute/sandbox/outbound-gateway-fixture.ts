import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Order } from './outbound-fixture.ts'

export interface GatewayOptions {
  /** Its folder, and that of its computer's `resolv.conf`. */
  folder: string
  uid: number
  launcher: string
  opened: string[]
  /** A shell line that changes what it finds on its computer. */
  before?: string
}

/** Starts `outbound-fixture.ts` in a network, as a process of its own. */
export async function openGateway(
  namespace: string,
  { folder, uid, launcher, opened, before = ':' }: GatewayOptions,
) {
  const dataDir = join(folder, `${launcher}-${uid}`)
  mkdirSync(dataDir, { recursive: true })
  chownSync(dataDir, uid, uid)
  const script = join(import.meta.dirname, 'outbound-fixture.ts')
  const become = uid === 0 ? '' : `setpriv --reuid ${uid} --regid ${uid} --clear-groups`
  const line = `mount --bind ${folder}/resolv.conf /etc/resolv.conf && ${before} && exec ${become} "$@"`
  const program = [process.execPath, script, dataDir, launcher, opened.join(',')]
  const child = spawn(
    'nsenter',
    [`--net=/run/netns/${namespace}`, 'unshare', '--mount', 'sh', '-c', line, 'sh', ...program],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, HOME: '/' },
    },
  )
  const waiting: ((line: string) => void)[] = []
  createInterface({ input: child.stdout }).on('line', answer => waiting.shift()?.(answer))
  const gone = once(child, 'close')
  const next = () => new Promise<string>(resolve => waiting.push(resolve))
  const ready = next()

  async function ask(order: Order): Promise<unknown> {
    const answer = next()
    child.stdin.write(`${JSON.stringify(order)}\n`)
    const { result, error } = JSON.parse(await answer) as { result?: unknown; error?: string }
    if (error !== undefined) throw new Error(error)
    return result
  }
  async function exec(
    id: string,
    script: string,
  ): Promise<{ exit_code: number; stdout: string; stderr: string }> {
    return (await ask({ do: 'exec', id, argv: ['bash', '-c', script] })) as never
  }
  await ready
  return {
    ask,
    exec,
    async run(id: string, script: string): Promise<string> {
      const { exit_code, stdout, stderr } = await exec(id, script)
      if (exit_code !== 0) throw new Error(`exit ${exit_code} of: ${script}\n${stderr}`)
      return stdout
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await gone
    },
    async end(): Promise<void> {
      child.stdin.end()
      if (child.exitCode === null && child.signalCode === null) await gone
    },
  }
}

export type Gateway = Awaited<ReturnType<typeof openGateway>>
