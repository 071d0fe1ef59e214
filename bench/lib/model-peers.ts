import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { processTree } from './child-server.ts'
import type { ModelSide } from './model-load.ts'

const START_MS = 240_000
const ASK_PAUSE_MS = 250
const PRELOAD = resolve(import.meta.dirname, '../portkey-preload.mjs')

/** A gateway of somebody else, in a process of its own. */
export interface Peer extends ModelSide {
  stop(): Promise<void>
}

/**
 * Starts Portkey's gateway.
 * @param folder Where `npm install @portkey-ai/gateway` was run.
 * @param upstream Up to where the paths of the protocol begin.
 * @param env Of its process, besides.
 */
export async function startPortkey(
  folder: string,
  upstream: string,
  env: Record<string, string>,
): Promise<Peer> {
  const root = join(folder, 'node_modules/@portkey-ai/gateway')
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { bin: string }
  const port = await freePort()
  const argv = ['--import', PRELOAD, join(root, bin), '--headless', `--port=${port}`]
  const headers = { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': upstream }
  return await startPeer({ name: 'Portkey', program: process.execPath, argv, env, port, headers })
}

/**
 * Starts LiteLLM's proxy, with one worker as it comes.
 * @param folder A virtual environment of Python that has `litellm[proxy]`.
 * @param upstream Up to where the paths of the protocol begin.
 */
export async function startLitellm(folder: string, upstream: string): Promise<Peer> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-bench-litellm-'))
  const config = join(dir, 'config.yaml')
  const model = { model: 'openai/bench', api_base: upstream, api_key: 'none' }
  writeFileSync(config, JSON.stringify({ model_list: [{ model_name: 'bench', litellm_params: model }] }))
  const port = await freePort()
  const argv = ['--config', config, '--host', '127.0.0.1', '--port', String(port)]
  // Without a key it does not start.
  const key = `sk-${randomBytes(32).toString('hex')}`
  const env = { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR', LITELLM_MASTER_KEY: key }
  const headers = { authorization: `Bearer ${key}` }
  const program = join(folder, 'bin/litellm')
  const peer = await startPeer({ name: 'LiteLLM', program, argv, env, port, headers })
  return {
    ...peer,
    async stop() {
      await peer.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

interface PeerOptions {
  name: string
  program: string
  argv: string[]
  env: Record<string, string>
  port: number
  headers: Record<string, string>
}

async function startPeer({ name, program, argv, env, port, headers }: PeerOptions): Promise<Peer> {
  if (!existsSync(program)) throw new Error(`${program} is not there`)
  const plain = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', NODE_ENV: 'production' }
  const child = spawn(program, argv, { env: { ...plain, ...env }, stdio: 'ignore' })
  const origin = `http://127.0.0.1:${port}`
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const deadline = performance.now() + START_MS
  // Whatever it answers: it listens.
  while (
    !(await fetch(origin).then(
      () => true,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || performance.now() > deadline) {
      kill()
      throw new Error(`${name} did not start (${child.exitCode})`)
    }
    await sleep(ASK_PAUSE_MS)
  }
  return {
    name,
    origin,
    pids: () => processTree(child.pid ?? 0),
    credentials: () => headers,
    async stop() {
      process.off('exit', kill)
      const ended = once(child, 'exit')
      kill()
      await ended
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  await new Promise(done => server.close(done))
  return typeof address === 'object' && address ? address.port : 0
}
