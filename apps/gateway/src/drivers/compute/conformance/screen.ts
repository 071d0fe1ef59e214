import { expect } from 'vitest'
import { type ConsoleLine, type LineEnd, openLine } from '../port/console-line.ts'
import type { Engine } from '../port/engine.ts'

/** A viewer of a shell in a machine, as the suites use it. */
export interface Screen {
  line: ConsoleLine
  /** Output since the last replay began, that replay included. */
  bytes(): Buffer
  /** What the last replay showed; null while none is through. */
  replay(): string | null
  clear(): void
  type(text: string): void
  /** Whether output is acknowledged as it comes; what was not is acknowledged when it is again. */
  renders(does: boolean): void
  /** Waits until the text has come. */
  shows(text: string, timeoutMs?: number): Promise<void>
  end: Promise<LineEnd>
}

/** Attaches to a shell of a machine, `web` unless another is asked for. */
export async function openScreen(
  engine: Engine,
  id: string,
  options: { session?: string; cols?: number; rows?: number; env?: Record<string, string> } = {},
): Promise<Screen> {
  const { session = 'web', cols = 80, rows = 24, env = {} } = options
  const stream = await engine.console.attach(id, session, { cols, rows, env })
  let chunks: Buffer[] = []
  let replay: string | null = null
  let renders = true
  let unackedBytes = 0
  let onEnd: (end: LineEnd) => void = () => undefined
  const end = new Promise<LineEnd>(resolve => {
    onEnd = resolve
  })
  const bytes = () => Buffer.concat(chunks)
  const ack = () => {
    line.ack(unackedBytes)
    unackedBytes = 0
  }
  const line = openLine(stream, {
    onReplayBegin: () => {
      chunks = []
      replay = null
    },
    onReplayEnd: () => {
      replay = bytes().toString()
    },
    onOutput: chunk => {
      chunks.push(Buffer.from(chunk))
      unackedBytes += chunk.length
      if (renders) ack()
    },
    onDrain: () => undefined,
    onEnd,
  })
  return {
    line,
    bytes,
    replay: () => replay,
    clear: () => {
      chunks = []
    },
    type: text => void line.type(Buffer.from(text)),
    renders: does => {
      renders = does
      if (does) ack()
    },
    shows: (wanted, timeoutMs = 15_000) =>
      expect
        .poll(() => bytes().includes(wanted) || bytes().toString().slice(-2_000), {
          timeout: timeoutMs,
          interval: 5,
        })
        .toBe(true),
    end,
  }
}
