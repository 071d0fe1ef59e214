import { spendableCents } from '@berth/contract/billing'
import { deployInstance } from '@berth/contract/instances'
import { CURRENCIES } from '@berth/contract/limits'
import { IconCheck, IconX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { balanceQuery } from '../../api/queries.ts'
import { searchOf } from '../../app/search.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { Card } from '../../ui/Card.tsx'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { useFormat } from '../../ui/format.ts'
import { paymentsOfPage } from '../../ui/payments-of-page.ts'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { StaleNote } from '../../ui/StaleNote.tsx'
import { type Billing, BillingChoice, isOwnDisk, TermLines, termOf } from './BillingChoice.tsx'
import { useCheckText } from './check-text.ts'
import classes from './PriceCard.module.css'
import type { Quote } from './use-quote.ts'

interface PriceCardProps {
  quote: Quote
  /** How it is to be paid for. */
  billing: Billing
  onBilling: (billing: Billing) => void
  /** The network volume that it has, which is paid for by itself; null for none. */
  volumeName: string | null
  /** The deploy is under way. */
  busy: boolean
  /** Why the gateway refused the deploy. */
  failure: string | null
}

/**
 * What it costs, whether it would be accepted now, and the button that does it (B3, B7). On a phone price and button
 * stay at the foot of the screen.
 */
export function PriceCard(props: PriceCardProps) {
  const { quote, billing, onBilling, volumeName, busy, failure } = props
  const { t } = useTranslation(['explore', 'common', 'terms-of-payment', 'volumes'])
  const format = useFormat()
  const { price, check, rates } = quote
  const { data: balance } = useQuery(balanceQuery)
  const lasts = price.data?.lasts_seconds ?? null
  const term = price.data && termOf(price.data, billing)
  const checkText = useCheckText(balance?.currency ?? CURRENCIES[0], Boolean(term))
  const stopped = price.data && format.rate(price.data.stopped_micro_per_day, price.data.currency, 'day')

  return (
    <Card title={t('terms-of-payment:choice.label')}>
      <BillingChoice value={billing} onChange={onBilling} price={price.data} />
      {!price.data &&
        (price.error ? (
          <ErrorState
            message={price.error.message}
            requestId={price.error.requestId}
            onRetry={() => void price.refetch()}
          />
        ) : (
          <SkeletonRows rows={3} />
        ))}
      {price.data && price.error && (
        <StaleNote since={price.dataUpdatedAt} onRetry={() => void price.refetch()} />
      )}
      {price.data && (
        <dl className={classes.lines}>
          {term ? (
            <TermLines term={term} price={price.data} />
          ) : (
            <>
              {price.data.lines.map((line, index) => (
                <div key={line.key}>
                  <dt>
                    {line.key === 'public_ip'
                      ? t('price.public_ip')
                      : line.key === 'disk'
                        ? t('price.disk', { paid: line.quantity, of: line.of ?? line.quantity })
                        : isOwnDisk(line)
                          ? t(`price.${line.key}`, { gb: line.quantity })
                          : t('price.machine', { count: line.quantity, name: line.name })}
                  </dt>
                  <dd>{rates?.parts[index]}</dd>
                </div>
              ))}
              <div className={classes.running}>
                <dt>{t('price.running')}</dt>
                <dd>{rates?.total}</dd>
              </div>
              <div>
                <dt>{t('price.stopped')}</dt>
                <dd>{stopped}</dd>
              </div>
            </>
          )}
          {price.data.traffic_micro_per_gb !== '0' && (
            <div>
              <dt>{t('price.traffic')}</dt>
              <dd>{format.rate(price.data.traffic_micro_per_gb, price.data.currency, 'gb', true)}</dd>
            </div>
          )}
          {volumeName !== null && (
            <div>
              <dt>{t('volumes:deploy.line', { name: volumeName })}</dt>
              <dd>{t('volumes:deploy.billed')}</dd>
            </div>
          )}
          {balance && lasts !== null && (
            <div>
              <dt>
                {t('price.lasts', {
                  amount: format.cents(spendableCents(balance), balance.currency),
                })}
              </dt>
              <dd>{format.duration(lasts)}</dd>
            </div>
          )}
        </dl>
      )}
      {check.data && (
        <ul className={classes.checks} aria-label={t('check.label')}>
          {check.data.checks.map(item => (
            <li key={item.key} data-ok={item.ok}>
              {item.ok ? <IconCheck size={15} aria-hidden="true" /> : <IconX size={15} aria-hidden="true" />}
              <span>
                {checkText(item)}
                {item.code === 'balance_low' && paymentsOfPage() !== 'none' && (
                  <>
                    {' '}
                    <Link to="/payments" search={searchOf({ topup: 'open' })}>
                      {t('common:balance.top_up')}
                    </Link>
                  </>
                )}
                {item.code === 'budget_reached' && (
                  <>
                    {' '}
                    <Link to="/payments">{t('common:titles.payments')}</Link>
                  </>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
      <FormFailure message={failure} />
      <div className={classes.bar} data-foot-bar>
        <p className={classes.brief}>
          <strong>
            {term && price.data
              ? t(`terms-of-payment:per.${term.charge_cycle}`, {
                  amount: format.money(term.price_micro, price.data.currency),
                })
              : (rates?.total ?? '–')}
          </strong>
          <span>
            {lasts !== null && `${t('price.lasts_brief', { span: format.runway(lasts) })} · `}
            {term
              ? t('terms-of-payment:choice.today')
              : stopped && t('price.stopped_brief', { rate: stopped })}
          </span>
        </p>
        {/* Whatever the checks say: what the gateway refuses is said at its field, which gets the focus. */}
        <VerifiedButton call={deployInstance} type="submit" size="lg" fullWidth loading={busy}>
          {t('deploy')}
        </VerifiedButton>
      </div>
      <p className={classes.note}>{t(term ? 'terms-of-payment:choice.note' : 'price.note')}</p>
    </Card>
  )
}
