import type { Transaction } from '@berth/contract/billing'
import { useTranslation } from 'react-i18next'
import { Money } from '../ui/Money.tsx'
import classes from './TransactionAmount.module.css'
import { amountSoFar } from './transaction-text.ts'

/** A list shows four decimals. */
const ROUNDED_MICRO = 100n

interface TransactionAmountProps {
  row: Transaction
  /** Shows all that the ledger holds of it, as a receipt must. */
  exact?: boolean
}

/** What a transaction comes to, or that nothing came of it. Money that is still on its way is not shown as come in. */
export function TransactionAmount({ row, exact = false }: TransactionAmountProps) {
  const { t } = useTranslation('payments')
  if (row.status === 'failed') {
    return (
      <span className={classes.failed}>
        {t(
          row.type === 'refund'
            ? `transactions.${row.about.refund_reason ?? 'refund'}_failed`
            : 'transactions.failed',
        )}
      </span>
    )
  }
  const micro = amountSoFar(row)
  // Of what is less than a list rounds to, all of it is said.
  const isTiny = BigInt(micro) !== 0n && BigInt(micro) > -ROUNDED_MICRO && BigInt(micro) < ROUNDED_MICRO
  const onItsWay = row.type === 'topup' && row.status === 'pending'
  return <Money micro={micro} currency={row.currency} signed={!onItsWay} exact={exact || isTiny} />
}
