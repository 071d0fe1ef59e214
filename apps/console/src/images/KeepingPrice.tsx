import { getImagePrice } from '@berth/contract/images'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { useFormat } from '../ui/format.ts'
import classes from './ImageSheet.module.css'

/** What a kept image costs, and from when. */
export function KeepingPrice() {
  const { t } = useTranslation('image-form')
  const format = useFormat()
  const { data } = useQuery({ ...queryOf(getImagePrice, {}), meta: { silent: true } })
  // Keeps the line's height, so that nothing moves when the answer comes.
  return (
    <p className={classes.note}>
      {data
        ? t('create.price', { rate: format.rate(data.micro_per_gb_day, data.currency, 'day', true) })
        : '\u00a0'}
    </p>
  )
}
