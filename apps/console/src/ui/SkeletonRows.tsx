import { Skeleton } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import classes from './SkeletonRows.module.css'

const WIDTHS = ['22%', '14%', '20%', '18%'] as const

/** Two-line rows that are not there yet, at the height that they will have. */
export function SkeletonRows({ rows = 5 }: { rows?: number }) {
  const { t } = useTranslation('common')
  return (
    <div className={classes.rows} role="status">
      <span className="said">{t('loading')}</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows have no identity, and never move.
        <div key={row} className={classes.row} aria-hidden="true">
          {WIDTHS.map(width => (
            <span key={width} className={classes.cell}>
              <Skeleton height={12} width={width === '14%' ? '60%' : '80%'} radius="sm" />
              <Skeleton height={10} width="50%" radius="sm" />
            </span>
          ))}
        </div>
      ))}
    </div>
  )
}
