import { followInstanceLogs, type LogEvent } from '@berth/contract/instance-page'
import { getInstanceLogs } from '@berth/contract/instances'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from '../../api/api-error.ts'
import { followCall, request } from '../../api/client.ts'
import { EMPTY_WINDOW, type LogWindow, withEvent } from './log-window.ts'

/** Where it cannot be followed it is asked for again so often, and following is tried again. */
const ASK_MS = 3_000
/** A machine that writes no more may do so again: after a restart, or once its command has begun. */
const AGAIN_MS = 5_000
/** What comes within this is drawn at once. */
const DRAW_MS = 120
/** What was written before comes far sooner; a program that has said nothing within this is silent. */
const SILENT_MS = 1_000

/** A log as it is followed. */
export interface Log {
  window: LogWindow
  /** `live` while it comes by itself, `asked` while it is asked for again and again; null before the first answer. */
  state: 'live' | 'asked' | null
  /** Why it could not be read at all; null where it could. */
  error: ApiError | null
}

const NOTHING: Log = { window: EMPTY_WINDOW, state: null, error: null }

/**
 * Follows the log of an instance for as long as the component is there.
 * @param id Of the instance. Following goes on by itself when it breaks, whichever gateway answers then.
 * @param runs Whether its machine runs: a log that has ended is followed anew when it does again.
 */
export function useLog(id: string, runs: boolean): Log {
  const { t } = useTranslation('instances')
  const [log, setLog] = useState<Log>(NOTHING)
  useEffect(() => {
    const abort = new AbortController()
    const skippedText = (count: number) => t('logs.skipped', { number: count })
    void followAgain({ id, runs, signal: abort.signal, skippedText, show: setLog })
    return () => abort.abort()
  }, [id, runs, t])
  return log
}

interface Following {
  id: string
  /** Where it does not, nothing more will come. */
  runs: boolean
  signal: AbortSignal
  skippedText: (count: number) => string
  show: (next: (before: Log) => Log) => void
}

/** Follows, and where that does not work asks, until the signal is given. */
async function followAgain(following: Following): Promise<void> {
  const { signal, show } = following
  while (!signal.aborted) {
    let heard = false
    try {
      await followOnce(following, () => {
        heard = true
      })
      if (!following.runs) return
      await pause(AGAIN_MS, signal)
    } catch (error) {
      if (signal.aborted) return
      const known = error instanceof ApiError ? error : null
      if (known?.code === 'not_found') return show(before => ({ ...before, error: known }))
      if (!heard) await askOnce(following)
      await pause(ASK_MS, signal)
    }
  }
}

/** One stream, from the last lines on: what was shown before it goes with its first event. */
async function followOnce({ id, signal, skippedText, show }: Following, onHeard: () => void): Promise<void> {
  let window = EMPTY_WINDOW
  let isDue = false
  const draw = () => {
    isDue = false
    if (!signal.aborted) show(() => ({ window, state: 'live', error: null }))
  }
  const onEvent = (event: LogEvent) => {
    onHeard()
    window = withEvent(window, event, skippedText)
    if (isDue) return
    isDue = true
    setTimeout(draw, DRAW_MS)
  }
  const onOpen = () =>
    setTimeout(() => {
      if (!signal.aborted && window === EMPTY_WINDOW) draw()
    }, SILENT_MS)
  await followCall(followInstanceLogs, { params: { id } }, { signal, onOpen, onEvent })
}

async function askOnce({ id, signal, show }: Following): Promise<void> {
  try {
    const { text } = await request(getInstanceLogs, { params: { id } }, { signal, silent: true })
    const lines = text === '' ? [] : text.split('\n')
    const window = withEvent(EMPTY_WINDOW, { lines, open: '', skipped: 0 }, String)
    show(() => ({ window, state: 'asked', error: null }))
  } catch (error) {
    if (error instanceof ApiError && !signal.aborted) show(before => ({ ...before, error }))
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
