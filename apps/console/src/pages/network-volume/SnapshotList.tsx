import { restoreSnapshot, type Snapshot, type SnapshotStatus } from '@berth/contract/volume-snapshots'
import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { useFormat } from '../../ui/format.ts'
import { StatusBadge, type StatusLook } from '../../ui/StatusBadge.tsx'
import { TechnicalDetail } from '../../ui/TechnicalDetail.tsx'
import classes from './Snapshots.module.css'

/** What is asked about one of them. */
export interface SnapshotAsked {
  action: 'restore' | 'delete'
  snapshot: Snapshot
}

/** Total over the statuses: a new one does not compile until it has a look. */
const LOOKS: Record<SnapshotStatus, StatusLook> = {
  making: { shape: 'spinner', tone: 'info' },
  ready: { shape: 'dot', tone: 'good' },
  failed: { shape: 'cross', tone: 'bad' },
  deleting: { shape: 'spinner', tone: 'quiet' },
}

/** When a snapshot is of: the moment at which it began to be copied, else that at which it was asked for. */
export const momentOf = ({ taken_at, created_at }: Pick<Snapshot, 'taken_at' | 'created_at'>): string =>
  taken_at ?? created_at

interface SnapshotListProps {
  snapshots: readonly Snapshot[]
  onAsk: (asked: SnapshotAsked) => void
}

/** Snapshots, the newest first: when, how much, by whom, how it does. */
export function SnapshotList({ snapshots, onAsk }: SnapshotListProps) {
  const { t } = useTranslation('volumes')
  if (snapshots.length === 0) return <p className={classes.none}>{t('snapshots.none')}</p>
  return (
    <ul className={classes.list} aria-label={t('snapshots.label')}>
      {snapshots.map(snapshot => (
        <SnapshotItem key={snapshot.id} snapshot={snapshot} onAsk={onAsk} />
      ))}
    </ul>
  )
}

function SnapshotItem({ snapshot, onAsk }: { snapshot: Snapshot } & Pick<SnapshotListProps, 'onAsk'>) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const { status, reason, made_by, in_use, size_gb, micro_per_day, currency } = snapshot
  const when = format.moment(momentOf(snapshot))
  const parts = [
    t(`snapshots.by.${made_by}`),
    ...(status === 'ready' && size_gb !== null
      ? [
          t('snapshots.holds', {
            gb: format.number(size_gb),
            rate: format.rate(micro_per_day, currency, 'day', true),
          }),
        ]
      : []),
    ...(in_use ? [t('snapshots.in_use')] : []),
  ]
  return (
    <li className={classes.item}>
      <div className={classes.words}>
        <strong>{when}</strong>
        <span className={classes.quiet}>{parts.join(' · ')}</span>
        {reason && <TechnicalDetail lines={[reason.detail]} />}
      </div>
      <StatusBadge
        look={LOOKS[status]}
        label={t(`snapshots.status.${status}`)}
        reason={reason && t(`snapshots.reason.${reason.code}`)}
      />
      <span className={classes.buttons}>
        {status === 'ready' && (
          <VerifiedButton
            call={restoreSnapshot}
            variant="default"
            size="xs"
            aria-label={t('snapshots.restore_named', { when })}
            onClick={() => onAsk({ action: 'restore', snapshot })}
          >
            {t('snapshots.restore')}
          </VerifiedButton>
        )}
        {status !== 'deleting' && (
          <Button
            variant="default"
            size="xs"
            aria-label={t('snapshots.delete_named', { when })}
            onClick={() => onAsk({ action: 'delete', snapshot })}
          >
            {t('snapshots.delete')}
          </Button>
        )}
      </span>
    </li>
  )
}
