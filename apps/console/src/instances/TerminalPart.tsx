import { stopWebTerminal } from '@berth/contract/instances'
import { Button } from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../api/use-change.ts'
import { stringifySearch } from '../app/search.ts'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import classes from './Ways.module.css'

interface TerminalPartProps {
  instanceId: string
  /** Whether there is a shell that goes on. */
  running: boolean
}

/** Opens the web terminal in a tab of its own, and ends its shell. */
export function TerminalPart({ instanceId, running }: TerminalPartProps) {
  const { t } = useTranslation('instances')
  const [asking, setAsking] = useState(false)
  const { send, busy } = useChange(stopWebTerminal)
  // Where it fails the question stays, so that it can be tried again.
  const stop = () => send({ body: { instance_id: instanceId } }).then(() => setAsking(false), told)
  if (asking && running) {
    return (
      <div className={classes.row} data-wide>
        <p className={classes.hint}>{t('terminal.stop_text')}</p>
        <div className={classes.buttons}>
          <Button size="xs" variant="default" onClick={() => setAsking(false)}>
            {t('terminal.keep')}
          </Button>
          <VerifiedButton
            call={stopWebTerminal}
            size="xs"
            color="bad"
            loading={busy}
            onClick={() => void stop()}
          >
            {t('terminal.stop')}
          </VerifiedButton>
        </div>
      </div>
    )
  }
  return (
    <div className={classes.row} data-wide>
      <p className={classes.hint}>{t(running ? 'connect.shell_runs' : 'connect.no_shell')}</p>
      <div className={classes.buttons}>
        {running && (
          <Button size="xs" variant="default" onClick={() => setAsking(true)}>
            {t('terminal.stop')}
          </Button>
        )}
        <Button
          component="a"
          size="xs"
          href={`/terminal${stringifySearch({ instance: instanceId })}`}
          target="_blank"
          rel="noopener"
          rightSection={<IconExternalLink size={14} stroke={1.6} />}
        >
          {t('connect.open_terminal')}
        </Button>
      </div>
    </div>
  )
}
