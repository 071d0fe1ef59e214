import type { Transaction } from '@berth/contract/billing'
import { useTranslation } from 'react-i18next'
import { Money } from '../ui/Money.tsx'
import classes from './TransactionAmount.module.css'
import { amountSoFar } from './transaction-text.ts'

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
  const onItsWay = row.type === 'topup' && row.status === 'pending'
  return <Money micro={amountSoFar(row)} currency={row.currency} signed={!onItsWay} exact={exact} />
}
