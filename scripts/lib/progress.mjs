const REDRAW_MS = 1000

/**
 * Shows one line for a long step: its label while it runs, and how long it took when it is done.
 * On a terminal the seconds count up; elsewhere the line is written in two pieces.
 * @template T
 * @param {string} label What is being done, such as `Building the console`.
 * @param {() => Promise<T>} work The step.
 * @returns {Promise<T>} What the step gave.
 */
export async function withProgress(label, work) {
  const out = process.stdout
  const startedAt = performance.now()
  const elapsed = () => `${Math.round((performance.now() - startedAt) / 1000)} s`
  out.write(`${label} … `)
  const timer = out.isTTY ? setInterval(() => out.write(`\r${label} … ${elapsed()} `), REDRAW_MS) : undefined
  try {
    const result = await work()
    out.write(out.isTTY ? `\r${label} … done in ${elapsed()}\n` : `done in ${elapsed()}\n`)
    return result
  } catch (error) {
    out.write(out.isTTY ? `\r${label} … failed after ${elapsed()}\n` : `failed after ${elapsed()}\n`)
    throw error
  } finally {
    clearInterval(timer)
  }
}
