import { VOLUME_GB_MAX, VOLUME_GB_MIN } from '@berth/contract/limits'
import { getVolumePrice, type VolumePrice } from '@berth/contract/volumes'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { Answer } from '../../ui/Answer.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './NetworkVolumePage.module.css'

/** Typing settles before it is priced. */
const SETTLE_MS = 200

/**
 * What a volume of a size would cost, asked for as it is typed.
 * @param typed As the field holds it; what is no size is not asked for, and the last answer stays.
 * @param id Of the volume that is to have it.
 */
export function useVolumePrice(typed: number | string, id?: string) {
  const size = Number(typed)
  const fits = Number.isInteger(size) && size >= VOLUME_GB_MIN && size <= VOLUME_GB_MAX
  const [asked] = useDebouncedValue(fits ? size : null, SETTLE_MS)
  return useQuery({
    ...queryOf(getVolumePrice, { query: { ...(asked !== null && { size_gb: asked }), ...(id && { id }) } }),
    placeholderData: keepPreviousData,
  })
}

/** The price of a size, by day and month, before and after, and how long the balance lasts then. */
export function VolumePriceNote({ query }: { query: ReturnType<typeof useVolumePrice> }) {
  const { t } = useTranslation('volumes')
  return (
    <section className={classes.price} aria-label={t('price.label')}>
      <Answer query={query} data={query.data} rows={2}>
        {price => <PriceLines price={price} />}
      </Answer>
    </section>
  )
}

function PriceLines({ price }: { price: VolumePrice }) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const { currency, now_micro_per_day, lasts_seconds } = price
  const rate = (micro: string) => format.rate(micro, currency, 'day', true)
  return (
    <dl className={classes.facts}>
      <div>
        <dt>{t('price.of', { gb: format.number(price.size_gb) })}</dt>
        <dd>
          <strong>{t('per_month', { amount: format.money(price.micro_per_month, currency) })}</strong>
        </dd>
      </div>
      <div>
        <dt>{t('price.a_day', { rate: format.exactMoney(price.micro_per_gb_day, currency) })}</dt>
        <dd>{rate(price.micro_per_day)}</dd>
      </div>
      {now_micro_per_day !== null && (
        <div>
          <dt>{t('price.now')}</dt>
          <dd>{rate(now_micro_per_day)}</dd>
        </div>
      )}
      <div>
        <dt>{t('price.reserve')}</dt>
        <dd>{format.cents(price.reserve_cents, currency)}</dd>
      </div>
      {lasts_seconds !== null && (
        <div>
          <dt>{t('price.lasts')}</dt>
          <dd>{format.duration(lasts_seconds)}</dd>
        </div>
      )}
    </dl>
  )
}
