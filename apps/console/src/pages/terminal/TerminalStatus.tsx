import type { TerminalEnd } from '@berth/contract/terminal'
import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './TerminalPage.module.css'
import type { TerminalState } from './terminal-session.ts'

/** Ends after which connecting again cannot work yet, or would only be refused again. */
const HOPELESS: readonly TerminalEnd[] = ['instance_stopped', 'signed_out']

/** Ends of those who were let into no shell, beside which the serial console goes on. */
const GUEST_CLOSED: readonly TerminalEnd[] = ['guest_closed', 'guest_refused']

interface TerminalStatusProps {
  state: TerminalState
  /** Whether it is the serial console. */
  isSerial: boolean
  /** Shows the serial console in its place. */
  onSerial: () => void
  onConnect: () => void
}

/** Under the terminal, when there is something to say: why it does not answer, and what can be done. */
export function TerminalStatus({ state, isSerial, onSerial, onConnect }: TerminalStatusProps) {
  const { t } = useTranslation('instances')
  const isWithoutShell = state.kind === 'ended' && GUEST_CLOSED.includes(state.reason)
  const seconds = useSecondsUntil(state.kind === 'waiting' ? state.retryAt : null)
  return (
    <div className={classes.status} role="status" data-shown={words() !== null || undefined}>
      {words() !== null && (
        <>
          {/* The count is not announced: it would be each second. */}
          <span>{words()}</span>
          {state.kind === 'waiting' && (
            <span className={classes.count} aria-hidden="true">
              {t('terminal.retry_in', { seconds })}
            </span>
          )}
          <span className={classes.actions}>
            {isWithoutShell && (
              <Button size="xs" onClick={onSerial}>
                {t('terminal.open_serial')}
              </Button>
            )}
            {action() !== null && (
              <Button size="xs" variant="default" onClick={onConnect}>
                {action()}
              </Button>
            )}
          </span>
        </>
      )}
    </div>
  )

  function words(): string | null {
    switch (state.kind) {
      case 'waiting':
        return t('terminal.lost')
      case 'refused':
        return state.message
      case 'ended':
        if (state.reason === 'shell_exited' && state.exitCode !== null) {
          return t('terminal.end.shell_exited_code', { code: state.exitCode })
        }
        return t(`terminal.end.${state.reason}`)
      default:
        return null
    }
  }

  function action(): string | null {
    if (state.kind === 'waiting') return t('terminal.try_now')
    if (state.kind === 'refused') return t('terminal.try_again')
    if (state.kind === 'ended' && !HOPELESS.includes(state.reason)) {
      const isTriedAgain = isSerial || state.reason === 'too_many_sockets' || isWithoutShell
      return t(isTriedAgain ? 'terminal.try_again' : 'terminal.new_shell')
    }
    return null
  }
}

/** Whole seconds until a moment; 0 without one and after it. */
function useSecondsUntil(moment: number | null): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (moment === null) return
    setNow(Date.now())
    const timer = setInterval(() => setNow(Date.now()), 250)
    return () => clearInterval(timer)
  }, [moment])
  return moment === null ? 0 : Math.max(0, Math.ceil((moment - now) / 1_000))
}
