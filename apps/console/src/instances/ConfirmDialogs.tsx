import { restartInstance, stopInstance, terminateInstance } from '@berth/contract/instances'
import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../api/use-change.ts'
import { useOffFor } from '../app/session/use-off-for.ts'
import { ConfirmDialog } from '../ui/ConfirmDialog.tsx'
import { useFormat } from '../ui/format.ts'
import classes from './ConfirmDialogs.module.css'
import { isInTerm } from './in-term.ts'
import type { InstanceDialogProps } from './instance-dialog.ts'
import { useInstanceTexts } from './instance-texts.ts'

/** Asks before an instance stops: what ends, what stays, what that costs (R4.7). */
export function StopDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['instances', 'terms-of-payment'])
  const format = useFormat()
  const stop = useChange(stopInstance)
  const texts = useInstanceTexts()
  const { instance_id, name, kind, currency, stopped_micro_per_day } = instance
  return (
    <ConfirmDialog
      off={useOffFor(stopInstance)}
      opened={opened}
      title={t('confirm.stop.title', { name })}
      confirmLabel={t('actions.stop')}
      onConfirm={() => stop.send({ params: { id: instance_id } })}
      onClose={onClose}
    >
      <div className={classes.text}>
        <p>{t('confirm.stop.text')}</p>
        <p>
          {isInTerm(instance)
            ? t('terms-of-payment:stop', { date: format.weekdayMoment(instance.expiry_time ?? '') })
            : t('confirm.stop.disk', {
                gb: instance.disks.container_gb,
                rate: format.rate(stopped_micro_per_day, currency, 'day', true),
              })}
        </p>
        {kind === 'POD' && !isInTerm(instance) && <p>{texts.kept()}</p>}
      </div>
    </ConfirmDialog>
  )
}

/** Asks before an instance restarts. */
export function RestartDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation('instances')
  const restart = useChange(restartInstance)
  return (
    <ConfirmDialog
      off={useOffFor(restartInstance)}
      opened={opened}
      title={t('confirm.restart.title', { name: instance.name })}
      confirmLabel={t('actions.restart')}
      onConfirm={() => restart.send({ params: { id: instance.instance_id } })}
      onClose={onClose}
    >
      <div className={classes.text}>
        <p>{t('confirm.restart.text')}</p>
      </div>
    </ConfirmDialog>
  )
}

/** Asks before an instance is removed; one that runs is only removed by those who type its name. */
export function TerminateDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['instances', 'terms-of-payment'])
  const terminate = useChange(terminateInstance)
  const [typed, setTyped] = useState('')
  const { instance_id, name } = instance
  // Decided once: a machine that stops meanwhile must not make the question easier under the hand.
  const [mustType] = useState(instance.status === 'running')
  return (
    <ConfirmDialog
      danger
      off={useOffFor(terminateInstance)}
      opened={opened}
      title={t('confirm.terminate.title', { name })}
      confirmLabel={t('actions.terminate')}
      disabled={mustType && typed.trim() !== name}
      onConfirm={() => terminate.send({ params: { id: instance_id } })}
      onClose={() => {
        setTyped('')
        onClose()
      }}
    >
      <div className={classes.text}>
        <p>{t('confirm.terminate.text', { gb: instance.disks.container_gb })}</p>
        {isInTerm(instance) && <p>{t('terms-of-payment:billing.convert')}</p>}
        {mustType && (
          <TextInput
            className={classes.type}
            label={t('confirm.terminate.type', { name })}
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={event => setTyped(event.currentTarget.value)}
          />
        )}
      </div>
    </ConfirmDialog>
  )
}
