import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const STOP_SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])
// npm passes a signal on that the terminal already sent to everyone: the same wish arrives twice.
const REPEAT_MS = 1000
const PARENT_CHECK_MS = 500

/**
 * Runs a program in the foreground until it ends, and takes over its exit code.
 *
 * The child gets a process group of its own. A terminal sends Ctrl+C to every process of the foreground
 * group, so a child in our group would be told once by the terminal and once by us, and most servers
 * take the second telling for "at once". This way it is told by us alone. The IPC channel tells a child
 * that listens (see stop-with-parent.mjs) when this process is killed outright.
 * @param {string} file
 * @param {readonly string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv }} options
 * @returns {Promise<void>} Settles when the child has ended; the exit code of this process is set.
 */
export function runInForeground(file, args, options) {
  return new Promise(resolve => {
    const child = spawn(file, args, {
      ...options,
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      detached: true,
    })
    let forwardedAt = Number.NEGATIVE_INFINITY
    const forward = (/** @type {NodeJS.Signals} */ signal) => {
      const now = performance.now()
      if (now - forwardedAt < REPEAT_MS) return
      forwardedAt = now
      child.kill(signal)
    }
    for (const signal of STOP_SIGNALS) process.on(signal, forward)
    const watch = onNpmGone(() => forward('SIGTERM'))
    const finish = (/** @type {number} */ exitCode) => {
      clearInterval(watch)
      for (const signal of STOP_SIGNALS) process.off(signal, forward)
      process.exitCode = exitCode
      resolve()
    }
    child.on('error', cause => {
      console.error(`${file} could not be started: ${cause.message}`)
      finish(1)
    })
    child.on('exit', (code, signal) =>
      finish(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    )
  })
}

/**
 * npm does not pass a SIGTERM on to the script that it runs: it ends, and leaves the script behind. Whoever
 * stopped npm meant what it was running.
 * @param {() => void} call Called once when the npm that started this process has ended.
 * @returns {NodeJS.Timeout | undefined} The timer to clear; nothing when npm did not start this process.
 */
function onNpmGone(call) {
  if (process.env.npm_lifecycle_event === undefined) return undefined
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    call()
  }, PARENT_CHECK_MS)
  return timer
}
