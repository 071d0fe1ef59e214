import { spawn } from 'node:child_process'

// Enough for npm's or Vite's whole complaint, and a bound on what a runaway child can make us keep.
const OUTPUT_BYTES_MAX = 1024 * 1024

/** A command that ended with something other than 0. Its output is what the person needs to see. */
export class CommandError extends Error {
  /**
   * @param {string} message
   * @param {string} output The end of what the command wrote.
   */
  constructor(message, output) {
    super(message)
    this.output = output
  }
}

/**
 * Runs a command with its output hidden.
 * @param {string} file
 * @param {readonly string[]} args
 * @param {{ cwd: string, env?: NodeJS.ProcessEnv }} options
 * @returns {Promise<void>} Settles when it ended with 0; otherwise rejects with a {@link CommandError}.
 */
export function runQuietly(file, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const keep = (/** @type {Buffer} */ chunk) => {
      output = (output + chunk.toString()).slice(-OUTPUT_BYTES_MAX)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('error', cause =>
      reject(new CommandError(`${file} could not be started: ${cause.message}`, output)),
    )
    child.on('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(new CommandError(`${file} ended with ${signal ?? `exit code ${code}`}`, output))
    })
  })
}
