import { stopWebTerminal } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { IconArrowLeft } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { type Ref, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { StatusBadge, type StatusLook } from '../../ui/StatusBadge.tsx'
import classes from './TerminalPage.module.css'
import type { TerminalState } from './terminal-session.ts'

const ConfirmDialog = lazyPart(() =>
  import('../../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog),
)

const LOOKS: Record<TerminalState['kind'], StatusLook> = {
  connecting: { shape: 'spinner', tone: 'info' },
  open: { shape: 'dot', tone: 'good' },
  waiting: { shape: 'spinner', tone: 'warning' },
  ended: { shape: 'ring', tone: 'quiet' },
  refused: { shape: 'cross', tone: 'bad' },
}

interface TerminalToolbarProps {
  id: string
  name: string
  state: TerminalState
  /** Whether there is a shell that may run. */
  running: boolean
  screenReader: boolean
  onScreenReader: (on: boolean) => void
  /** All shells have ended. */
  onEnded: () => void
  /** The question whether to stop was answered, one way or the other. */
  onStopped: () => void
  ref: Ref<HTMLDivElement>
}

/** Above the terminal: whose shell it is, how the connection is, and what can be done with it. */
export function TerminalToolbar(props: TerminalToolbarProps) {
  const { id, name, state, running, screenReader, onScreenReader, onEnded, onStopped, ref } = props
  const { t } = useTranslation('instances')
  const end = useChange(stopWebTerminal)
  const off = useOffFor(stopWebTerminal)
  const [stopping, setStopping] = useState<'never' | 'asked' | 'closed'>('never')
  return (
    <div
      ref={ref}
      className={classes.toolbar}
      role="toolbar"
      aria-label={t('terminal.toolbar')}
      tabIndex={-1}
    >
      <Link to="/instance-list" className={classes.back} aria-label={t('terminal.back')}>
        <IconArrowLeft size={17} stroke={1.6} />
      </Link>
      <h1 className={classes.name}>{name}</h1>
      <span role="status">
        <StatusBadge look={LOOKS[state.kind]} label={t(`terminal.state.${state.kind}`)} />
      </span>
      <p className={classes.keys}>{t('terminal.keys')}</p>
      <div className={classes.tools}>
        <Button
          size="xs"
          variant="default"
          aria-pressed={screenReader}
          className={classes.toggle}
          onClick={() => onScreenReader(!screenReader)}
        >
          {t('terminal.screen_reader')}
        </Button>
        <Button size="xs" variant="default" disabled={!running} onClick={() => setStopping('asked')}>
          {t('terminal.stop')}
        </Button>
      </div>
      {stopping !== 'never' && (
        <Suspense>
          <ConfirmDialog
            danger
            off={off}
            opened={stopping === 'asked'}
            title={t('terminal.stop_title', { name })}
            confirmLabel={t('terminal.stop')}
            onConfirm={() => end.send({ body: { instance_id: id } }).then(onEnded)}
            onClose={() => {
              setStopping('closed')
              onStopped()
            }}
          >
            {t('terminal.stop_text')}
          </ConfirmDialog>
        </Suspense>
      )}
    </div>
  )
}
