import { listVolumes, type Volume, type VolumeStatus } from '@berth/contract/volumes'
import { IconArrowsMaximize, IconInfoCircle, IconPencil, IconTrash } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { searchOf } from '../../app/search.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { RowActions } from '../../lists/RowActions.tsx'
import type { RowActionItem } from '../../lists/row-action.ts'
import { useFormat } from '../../ui/format.ts'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import { StatusBadge, type StatusLook } from '../../ui/StatusBadge.tsx'
import classes from './NetworkVolumePage.module.css'
import { CALLS_BEHIND, reasonOff, VOLUME_ACTIONS, type VolumeAction } from './volume-actions.ts'

/** Total over the statuses: a new one does not compile until it has a look. */
const LOOKS: Record<VolumeStatus, StatusLook> = {
  creating: { shape: 'spinner', tone: 'info' },
  ready: { shape: 'dot', tone: 'good' },
  growing: { shape: 'spinner', tone: 'info' },
  deleting: { shape: 'spinner', tone: 'quiet' },
  error: { shape: 'cross', tone: 'bad' },
}

const ICONS: Record<VolumeAction, RowActionItem<VolumeAction>['icon']> = {
  details: IconInfoCircle,
  grow: IconArrowsMaximize,
  rename: IconPencil,
  delete: IconTrash,
}

/** A month is thirty days, as the price call says. */
const DAYS_PER_MONTH = 30n

/**
 * The columns of the list of volumes: what it is, how it does, who has it, what it costs, what can be done with it.
 * @param onAsk Asks for an action; its dialog opens.
 */
export function useVolumeColumns(
  onAsk: (action: VolumeAction, volume: Volume) => void,
): readonly Column<Volume>[] {
  const { t } = useTranslation(['volumes', 'common'])
  const format = useFormat()
  const off = useOffFor({ audience: 'verified' })
  return useMemo(() => {
    const itemsOf = (volume: Volume): readonly RowActionItem<VolumeAction>[] =>
      VOLUME_ACTIONS.map(action => {
        const reason = reasonOff(action, volume)
        const isOff = CALLS_BEHIND[action] !== null && off !== null
        return {
          action,
          label: t(`actions.${action}`),
          icon: ICONS[action],
          reason: isOff ? off : reason && t(`off.${reason}`),
          danger: action === 'delete',
        }
      })
    return [
      {
        key: 'volume',
        narrow: 'whole',
        header: t('columns.volume'),
        width: '20%',
        cell: ({ name, id, size_gb }) => (
          <TwoLines strong first={name} second={t('size_and_id', { gb: format.number(size_gb), id })} />
        ),
      },
      {
        key: 'status',
        narrow: 'under',
        header: t('columns.status'),
        width: '20%',
        cell: volume => (
          <StatusBadge
            look={volume.unpaid_since === null ? LOOKS[volume.status] : { shape: 'dash', tone: 'warning' }}
            label={t(volume.unpaid_since === null ? `status.${volume.status}` : 'status.unpaid')}
            reason={underStatus(volume)}
          />
        ),
      },
      {
        key: 'region',
        narrow: null,
        header: t('columns.region'),
        wideOnly: true,
        cell: ({ region_name, created_at }) => (
          <TwoLines first={region_name} second={t('since', { date: format.date(created_at) })} />
        ),
      },
      {
        key: 'attached',
        narrow: null,
        header: t('columns.attached'),
        cell: ({ attached_to }) => <Holders holders={attached_to} none={t('attached.none')} />,
      },
      {
        key: 'price',
        narrow: 'end',
        header: t('columns.price'),
        width: '15%',
        align: 'end',
        cell: ({ micro_per_day, currency }) => (
          <TwoLines
            first={t('per_month', {
              amount: format.money(BigInt(micro_per_day) * DAYS_PER_MONTH, currency),
            })}
            second={
              micro_per_day === '0' ? t('not_billed') : format.rate(micro_per_day, currency, 'day', true)
            }
          />
        ),
      },
      {
        key: 'actions',
        narrow: 'actions',
        header: '',
        said: t('columns.actions'),
        align: 'end',
        width: '14rem',
        cell: volume => (
          <RowActions
            rowKey={volume.id}
            primary={{
              action: 'details',
              label: t('actions.details'),
              said: t('common:row.action', { action: t('actions.details'), name: volume.name }),
              call: listVolumes,
              off: null,
            }}
            menuLabel={t('common:row.menu', { name: volume.name })}
            items={() => itemsOf(volume)}
            onAsk={action => onAsk(action, volume)}
          />
        ),
      },
    ]

    function underStatus({ status, reason, wanted_gb, deleted_on }: Volume): string {
      if (deleted_on !== null) return t('under.deleted_on', { date: format.moment(deleted_on) })
      if (status === 'growing') return t('under.growing', { gb: format.number(wanted_gb) })
      if (reason !== null) return t(`reason.${reason.code}`)
      return status === 'deleting' ? t('under.deleting') : ''
    }
  }, [t, format, off, onAsk])
}

/** Instances that have a volume, each with its path; a dot for those that run. */
export function Holders({ holders, none }: { holders: Volume['attached_to']; none: string }) {
  if (holders.length === 0) return <span className={classes.quiet}>{none}</span>
  return (
    <ul className={classes.holders}>
      {holders.map(({ instance_id, name, path }) => (
        <li key={instance_id} className={classes.holder}>
          <Link to="/instance" search={searchOf({ id: instance_id })}>
            {name}
          </Link>
          <span className={`mono ${classes.path}`}>{path}</span>
        </li>
      ))}
    </ul>
  )
}
