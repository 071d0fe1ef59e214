import { growVolume, listVolumes, type Volume, type VolumeStatus } from '@berth/contract/volumes'
import {
  IconArrowsMaximize,
  IconCloudUp,
  IconHistory,
  IconInfoCircle,
  IconPencil,
  IconPlugConnected,
  IconPlugConnectedX,
  IconTrash,
} from '@tabler/icons-react'
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
import { VolumeUse } from './VolumeUse.tsx'
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
  s3: IconCloudUp,
  snapshots: IconHistory,
  details: IconInfoCircle,
  grow: IconArrowsMaximize,
  attach: IconPlugConnected,
  detach: IconPlugConnectedX,
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
        width: '17%',
        cell: ({ name, id, size_gb }) => (
          <TwoLines strong first={name} second={t('size_and_id', { gb: format.number(size_gb), id })} />
        ),
      },
      {
        key: 'status',
        narrow: 'under',
        header: t('columns.status'),
        width: '16%',
        cell: volume => (
          <StatusBadge
            look={volume.read_only ? { shape: 'dash', tone: 'warning' } : LOOKS[volume.status]}
            label={t(statusOf(volume))}
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
        key: 'used',
        narrow: null,
        header: t('columns.used'),
        width: '16%',
        cell: volume => <VolumeUse volume={volume} />,
      },
      {
        key: 'attached',
        narrow: null,
        header: t('columns.attached'),
        cell: volume => <Holders volume={volume} />,
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
            primary={primaryOf(volume)}
            menuLabel={t('common:row.menu', { name: volume.name })}
            items={() => itemsOf(volume)}
            onAsk={action => onAsk(action, volume)}
          />
        ),
      },
    ]

    /** What the row needs: more room where it is nearly full, else files; where it has none to show, why. */
    function primaryOf(volume: Volume) {
      const isFull = volume.near_full && reasonOff('grow', volume) === null
      const hasFiles = volume.status === 'ready' || volume.status === 'growing'
      const action: VolumeAction = isFull ? 'grow' : hasFiles ? 's3' : 'details'
      const label = t(`actions.${action}`)
      const said = t('common:row.action', { action: label, name: volume.name })
      return isFull
        ? { action, label, said, call: growVolume, off }
        : { action, label, said, call: listVolumes, off: null }
    }

    function underStatus(volume: Volume): string {
      const { status, reason, wanted_gb, deleted_on, over_since, read_only_on, read_only } = volume
      if (deleted_on !== null) return t('under.deleted_on', { date: format.moment(deleted_on) })
      if (status === 'growing') return t('under.growing', { gb: format.number(wanted_gb) })
      if (over_since !== null && read_only) return t('under.over_read_only')
      if (over_since !== null && read_only_on !== null) {
        return t('under.over_size', { date: format.moment(read_only_on) })
      }
      if (reason !== null) return t(`reason.${reason.code}`)
      return status === 'deleting' ? t('under.deleting') : ''
    }
  }, [t, format, off, onAsk])
}

function statusOf({ unpaid_since, read_only, status }: Volume) {
  if (unpaid_since !== null) return 'status.unpaid' as const
  return read_only ? ('status.read_only' as const) : (`status.${status}` as const)
}

/** Instances that have a volume, each with its path; why none has it. */
export function Holders({ volume }: { volume: Volume }) {
  const { t } = useTranslation('volumes')
  const { attached_to: holders, kind } = volume
  if (holders.length === 0) {
    return (
      <span className={classes.quiet}>{t(kind === 'objects' ? 'attached.objects' : 'attached.none')}</span>
    )
  }
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
