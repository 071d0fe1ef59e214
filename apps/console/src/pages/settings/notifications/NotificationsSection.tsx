import { ALERT_HOURS_CHOICES } from '@berth/contract/limits'
import {
  getNotifications,
  NOTICE_KINDS,
  type NotificationChoice,
  setNotifications,
} from '@berth/contract/notifications'
import { Button, Checkbox, Switch } from '@mantine/core'
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { useSession } from '../../../app/session/session.ts'
import { ErrorState } from '../../../ui/ErrorState.tsx'
import { useFormat } from '../../../ui/format.ts'
import { SkeletonRows } from '../../../ui/SkeletonRows.tsx'
import { SectionCard } from '../SectionCard.tsx'
import { createChoiceSaver, type SaverState } from './choice-saver.ts'
import classes from './NotificationsSection.module.css'

/** Mails that guard the account: no switch turns them off. */
const ALWAYS_SENT = ['activation', 'password', 'linked', 'deleted'] as const

/** Which mails the customer wants (B4); kept with every switch that is turned. */
export function NotificationsSection() {
  const { t } = useTranslation('settings')
  const { user } = useSession()
  const { data, error, refetch } = useQuery(queryOf(getNotifications, {}))
  const lead = t('notifications.lead', { email: user?.email ?? '' })
  if (data) return <Choice kept={data} lead={lead} />
  return (
    <SectionCard kind="rows" title={t('notifications.title')} lead={lead}>
      {error ? (
        <ErrorState message={error.message} requestId={error.requestId} onRetry={() => void refetch()} />
      ) : (
        <SkeletonRows rows={5} />
      )}
    </SectionCard>
  )
}

function Choice({ kept, lead }: { kept: NotificationChoice; lead: string }) {
  const { t } = useTranslation('settings')
  const [choice, change, state, retry] = useChoice(kept)
  const { mails, alert_hours } = choice
  return (
    <>
      <SectionCard
        kind="rows"
        title={t('notifications.title')}
        lead={lead}
        aside={<SaveState state={state} onRetry={retry} />}
      >
        <ul className={classes.rows}>
          {NOTICE_KINDS.map(kind => (
            <li key={kind}>
              <Switch
                labelPosition="left"
                withThumbIndicator={false}
                label={t(`notifications.kinds.${kind}.title`)}
                description={t(`notifications.kinds.${kind}.text`)}
                checked={mails[kind]}
                onChange={event =>
                  change({ ...choice, mails: { ...mails, [kind]: event.currentTarget.checked } })
                }
                classNames={SWITCH_CLASSES}
              />
              {kind === 'balance_low' && (
                <AlertHours
                  hours={alert_hours}
                  off={!mails.balance_low}
                  onChange={hours => change({ ...choice, alert_hours: hours })}
                />
              )}
            </li>
          ))}
        </ul>
      </SectionCard>
      <SectionCard kind="rows" title={t('notifications.always.title')} lead={t('notifications.always.lead')}>
        <ul className={classes.rows}>
          {ALWAYS_SENT.map(kind => (
            <li key={kind} className={classes.always}>
              {t(`notifications.always.${kind}`)}
            </li>
          ))}
        </ul>
      </SectionCard>
    </>
  )
}

const SWITCH_CLASSES = { body: classes.switch ?? '', labelWrapper: classes.words ?? '' }

interface AlertHoursProps {
  hours: NotificationChoice['alert_hours']
  /** The mail is switched off as a whole; what is chosen stays for when it is switched on again. */
  off: boolean
  onChange: (hours: NotificationChoice['alert_hours']) => void
}

/** At how many hours left the warning about the balance is sent. */
function AlertHours({ hours, off, onChange }: AlertHoursProps) {
  const { t } = useTranslation('settings')
  const format = useFormat()
  return (
    <fieldset className={classes.hours} disabled={off}>
      <legend className={classes.legend}>{t('notifications.hours.label')}</legend>
      <div className={classes.choices}>
        {ALERT_HOURS_CHOICES.map(hour => (
          <Checkbox
            key={hour}
            label={format.runway(hour * 3_600)}
            disabled={off}
            checked={hours.includes(hour)}
            onChange={event =>
              onChange(
                ALERT_HOURS_CHOICES.filter(other =>
                  other === hour ? event.currentTarget.checked : hours.includes(other),
                ),
              )
            }
          />
        ))}
      </div>
      {!off && hours.length === 0 && <p className={classes.none}>{t('notifications.hours.none')}</p>}
    </fieldset>
  )
}

/** Whether what is on the screen is kept; said to screen readers too. */
function SaveState({ state, onRetry }: { state: SaverState; onRetry: () => void }) {
  const { t } = useTranslation('settings')
  if (state.step === 'failed') {
    return (
      <div className={classes.failed} role="alert">
        <IconAlertTriangle size={16} stroke={1.6} aria-hidden="true" />
        <span>{t('notifications.failed', { why: state.error.message })}</span>
        <Button size="xs" variant="default" onClick={onRetry}>
          {t('notifications.retry')}
        </Button>
      </div>
    )
  }
  return (
    <p className={classes.state} role="status" data-step={state.step}>
      {state.step === 'saved' && <IconCheck size={16} stroke={1.6} aria-hidden="true" />}
      {state.step !== 'idle' && t(`notifications.${state.step}`)}
    </p>
  )
}

/**
 * The choice as it stands on the screen, and how far it is kept. From the first change on it is the customer's
 * own: a refresh behind it must not turn switches by itself.
 */
function useChoice(
  kept: NotificationChoice,
): [NotificationChoice, (next: NotificationChoice) => void, SaverState, () => void] {
  const { send } = useChange(setNotifications, { silent: true, behind: true })
  const [own, setOwn] = useState<NotificationChoice | null>(null)
  const [state, setState] = useState<SaverState>({ step: 'idle' })
  const [saver] = useState(() =>
    createChoiceSaver({
      send: next => send({ body: next }),
      onState: setState,
    }),
  )
  const change = (next: NotificationChoice) => {
    setOwn(next)
    saver.save(next)
  }
  return [own ?? kept, change, state, saver.retry]
}
