import { topup } from '@berth/contract/billing'
import { Button, Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { balanceQuery, oldSince } from '../../api/queries.ts'
import { useFormat } from '../../ui/format.ts'
import { paymentsOfPage } from '../../ui/payments-of-page.ts'
import { searchOf } from '../search.ts'
import { useOffFor } from '../session/use-off-for.ts'
import { VerifiedButton } from '../session/VerifiedButton.tsx'
import classes from './BalanceChip.module.css'

/** Below this the time that is left is a warning. */
const SHORT_S = 6 * 3_600

/**
 * What can be spent, how long it lasts, and the way to more where there is one (R2.13, R9.2). Unknown is a dash,
 * never a zero, and what is not of now says of when it is.
 */
export function BalanceChip() {
  const { t } = useTranslation('common')
  const format = useFormat()
  const query = useQuery(balanceQuery)
  const { data, isPending } = query
  const old = oldSince(query)
  const lasts = data?.lasts_seconds ?? null
  return (
    <div className={classes.chip} data-old={old !== null || undefined}>
      {/* biome-ignore lint/a11y/useSemanticElements: a group of a figure and a link is no field set. */}
      <span className={classes.figures} role="group" aria-label={t('balance.label')}>
        {data ? (
          <strong className={classes.amount}>
            {format.cents(data.account_balance.amount_available, data.currency)}
          </strong>
        ) : isPending ? (
          <Skeleton width={52} height={14} />
        ) : (
          <span title={t('balance.unknown')}>–</span>
        )}
        {old !== null && (
          <span className={classes.lasts}>{t('balance.as_of', { time: format.moment(new Date(old)) })}</span>
        )}
        {old === null && lasts !== null && (
          <span className={classes.lasts} data-short={lasts < SHORT_S || undefined}>
            {t('balance.lasts', { span: format.runway(lasts) })}
          </span>
        )}
      </span>
      {paymentsOfPage() !== 'none' && <TopUp />}
    </div>
  )
}

function TopUp() {
  const { t } = useTranslation('common')
  const off = useOffFor(topup)
  if (off !== null) {
    return (
      <VerifiedButton call={topup} size="xs" className={classes.button}>
        {t('balance.top_up')}
      </VerifiedButton>
    )
  }
  return (
    <Button
      component={Link}
      to="/payments"
      search={searchOf({ topup: 'open' })}
      size="xs"
      className={classes.button}
    >
      {t('balance.top_up')}
    </Button>
  )
}
