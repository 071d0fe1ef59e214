import { type CreditLot, listCredits } from '@berth/contract/credits'
import { centsFloor } from '@berth/contract/money'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { Answer } from '../../../ui/Answer.tsx'
import { Card } from '../../../ui/Card.tsx'
import { useFormat } from '../../../ui/format.ts'
import { REFRESH_MS } from '../refresh.ts'
import classes from './CreditsCard.module.css'
import { RedeemForm } from './RedeemForm.tsx'

/** Lots that the card shows: those that are there come first, in the order in which they are spent. */
const LOTS_SHOWN = 10

/** What was given, what of it is left and when it ends, and where a coupon is redeemed (R3.8). */
export function CreditsCard() {
  const { t } = useTranslation('coupons')
  const format = useFormat()
  const query = useQuery({
    ...queryOf(listCredits, { query: { page_size: LOTS_SHOWN } }),
    refetchInterval: REFRESH_MS,
  })
  // As the balance says it: nothing shows that is not there.
  const left = query.data && format.cents(centsFloor(BigInt(query.data.left_micro)), query.data.currency)
  return (
    <Card title={t('title')} aside={left && <span className="tabular">{t('left', { amount: left })}</span>}>
      <div className={classes.parts}>
        <RedeemForm />
        <Answer query={query} data={query.data} rows={2}>
          {({ items, total }) =>
            items.length === 0 ? (
              <p className={classes.note}>{t('none')}</p>
            ) : (
              <>
                <ul className={classes.lots}>
                  {items.map(lot => (
                    <LotRow key={lot.id} lot={lot} />
                  ))}
                </ul>
                <p className={classes.note}>
                  {t('order')} {total > items.length && t('more', { count: total - items.length })}
                </p>
              </>
            )
          }
        </Answer>
      </div>
    </Card>
  )
}

function LotRow({ lot }: { lot: CreditLot }) {
  const { t } = useTranslation('coupons')
  const format = useFormat()
  const money = (micro: string) => format.money(micro, lot.currency)
  const left = format.cents(centsFloor(BigInt(lot.left_micro)), lot.currency)
  const date = lot.expiration_date === null ? null : format.moment(lot.expiration_date)
  const said = {
    active: () => [
      t('lot.left', { left, amount: money(lot.amount_micro) }),
      ...(lot.models_only ? [t('lot.models_only')] : []),
      date === null ? t('lot.endless') : t('lot.until', { date }),
    ],
    used: () => [t('lot.used', { amount: money(lot.amount_micro) })],
    expired: () => [
      t('lot.expired', { date: date ?? '' }),
      t('lot.of_it_used', { amount: money(lot.used_micro) }),
    ],
  }
  return (
    <li className={classes.lot} data-status={lot.status}>
      <span className={classes.name}>{lot.kind === 'coupon' ? lot.reason : t(`kinds.${lot.kind}`)}</span>
      <span className={`${classes.rest} tabular`}>{said[lot.status]().join(', ')}</span>
    </li>
  )
}
