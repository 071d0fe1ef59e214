import '@xterm/xterm/css/xterm.css'
import { startWebTerminal } from '@berth/contract/instances'
import { ApiError, isUnsettled } from '../../api/api-error.ts'
import { sendChange } from '../../api/change.ts'
import { createScreen, type ScreenOptions } from './screen.ts'
import { createTerminalSession, type TerminalState } from './terminal-session.ts'
import type { FoundShells } from './use-shells.ts'

/** A shell of one instance, drawn and connected. */
export interface RunningTerminal {
  /** Connects now: instead of waiting, or again after an end. */
  connect: () => void
  focus: () => void
  setScreenReader: (on: boolean) => void
  dispose: () => void
}

export interface TerminalOptions extends Omit<ScreenOptions, 'onInput' | 'onResize'> {
  instanceId: string
  /** Number of the shell among the instance's. */
  session: number
  /** Called with each ticket. */
  onFound: (shells: FoundShells) => void
  onState: (state: TerminalState) => void
}

/**
 * Draws a terminal and connects it to a shell of the instance.
 * @param element Empty, and of a size.
 * @param options See TerminalOptions.
 */
export function startTerminal(element: HTMLElement, options: TerminalOptions): RunningTerminal {
  const { instanceId, session: number, onFound, onState } = options
  let state: TerminalState = { kind: 'connecting' }
  const screen = createScreen(element, {
    ...options,
    onInput: bytes => session.type(bytes),
    onResize: () => session.resized(),
  })
  const session = createTerminalSession({
    screen,
    requestTicket: async signal => {
      const body = { instance_id: instanceId, session: number }
      const given = await sendChange(startWebTerminal, { body }, { signal, silent: true, behind: true })
      if (!signal.aborted) onFound(given)
      return given
    },
    finalRefusal,
    openSocket: (path, protocols) => new WebSocket(new URL(path, location.href), protocols),
    onState: next => {
      state = next
      onState(next)
    },
  })
  // Somebody is looking, or the network is back: no reason to wait any longer.
  const hurry = () => {
    if (state.kind === 'waiting' && !document.hidden) session.connect()
  }
  document.addEventListener('visibilitychange', hurry)
  window.addEventListener('online', hurry)
  session.connect()
  return {
    connect: session.connect,
    focus: screen.focus,
    setScreenReader: screen.setScreenReader,
    dispose: () => {
      document.removeEventListener('visibilitychange', hurry)
      window.removeEventListener('online', hurry)
      session.dispose()
      screen.dispose()
    },
  }
}

/** What the gateway has decided stays decided: an instance that is gone or stopped, a session that is over. */
function finalRefusal(error: unknown): string | null {
  return error instanceof ApiError && !isUnsettled(error) ? error.message : null
}
