import { startWebTerminal } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { instancesQuery } from '../../api/instances-query.ts'
import { usePageSearch } from '../../app/search.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { EmptyState } from '../../ui/EmptyState.tsx'
import classes from './TerminalPage.module.css'
import type { TerminalHandle } from './TerminalScreen.tsx'
import { TerminalStatus } from './TerminalStatus.tsx'
import { TerminalToolbar } from './TerminalToolbar.tsx'
import type { TerminalState } from './terminal-session.ts'
import { useScreenReader } from './use-screen-reader.ts'

const TerminalScreen = lazy(() =>
  import('./TerminalScreen.tsx').then(module => ({ default: module.TerminalScreen })),
)

const terminalSearch = z.object({ instance: z.string().max(40).catch('') })

/** A shell of an instance, in the whole window (R2.23, B9). */
export function Page() {
  const { t } = useTranslation('instances')
  const [{ instance }] = usePageSearch(terminalSearch)
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
  return <InstanceTerminal key={instance} id={instance} />
}

function InstanceTerminal({ id }: { id: string }) {
  const terminal = useRef<TerminalHandle>(null)
  const toolbar = useRef<HTMLDivElement>(null)
  const [state, setState] = useState<TerminalState>({ kind: 'connecting' })
  const [screenReader, setScreenReader] = useScreenReader()
  const { data } = useQuery(instancesQuery)
  const name = data?.find(({ instance_id }) => instance_id === id)?.name ?? id
  const connect = () => {
    terminal.current?.connect()
    terminal.current?.focus()
  }
  return (
    <div className={classes.page}>
      <TerminalToolbar
        ref={toolbar}
        id={id}
        name={name}
        state={state}
        screenReader={screenReader}
        onScreenReader={setScreenReader}
        onStopped={() => terminal.current?.focus()}
      />
      <div className={classes.frame}>
        <Suspense>
          <TerminalScreen
            ref={terminal}
            instanceId={id}
            screenReader={screenReader}
            onState={setState}
            onLeave={() => toolbar.current?.focus()}
          />
        </Suspense>
      </div>
      <TerminalStatus state={state} onConnect={connect} />
    </div>
  )
}
