import {
  decodeClientFrame,
  encodeServerFrame,
  TERMINAL_CLOSE,
  type TerminalEnd,
  type TerminalServerFrame,
} from '@berth/contract/terminal'
import type { WebSocket } from 'ws'
import { MESSAGE_COST_BYTES, type TerminalLimits } from './terminal-limits.ts'

/** What a socket's owner is told of. */
export interface TerminalSocketEvents {
  onResize(cols: number, rows: number): void
  onInput(bytes: Buffer): void
  /** The tab has rendered so much. */
  onAck(bytes: number): void
  /** Something that was sent has left this process. */
  onSent(): void
  onClose(): void
}

/** One tab's end of a terminal. */
export interface TerminalSocket {
  /** The customer's session that asked for the ticket. */
  readonly sessionId: string
  /** What this process still holds for it, in bytes; each message costs some beside its own. */
  readonly bytesHeld: number
  listen(events: TerminalSocketEvents): void
  send(frame: TerminalServerFrame): void
  /** Stops or goes on reading what the tab sends. */
  holdInput(held: boolean): void
  /** Says why, and closes. Nothing is heard of it afterwards but `onClose`. */
  end(reason: TerminalEnd, exitCode?: number | null): void
  /** Asks for a sign of life; ends the socket when the last time brought none. */
  checkLife(): void
}

/** A socket that neither answers the close nor goes away is cut after this. */
const CLOSE_GRACE_MS = 5_000

/**
 * Wraps an open WebSocket in the terminal's protocol.
 * @param socket Just opened: no message of it was read yet.
 */
export function createTerminalSocket(options: {
  socket: WebSocket
  sessionId: string
  limits: TerminalLimits
}): TerminalSocket {
  const { socket, sessionId, limits } = options
  let events: TerminalSocketEvents | null = null
  let answered = true
  let ended = false
  let messagesWaiting = 0

  const sent = () => {
    messagesWaiting--
    if (!ended) events?.onSent()
  }
  const end = (reason: TerminalEnd, exitCode: number | null = null) => {
    if (ended) return
    ended = true
    clearTimeout(firstFrame)
    socket.send(
      reason === 'failed' || reason === 'bad_frame'
        ? encodeServerFrame({ kind: 'error', reason, message: MESSAGES[reason] })
        : encodeServerFrame({ kind: 'exit', reason, code: exitCode }),
    )
    socket.close(TERMINAL_CLOSE[reason].code, reason)
    // A held socket would never read the answer to its close.
    socket.resume()
    setTimeout(() => socket.terminate(), CLOSE_GRACE_MS).unref()
  }
  const firstFrame = setTimeout(() => end('bad_frame'), limits.firstFrameMs)

  socket.on('message', (data, isBinary) => {
    if (ended) return
    const frame = isBinary && Buffer.isBuffer(data) ? decodeClientFrame(data) : null
    if (!frame) return end('bad_frame')
    if (frame.kind === 'resize') {
      clearTimeout(firstFrame)
      events?.onResize(frame.cols, frame.rows)
    } else if (frame.kind === 'input') {
      events?.onInput(Buffer.from(frame.bytes.buffer, frame.bytes.byteOffset, frame.bytes.byteLength))
    } else {
      events?.onAck(frame.bytes)
    }
  })
  socket.on('pong', () => {
    answered = true
  })
  // What breaks a socket (a frame past the limit, a reset) closes it too.
  socket.on('error', () => socket.terminate())
  socket.on('close', () => {
    ended = true
    clearTimeout(firstFrame)
    events?.onClose()
  })

  return {
    sessionId,
    get bytesHeld() {
      return socket.bufferedAmount + messagesWaiting * MESSAGE_COST_BYTES
    },
    listen: listener => {
      events = listener
    },
    send: frame => {
      if (ended) return
      messagesWaiting++
      socket.send(encodeServerFrame(frame), sent)
    },
    holdInput: held => {
      if (ended) return
      if (held) socket.pause()
      else socket.resume()
    },
    end,
    checkLife: () => {
      if (!answered) return socket.terminate()
      answered = false
      socket.ping()
    },
  }
}

/** For whoever reads the wire; the console has its own texts by `reason`. */
const MESSAGES = {
  failed: 'The shell could not be opened.',
  bad_frame: 'The terminal received something that is not of its protocol.',
}
