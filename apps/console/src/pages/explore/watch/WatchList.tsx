import { cancelOfferWatch, listOfferWatches, type OfferWatch } from '@berth/contract/offer-watches'
import { ActionIcon } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { balanceQuery, queryOf } from '../../../api/queries.ts'
import { useChange } from '../../../api/use-change.ts'
import { readCurrency } from '../../../app/session/session-storage.ts'
import { Card } from '../../../ui/Card.tsx'
import { ConfirmDialog } from '../../../ui/ConfirmDialog.tsx'
import { useFormat } from '../../../ui/format.ts'
import classes from './WatchList.module.css'

/** The gateway looks at what is watched by itself; what came of it is to show soon. */
const REFRESH_MS = 15_000

/** What the customer watches, and what came of it; nothing where there is none (B15). */
export function WatchList() {
  const { t } = useTranslation('watches')
  const { data: watches = [] } = useQuery({
    ...queryOf(listOfferWatches, {}),
    refetchInterval: REFRESH_MS,
  })
  const [going, setGoing] = useState<OfferWatch | null>(null)
  const cancel = useChange(cancelOfferWatch)
  if (watches.length === 0) return null
  return (
    <div className={classes.part}>
      <Card title={t('list')}>
        <ul className={classes.list}>
          {watches.map(watch => (
            <Row key={watch.id} watch={watch} onCancel={() => setGoing(watch)} />
          ))}
        </ul>
      </Card>
      {going && (
        <ConfirmDialog
          opened
          title={t('cancel_title', { name: nameOf(going) })}
          confirmLabel={t('cancel_confirm')}
          onConfirm={() => cancel.send({ params: { id: going.id } })}
          onClose={() => setGoing(null)}
        >
          <p>{t('cancel_note')}</p>
        </ConfirmDialog>
      )}
    </div>
  )
}

function Row({ watch, onCancel }: { watch: OfferWatch; onCancel: () => void }) {
  const { t } = useTranslation('watches')
  const format = useFormat()
  const { data: balance } = useQuery(balanceQuery)
  const currency = balance?.currency ?? readCurrency()
  const { state, held_by, price_max_micro_per_hour: most } = watch
  const what =
    watch.action === 'mail'
      ? t('what.mail')
      : t('what.deploy', {
          instance: watch.instance_name,
          rate: most === null ? '' : format.rate(most, currency, 'h'),
        })
  return (
    <li data-state={state}>
      <div>
        <strong>{nameOf(watch)}</strong>
        <p>
          {what} · {t(`states.${state}`, { date: format.weekdayMoment(watch.until) })}
        </p>
        {state === 'waiting' && held_by !== null && <p className={classes.held}>{t(`holds.${held_by}`)}</p>}
      </div>
      <ActionIcon
        color="gray"
        aria-label={t('cancel', { name: nameOf(watch) })}
        title={t('cancel', { name: nameOf(watch) })}
        onClick={onCancel}
      >
        <IconTrash size={16} stroke={1.6} aria-hidden="true" />
      </ActionIcon>
    </li>
  )
}

function nameOf({ gpu_count, gpu_spec_name, region_name }: OfferWatch): string {
  return `${gpu_count} × ${gpu_spec_name}, ${region_name}`
}
