import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { sandboxArgv } from '../../apps/gateway/src/drivers/compute/sandbox/plan-machine.ts'

const RUNS = 'runs'

/** A program that is waited for until it has said a word. */
interface Speaking {
  argv: readonly string[]
  stdio: NonNullable<SpawnOptions['stdio']>
  /** Which of those it speaks on. */
  fd: number
  word: string
}

/**
 * Starts a program and waits for its first word, then for its end.
 * @param spoken What is done once it has spoken.
 * @returns When it had spoken, by the clock of `performance`.
 * @throws Error when it ends, or says something else.
 */
export async function untilItSpoke(
  { argv, stdio, fd, word }: Speaking,
  spoken: (kill: () => void) => void = () => undefined,
): Promise<number> {
  const [program = '', ...args] = argv
  const child = spawn(program, args, { stdio })
  const exit = once(child, 'exit')
  const [chunk] = (await Promise.race([once(child.stdio[fd] as Readable, 'data'), exit])) as [unknown]
  if (!String(chunk).includes(word)) throw new Error(`${program} by hand ended with ${String(chunk)}`)
  const at = performance.now()
  spoken(() => child.kill('SIGKILL'))
  await exit
  return at
}

/**
 * Starts a sandbox by the bare launcher: the same folders, namespaces and mounts, over this computer's own programs; a
 * line of shell in the agent's place says when it runs.
 * @returns What that took, in ms.
 */
export async function startBareSandbox(dir: string, id: string, memory_mb: number): Promise<number> {
  const startedAt = performance.now()
  const command = ['/bin/sh', '-c', `echo ${RUNS}`]
  const argv = await sandboxArgv(dir, { id, hostname: 'bench', memory_mb }, command)
  const spokeAt = await untilItSpoke({ argv, stdio: ['ignore', 'pipe', 'inherit'], fd: 1, word: RUNS })
  return spokeAt - startedAt
}
