import { Button, Progress } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import type { Outcome } from '../api/change-many.ts'
import dialog from '../ui/ConfirmDialog.module.css'
import classes from './BulkDialog.module.css'
import type { BulkItem, BulkRun } from './bulk-run.ts'

/** Rows that are drawn: those that failed come first, then what is under way. */
const ROWS_SHOWN_MAX = 200
const FIRST: Record<Outcome['state'], number> = { failed: 0, left: 1, sent: 2, waiting: 3, done: 4 }
const WAITING: Outcome = { state: 'waiting' }

interface BulkProgressProps {
  run: BulkRun<string>
  /** What is said of one for which it was done: `Stopping`. */
  doneLabel: string
  onCallOff: () => void
  /** Again for those that failed or were never sent. */
  onRetry: () => void
  onClose: () => void
}

/** How far something is that is done to many things, and what came of it for each. */
export function BulkProgress({ run, doneLabel, onCallOff, onRetry, onClose }: BulkProgressProps) {
  const { t } = useTranslation(['bulk', 'common'])
  const { items, outcomes, done, failed, isOver } = run
  const close = useRef<HTMLButtonElement>(null)
  // The button that was pressed is gone.
  useEffect(() => close.current?.focus({ preventScroll: true }), [])
  const outcomeOf = ({ key }: BulkItem) => outcomes.get(key) ?? WAITING
  const ordered = items.toSorted((one, other) => FIRST[outcomeOf(one).state] - FIRST[outcomeOf(other).state])
  const more = items.length - ROWS_SHOWN_MAX
  const far = t('far', { number: done + failed, of: items.length })
  const words = (outcome: Outcome) => {
    if (outcome.state === 'failed') return outcome.message
    return outcome.state === 'done' ? doneLabel : t(`state.${outcome.state}`)
  }
  return (
    <>
      <div className={`${dialog.body} ${classes.body}`}>
        <Progress.Root size="sm">
          <Progress.Section
            value={((done + failed) / items.length) * 100}
            color={failed > 0 ? 'bad' : 'accent'}
            aria-label={t('progress')}
            aria-valuetext={far}
          />
        </Progress.Root>
        <p>{far}</p>
        <p role="status" className={isOver ? '' : 'said'}>
          {isOver && (failed > 0 ? t('some_failed', { count: failed }) : t('none_failed', { count: done }))}
        </p>
        <section
          className={classes.names}
          aria-label={t('outcomes')}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll what has the focus
          tabIndex={0}
        >
          <ul>
            {ordered.slice(0, ROWS_SHOWN_MAX).map(item => (
              <li key={item.key} data-state={outcomeOf(item).state}>
                <span className={classes.name}>{item.name}</span>
                <span className={classes.second}>{words(outcomeOf(item))}</span>
              </li>
            ))}
            {more > 0 && <li className={classes.second}>{t('more', { count: more })}</li>}
          </ul>
        </section>
      </div>
      <div className={dialog.buttons}>
        <Button ref={close} variant="default" onClick={onClose}>
          {isOver ? t('common:dialog.close') : t('go_on_behind')}
        </Button>
        {!isOver && (
          <Button variant="default" onClick={onCallOff}>
            {t('call_off')}
          </Button>
        )}
        {isOver && failed > 0 && (
          <Button variant="filled" onClick={onRetry}>
            {t('retry', { count: failed })}
          </Button>
        )}
      </div>
    </>
  )
}
