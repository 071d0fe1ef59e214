import { setTimeout } from 'node:timers'

/** Named, a process of tests stands still again and again, as on a computer that has little time for it. */
const STALLS = 'BERTH_TEST_STALLS'
/** Longer than limits of a quarter of a second, shorter than what a test may wait for. */
const STALL_MS = { from: 300, to: 600 }
const BETWEEN_MS = { from: 20, to: 400 }

const started = Symbol.for('berth.test.stalls')
const here = globalThis as { [started]?: true }
// Set-up files run again for each test file of a process.
if (process.env[STALLS] !== undefined && here[started] === undefined) {
  here[started] = true
  stallLater()
}

function stallLater(): void {
  setTimeout(() => {
    // Nothing runs in this thread meanwhile, and no processor is busy with it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, between(STALL_MS))
    stallLater()
  }, between(BETWEEN_MS)).unref()
}

function between({ from, to }: { from: number; to: number }): number {
  return from + Math.random() * (to - from)
}
