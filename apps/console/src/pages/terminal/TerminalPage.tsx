import { startWebTerminal, TERMINAL_SERIAL } from '@berth/contract/instances'
import { TERMINAL_SESSIONS_MAX } from '@berth/contract/limits'
import type { TerminalEnd } from '@berth/contract/terminal'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useId, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { instancesQuery } from '../../api/instances-query.ts'
import { usePageSearch } from '../../app/search.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { nameOfShell, ShellBar } from './ShellBar.tsx'
import classes from './TerminalPage.module.css'
import type { TerminalHandle } from './TerminalScreen.tsx'
import { TerminalStatus } from './TerminalStatus.tsx'
import { TerminalToolbar } from './TerminalToolbar.tsx'
import type { TerminalState } from './terminal-session.ts'
import { useScreenReader } from './use-screen-reader.ts'
import { useShells } from './use-shells.ts'

const TerminalScreen = lazy(() =>
  import('./TerminalScreen.tsx').then(module => ({ default: module.TerminalScreen })),
)

const FIRST = 1

const terminalSearch = z.object({
  instance: z.string().max(40).catch(''),
  /** Which of its shells is in sight, 0 for its serial console; empty for the first. */
  shell: z
    .string()
    .regex(/^[0-9]$/)
    .refine(number => Number(number) <= TERMINAL_SESSIONS_MAX)
    .catch(''),
})

/** Ends with which a shell is gone, so that nothing is lost with its tab. */
const GONE: readonly TerminalEnd[] = [
  'shell_exited',
  'stopped',
  'instance_stopped',
  'idle',
  'guest_closed',
  'guest_refused',
]

/** Shells of an instance, one of them in the whole window (R2.23, B9). */
export function Page() {
  const { t } = useTranslation('instances')
  const [{ instance, shell }, change] = usePageSearch(terminalSearch)
  const off = useOffFor(startWebTerminal)
  const back = (
    <Button component={Link} to="/instance-list" variant="default">
      {t('terminal.back')}
    </Button>
  )
  if (instance === '') {
    return <EmptyState title={t('terminal.no_instance')} action={back} />
  }
  if (off !== null) return <EmptyState title={off} action={back} />
  const show = (session: number) => change({ shell: session === FIRST ? '' : String(session) })
  return <InstanceTerminal key={instance} id={instance} shown={Number(shell || FIRST)} onShow={show} />
}

interface InstanceTerminalProps {
  id: string
  /** Number of the shell in sight. */
  shown: number
  onShow: (session: number) => void
}

const CONNECTING: TerminalState = { kind: 'connecting' }

function InstanceTerminal({ id, shown, onShow }: InstanceTerminalProps) {
  const { t } = useTranslation('instances')
  const panelId = useId()
  const screens = useRef(new Map<number, TerminalHandle>())
  const toolbar = useRef<HTMLDivElement>(null)
  /** Whoever goes from tab to tab by arrows stays there. */
  const mayFocus = useRef(true)
  const shells = useShells(shown)
  const [states, setStates] = useState<Readonly<Record<number, TerminalState>>>({})
  const [screenReader, setScreenReader] = useScreenReader()
  const { data } = useQuery(instancesQuery)
  const name = data?.find(({ instance_id }) => instance_id === id)?.name ?? id
  const state = states[shown] ?? CONNECTING
  const hasEnded = (session: number) =>
    shells.seen.includes(session) && ['ended', 'refused'].includes(states[session]?.kind ?? '')
  const focus = () => screens.current.get(shown)?.focus()
  const show = (session: number) => {
    mayFocus.current = false
    onShow(session)
  }
  const enter = () => {
    mayFocus.current = true
    focus()
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: a screen takes the focus when it comes into sight.
  useEffect(() => {
    if (mayFocus.current) focus()
  }, [shown])
  return (
    <div className={classes.page}>
      <TerminalToolbar
        ref={toolbar}
        id={id}
        name={name}
        state={state}
        running={!shells.listed.every(hasEnded)}
        screenReader={screenReader}
        onScreenReader={setScreenReader}
        onEnded={shells.dropOthers}
        onStopped={focus}
      />
      <ShellBar
        instanceId={id}
        shells={shells}
        shown={shown}
        hasEnded={state.kind === 'ended' && GONE.includes(state.reason)}
        panelId={panelId}
        onShow={show}
        onEnter={enter}
      />
      <div id={panelId} role="tabpanel" aria-label={nameOfShell(t, shown)} className={classes.frame}>
        <Suspense>
          {shells.seen.map(session => (
            <TerminalScreen
              key={session}
              ref={keepIn(screens.current, session)}
              instanceId={id}
              session={session}
              shown={session === shown}
              screenReader={screenReader}
              takesFocus={() => mayFocus.current && session === shown}
              onFound={shells.found}
              onState={next => setStates(before => ({ ...before, [session]: next }))}
              onLeave={() => toolbar.current?.focus()}
            />
          ))}
        </Suspense>
      </div>
      <TerminalStatus
        state={state}
        isSerial={shown === TERMINAL_SERIAL}
        onSerial={() => {
          onShow(TERMINAL_SERIAL)
          enter()
        }}
        onConnect={() => {
          screens.current.get(shown)?.connect()
          focus()
        }}
      />
    </div>
  )
}

/** Keeps what a screen can be asked for while it is there. */
function keepIn(screens: Map<number, TerminalHandle>, session: number) {
  return (handle: TerminalHandle | null) => {
    if (!handle) return
    screens.set(session, handle)
    return () => void screens.delete(session)
  }
}
