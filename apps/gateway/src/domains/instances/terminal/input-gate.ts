import type { Pty } from '../../../drivers/compute/port.ts'

/** What one waiting message takes beside its bytes, so that a flood of empty ones counts too. */
const MESSAGE_COST_BYTES = 256

/** Takes typing to a shell, and lets the tabs wait while the machine does not take it. */
export interface InputGate {
  readonly isFull: boolean
  /** Memory that typing takes which the machine has not taken yet, in bytes. */
  readonly bytesHeld: number
  take(bytes: Buffer): void
  /** The shell is there: hands over what was typed ahead. */
  open(pty: Pick<Pty, 'write'>): void
}

/**
 * Makes a closed gate.
 * @param bytesMax Past this, `onFull(true)`; below it again, `onFull(false)`.
 */
export function createInputGate(bytesMax: number, onFull: (full: boolean) => void): InputGate {
  let pty: Pick<Pty, 'write'> | null = null
  let ahead: Buffer[] = []
  let waitingBytes = 0

  function write(bytes: Buffer): void {
    pty?.write(bytes, () => {
      const wasFull = waitingBytes > bytesMax
      waitingBytes -= bytes.length + MESSAGE_COST_BYTES
      if (wasFull && waitingBytes <= bytesMax) onFull(false)
    })
  }

  return {
    get isFull() {
      return waitingBytes > bytesMax
    },
    get bytesHeld() {
      return waitingBytes
    },
    take: bytes => {
      const wasFull = waitingBytes > bytesMax
      waitingBytes += bytes.length + MESSAGE_COST_BYTES
      if (pty) write(bytes)
      else ahead.push(bytes)
      if (!wasFull && waitingBytes > bytesMax) onFull(true)
    },
    open: opened => {
      pty = opened
      for (const bytes of ahead) write(bytes)
      ahead = []
    },
  }
}
