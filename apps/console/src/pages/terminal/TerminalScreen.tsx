import { type Ref, useEffect, useImperativeHandle, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { type RunningTerminal, startTerminal } from './start-terminal.ts'
import classes from './TerminalPage.module.css'
import type { TerminalState } from './terminal-session.ts'
import type { FoundShells } from './use-shells.ts'

/** What the page does with the terminal. */
export type TerminalHandle = Pick<RunningTerminal, 'connect' | 'focus'>

interface TerminalScreenProps {
  instanceId: string
  /** Number of the shell. */
  session: number
  /** Out of sight it keeps its place, size and connection. */
  shown: boolean
  screenReader: boolean
  /** Whether a screen that has just been drawn may take the focus. */
  takesFocus: () => boolean
  onFound: (shells: FoundShells) => void
  onState: (state: TerminalState) => void
  /** The customer leaves the terminal by keyboard. */
  onLeave: () => void
  ref: Ref<TerminalHandle>
}

/** The terminal's place on the page. Load it lazily: the emulator is heavy. */
export function TerminalScreen(props: TerminalScreenProps) {
  const { instanceId, session, shown, screenReader, ref } = props
  const { t } = useTranslation('instances')
  const place = useRef<HTMLDivElement>(null)
  const running = useRef<RunningTerminal | null>(null)
  // What changes around the terminal must not make a new one.
  const latest = useRef({ ...props, t })
  useEffect(() => {
    latest.current = { ...props, t }
  })

  useEffect(() => {
    const element = place.current
    if (!element) return
    let gone = false
    // The emulator measures its font when it is opened, so the font has to be there.
    void fontReady().then(() => {
      if (gone) return
      const { screenReader, t } = latest.current
      running.current = startTerminal(element, {
        instanceId,
        session,
        screenReader,
        label: t('terminal.input_label'),
        tooMuchOutput: t('terminal.too_much_output'),
        onFound: shells => latest.current.onFound(shells),
        onState: state => latest.current.onState(state),
        onLeave: () => latest.current.onLeave(),
      })
      if (latest.current.takesFocus()) running.current.focus()
    })
    return () => {
      gone = true
      running.current?.dispose()
      running.current = null
    }
  }, [instanceId, session])

  useEffect(() => running.current?.setScreenReader(screenReader), [screenReader])

  useImperativeHandle(
    ref,
    () => ({
      connect: () => running.current?.connect(),
      focus: () => running.current?.focus(),
    }),
    [],
  )
  return <div ref={place} className={classes.screen} data-hidden={!shown || undefined} />
}

/** A font that cannot be had is done without. */
async function fontReady(): Promise<void> {
  await document.fonts.load('13px "JetBrains Mono Variable"').catch(() => undefined)
}
