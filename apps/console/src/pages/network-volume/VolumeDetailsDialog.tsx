import type { Volume } from '@berth/contract/volumes'
import { useTranslation } from 'react-i18next'
import { FormDialog } from '../../lists/FormDialog.tsx'
import { CopyText } from '../../ui/CopyText.tsx'
import { useFormat } from '../../ui/format.ts'
import { TechnicalDetail } from '../../ui/TechnicalDetail.tsx'
import classes from './NetworkVolumePage.module.css'
import { VolumeUse } from './VolumeUse.tsx'
import { Holders } from './volume-columns.tsx'

interface VolumeDetailsDialogProps {
  volume: Volume
  opened: boolean
  onClose: () => void
}

/** All that is known of a volume, and what instances on it may rely on. */
export function VolumeDetailsDialog({ volume, opened, onClose }: VolumeDetailsDialogProps) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const { id, name, reason, currency, deleted_on } = volume
  return (
    <FormDialog opened={opened} onClose={onClose} title={name} size={520}>
      <dl className={classes.facts}>
        <div>
          <dt>{t('details.id')}</dt>
          <dd>
            <CopyText mono value={id} label={t('details.id')} />
          </dd>
        </div>
        <div>
          <dt>{t('columns.status')}</dt>
          <dd>{t(`status.${volume.status}`)}</dd>
        </div>
        <div>
          <dt>{t('fields.size')}</dt>
          <dd>{format.number(volume.size_gb)} GB</dd>
        </div>
        <div>
          <dt>{t('columns.used')}</dt>
          <dd>
            <VolumeUse volume={volume} />
          </dd>
        </div>
        <div>
          <dt>{t('details.measured')}</dt>
          <dd>{volume.measured_at === null ? t('used.not_measured') : format.moment(volume.measured_at)}</dd>
        </div>
        <div>
          <dt>{t('fields.region')}</dt>
          <dd>{volume.region_name}</dd>
        </div>
        <div>
          <dt>{t('details.created')}</dt>
          <dd>{format.moment(volume.created_at)}</dd>
        </div>
        <div>
          <dt>{t('details.a_day')}</dt>
          <dd>{format.rate(volume.micro_per_day, currency, 'day', true)}</dd>
        </div>
        <div>
          <dt>{t('details.cost')}</dt>
          <dd>{format.money(volume.cost_micro, currency)}</dd>
        </div>
        <div>
          <dt>{t('columns.attached')}</dt>
          <dd>
            <Holders volume={volume} />
          </dd>
        </div>
      </dl>
      {deleted_on !== null && (
        <p className={classes.warned}>{t('details.unpaid', { date: format.moment(deleted_on) })}</p>
      )}
      {volume.measure_trouble !== null && (
        <p className={classes.note}>{t(`measure_trouble.${volume.measure_trouble}`)}</p>
      )}
      {volume.over_since !== null && volume.read_only_on !== null && (
        <p className={classes.warned}>
          {t(volume.read_only ? 'details.over_read_only' : 'details.over_size', {
            date: format.moment(volume.read_only_on),
          })}
        </p>
      )}
      {reason && <p className={classes.warned}>{t(`reason.${reason.code}`)}</p>}
      {reason && <TechnicalDetail lines={[reason.detail]} />}
      <p className={classes.note}>
        {volume.kind === 'objects'
          ? t('sharing.objects')
          : t(volume.shared ? 'sharing.shared' : 'sharing.one')}
        {!volume.size_enforced && ` ${t('size_not_enforced')}`}
      </p>
    </FormDialog>
  )
}
