import { type ChildProcess, spawn } from 'node:child_process'
import { QUICK_IMPORTS } from './quick-imports.ts'

/**
 * Starts a process of ours beside the gateway, for what customers send. It has nothing of the gateway's but what it is told by
 * messages: no settings, no secrets, no database. It ends with the gateway, and does not keep it.
 * @param script Its program.
 * @param flags Of Node, such as how much memory it may take.
 */
export function startProcessBeside(script: string, flags: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [...flags, '--disable-warning=ExperimentalWarning', script], {
    env: { ...QUICK_IMPORTS },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  child.unref()
  child.channel?.unref()
  return child
}
