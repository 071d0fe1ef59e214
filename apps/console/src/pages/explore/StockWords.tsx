import { useTranslation } from 'react-i18next'
import type { StockLevel } from '../../offers/offers.ts'
import classes from './StockWords.module.css'

/** Stock in words, and in a colour that says no more than they do. */
export function StockWords({ level, count }: { level: StockLevel; count: number }) {
  const { t } = useTranslation('explore')
  return (
    <span className={classes.stock} data-level={level}>
      {t(`stock.${level}`, { count })}
    </span>
  )
}
