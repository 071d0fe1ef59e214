import type { Call } from '@berth/contract/call'
import { Button, CloseButton } from '@mantine/core'
import type { Icon } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import classes from './BulkBar.module.css'
import type { BulkRun } from './bulk-run.ts'

/** Something that can be done to a selection. */
export interface BulkAction<Action extends string> {
  action: Action
  /** A verb. */
  label: string
  icon: Icon
  call: Call
  /** To how many of the selected it can be done. */
  count: number
  /** Why it can be done to none of them; null where it can. */
  reason: string | null
  danger?: boolean
}

interface BulkBarProps<Action extends string> {
  /** How many are selected. */
  selected: number
  /** How many of them the filters hide. */
  hidden: number
  actions: readonly BulkAction<Action>[]
  onAsk: (action: Action) => void
  onClear: () => void
  /** What is under way, or was last. */
  run: BulkRun<Action> | null
  /** Opens the dialog that tells of it. */
  onShowRun: () => void
}

/** What can be done to the rows that are selected, with how many of them each applies to; and how far what was begun is. */
export function BulkBar<Action extends string>(props: BulkBarProps<Action>) {
  const { selected, hidden, actions, onAsk, onClear, run, onShowRun } = props
  const { t } = useTranslation('bulk')
  const isUnderWay = run !== null && !run.isOver
  return (
    <section className={classes.bar} aria-label={t('bar')} data-foot-bar>
      <p className={classes.count} role="status">
        {isUnderWay
          ? t('far', { number: run.done + run.failed, of: run.items.length })
          : t('selected', { count: selected })}
        {!isUnderWay && hidden > 0 && (
          <span className={classes.hidden}>{t('hidden', { count: hidden })}</span>
        )}
      </p>
      <div className={classes.actions}>
        {run !== null && (isUnderWay || run.failed > 0) && (
          <Button size="xs" variant="default" onClick={onShowRun}>
            {isUnderWay ? t('show') : t('why', { count: run.failed })}
          </Button>
        )}
        {!isUnderWay &&
          actions.map(({ action, label, icon: ActionIcon, call, count, reason, danger = false }) => (
            <VerifiedButton
              key={action}
              call={call}
              size="xs"
              variant="default"
              className={classes.action ?? ''}
              data-danger={(danger && reason === null) || undefined}
              leftSection={<ActionIcon size={16} stroke={1.6} />}
              aria-label={t('action', { action: label, count, selected })}
              reason={reason}
              onClick={() => onAsk(action)}
            >
              {label}
              <span className={classes.number}>{count}</span>
            </VerifiedButton>
          ))}
      </div>
      {!isUnderWay && (
        <CloseButton
          className={classes.clear ?? ''}
          aria-label={t('clear')}
          title={t('clear')}
          onClick={onClear}
        />
      )}
    </section>
  )
}
