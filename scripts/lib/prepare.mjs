import { join } from 'node:path'
import { CommandError } from './command.mjs'
import { withLock } from './lock.mjs'
import { root } from './paths.mjs'

// Beside node_modules and not in it, because an install begins by emptying that folder.
const LOCK_FILE = join(root, '.berth-prepare.lock')

/**
 * Runs preparing steps (install, build) while no other command of this clone does the same.
 * A failure is told on stderr in full and sets exit code 1.
 * @param {ReadonlyArray<() => Promise<void>>} steps
 * @returns {Promise<boolean>} Whether all went well.
 */
export async function prepare(steps) {
  const onWait = (/** @type {number} */ pid) =>
    console.log(`Process ${pid} is installing or building in this folder already; waiting for it.`)
  try {
    await withLock(LOCK_FILE, onWait, async () => {
      for (const step of steps) await step()
    })
    return true
  } catch (error) {
    if (error instanceof CommandError) console.error(`\n${error.output.trimEnd()}\n`)
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
    return false
  }
}
