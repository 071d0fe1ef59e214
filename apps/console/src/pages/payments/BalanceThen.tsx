import type { Balance } from '@berth/contract/billing'
import { microFromCents, runwaySeconds } from '@berth/contract/money'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'
import classes from './TopupDialog.module.css'

interface BalanceThenProps {
  balance: Balance
  /** What would be added, in cents. */
  addedCents: number
}

/** What the balance becomes by a top-up, and how long it then lasts at what is spent now. */
export function BalanceThen({ balance, addedCents }: BalanceThenProps) {
  const { t } = useTranslation('payments')
  const format = useFormat()
  const { amount, amount_available, amount_free, amount_owed } = balance.account_balance
  const arrives = Math.max(0, addedCents - amount_owed)
  // What is for models alone does not make machines last.
  const lasts = runwaySeconds(
    microFromCents(amount - amount_free + arrives),
    BigInt(balance.burn_micro_per_hour),
  )
  return (
    <p className={classes.then} aria-live="polite">
      <span>
        {t('topup.becomes', { amount: format.cents(amount_available + arrives, balance.currency) })}
      </span>
      {lasts !== null && (
        <span>
          {t('topup.then_lasts', {
            span: format.runway(lasts),
            until: format.weekdayMoment(new Date(Date.now() + lasts * 1_000)),
          })}
        </span>
      )}
    </p>
  )
}
